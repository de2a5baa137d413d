"""Tables of single releases of data sets, and of the demo's year."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final
from unittest import mock

from ktsafe.assess.commands import demo
from lab.recording.commands import Figures, made, under
from lab.recording.tampering import digests

DATA_SETS: Final = ("cora", "fb-reed98", "ego-facebook")
DEMO_RELEASES: Final = 13


def of_data_sets(data: Path | None, room: Path) -> Figures:
    """Return digests of a release of each data set."""
    if data is None:
        print("the releases of data sets are left out: --data names no folder", file=sys.stderr)
        return {}
    found: Figures = {}
    for name in DATA_SETS:
        found |= under(name, digests(single_release(data / name, room / name)))
    return found


def single_release(source: Path, room: Path, *options: object) -> Path:
    """Make a release of the tables in a folder, in a new folder with its private audit."""
    room.mkdir(parents=True)
    tables = ("--vertices", source / "vertices.csv", "--edges", source / "edges.csv")
    into = ("--out", room / "release", "--audit", room / "private")
    made("anonymize", *tables, "--schema", source / "schema.toml", *into, "--seed", 1, *options)
    return room / "release"


def of_demo(room: Path) -> Figures:
    """Return digests of the releases of the demo, which gets a seed."""
    seeded = demo.CONFIG.replace("[release]\n", "[release]\nseed = 1\n")
    assert seeded != demo.CONFIG
    with mock.patch.object(demo, "CONFIG", seeded):
        made("demo", "--dir", room, "--port", 0)
    found: Figures = {}
    for manifest in sorted(room.glob("releases/*/manifest.json")):
        found |= under(manifest.parent.name, digests(manifest.parent))
    assert len(found) == 2 * DEMO_RELEASES, list(found)
    return found
