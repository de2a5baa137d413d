"""Reads what a test writes, and tells what was understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs import Network, read_network


def read(folder: Path, name: str, content: str | bytes) -> Network:
    """Return what a file of that name and content is understood as."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_network(path)


def ties(network: Network) -> set[str]:
    """Return the ties as texts such as `a-b`, the ends in order."""
    return {"-".join(sorted((network.ids[u], network.ids[v]))) for u, v in network.edges.tolist()}


def refused(folder: Path, name: str, content: str | bytes, told: str) -> None:
    """Assert that a file is refused, named, and that the error matches a pattern."""
    with pytest.raises(InvalidGraph, match=told) as error:
        read(folder, name, content)
    assert str(folder / name) in error.value.message
