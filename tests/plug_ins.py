"""An installed package that offers strategies of its own, for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ktsafe.anonymization.strategies import Entry, Plan, Request

NOBODY = np.zeros(0, dtype=np.int32)


def truth(request: Request) -> Plan:
    """Plan the graph as it is."""
    return Plan(NOBODY, request.graph.edges)


def nothing(request: Request) -> Plan:
    """Plan the people without a tie."""
    return Plan(NOBODY, request.graph.edges[:0])


TRUTH = Entry(__name__, "truth", "the graph as it is, unsafe")
NOTHING = Entry(__name__, "nothing", "no tie at all")
OFFERED = ("truth = tests.plug_ins:TRUTH", "nothing = tests.plug_ins:NOTHING")


def offer(
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    name: str = "outside",
    lines=OFFERED,
    group: str = "ktsafe.strategies",
) -> None:
    """Install a package in a folder, as far as its entry points go, and put that on the path."""
    there = site / f"{name}-1.0.dist-info"
    there.mkdir(parents=True)
    (there / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (there / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")
    monkeypatch.syspath_prepend(str(site))
