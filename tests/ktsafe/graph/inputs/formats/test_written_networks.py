"""What libraries write is read as the network that it is, or refused for a reason that is meant.

`python -m lab.trials.formats` runs many more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ktsafe.graph.inputs.formats.written_networks import WRITERS, read_damaged, written

SEEDS = range(20)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_libraries_write_is_understood(tmp_path: Path, writer: str) -> None:
    """Ids, attributes, ties, repetitions, loops and directions of random networks."""
    outcomes = {"read": 0, "refused": 0, "not written": 0}
    for seed in SEEDS:
        outcome, told, path = written(writer, seed, tmp_path)
        assert outcome != "misread", (writer, seed, told, path)
        outcomes[outcome] += 1
    assert outcomes["read"] > len(SEEDS) / 2


@pytest.mark.parametrize("writer", WRITERS)
def test_a_damaged_file_is_refused_or_a_network(tmp_path: Path, writer: str) -> None:
    """Never another error, and no text that cannot be written."""
    outcomes = {read_damaged(writer, seed, tmp_path) for seed in SEEDS}
    assert outcomes <= {"read", "refused"}
