"""Tables of single releases of data sets, and of the demo's year."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final
from unittest import mock

from ktsafe.stream.commands import demo
from lab.recording.commands import Figures, made, tables_of, under

DATA_SETS: Final = ("cora", "fb-reed98", "ego-facebook")
DEMO_RELEASES: Final = 13


def of_data_sets(data: Path | None, room: Path) -> Figures:
    """Return digests of a release of each data set."""
    if data is None:
        print("the releases of data sets are left out: --data names no folder", file=sys.stderr)
        return {}
    found: Figures = {}
    for name in DATA_SETS:
        single_release(data / name, room / name)
        found |= under(name, tables_of(room / name / "release"))
    return found


def single_release(source: Path, room: Path, *options: object) -> None:
    """Make a release of the tables in a folder, and its private audit, in a new folder."""
    tables = (
        word for name in ("vertices", "edges") for word in (f"--{name}", source / f"{name}.csv")
    )
    schema = ("--schema", source / "schema.toml")
    room.mkdir(parents=True)
    places = ("--out", room / "release", "--audit", room / "private")
    made("anonymize", *tables, *schema, *places, "--seed", 1, *options)


def of_demo(room: Path) -> Figures:
    """Return digests of the releases of the demo, which gets a seed."""
    seeded = demo.CONFIG.replace("[release]\n", "[release]\nseed = 1\n")
    assert seeded != demo.CONFIG
    with mock.patch.object(demo, "CONFIG", seeded):
        made("demo", "--dir", room, "--port", 0)
    releases = sorted(path.parent for path in room.glob("releases/*/manifest.json"))
    assert len(releases) == DEMO_RELEASES, releases
    found: Figures = {}
    for release in releases:
        found |= under(release.name, tables_of(release))
    return found
