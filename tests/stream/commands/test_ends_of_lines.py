"""What ends a line is no id and no value, at whichever door it comes in."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

import ktsafe
from ktsafe.errors import InvalidGraph
from ktsafe.stream.cli import run_command
from ktsafe.stream.ingest import events

SCHEMA = """[attributes]
quasi_identifiers = ["town"]
sensitive = "health"
sensitive_values = ["ill"]
"""
ASKED = {"quasi_identifiers": ["town"], "sensitive": "health", "sensitive_values": ["ill"]}
BAD = {"town": "secret\nplace", "health": "secret\u2028ill", "id": "secret\x1b[2J1"}
"""An attribute, or the id, of one person."""


def people(bad: str) -> list[dict[str, str]]:
    """Return 24 people, one of whom has an end of line somewhere."""
    found = [
        {"id": f"p{i}", "town": ("Ulm", "Bonn")[i % 2], "health": "ill" if i % 9 == 0 else "well"}
        for i in range(24)
    ]
    found[5] |= {bad: BAD[bad]} if bad else {}
    return found


def tables(folder: Path, bad: str) -> list[str]:
    """Write them and a ring of ties; return the options that name them."""
    rows = people(bad)
    ids = [one["id"] for one in rows]
    ties = [{"source": u, "target": v} for u, v in zip(ids, [*ids[1:], ids[0]], strict=True)]
    for name, table in (("vertices", rows), ("edges", ties)):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    (folder / "schema.toml").write_text(SCHEMA)
    files = [f"--{name}={folder / name}.csv" for name in ("vertices", "edges")]
    return [*files, f"--schema={folder / 'schema.toml'}", "--k=2"]


def anonymize(folder: Path, bad: str) -> bool:
    """Whether the command for one release takes it."""
    options = [f"--out={folder / 'out'}", f"--audit={folder / 'audit'}", "--min-f1=0"]
    taken = run_command(["anonymize", *tables(folder, bad), *options]) == 0
    assert taken == (folder / "out").exists()
    return taken


def next_release(folder: Path, bad: str) -> bool:
    """Whether the command for the next release of a sequence takes it."""
    options = [f"--sequence={folder / 's'}", "--at=2026-01-31"]
    code = run_command(["next", *tables(folder, bad), *options])
    assert (code == 2) == (not (folder / "s" / "private" / "state").exists())
    return code in {0, 1}


def graph(bad: str) -> nx.Graph:
    found = nx.Graph()
    for one in people(bad):
        found.add_node(one["id"], town=one["town"], health=one["health"])
    nx.add_cycle(found, list(found))
    return found


def protect(_folder: Path, bad: str) -> bool:
    """Whether the library takes it."""
    try:
        ktsafe.protect(graph(bad), k=2, min_f1=0, rng=1, effort="fast", **ASKED)
    except InvalidGraph as error:
        print(error)
        return False
    return True


def sequence(folder: Path, bad: str) -> bool:
    """Whether a sequence in the library takes it."""
    made = ktsafe.Sequence(folder / "s", k=2, **ASKED)
    try:
        made._tables(graph(bad), None)
    except InvalidGraph:
        return False
    return True


def service(_folder: Path, bad: str) -> bool:
    """Whether events take it."""
    try:
        for one in people(bad):
            events.checked_id(one["id"])
            for name in ("town", "health"):
                events.attribute_text(json.loads(json.dumps(one[name])))
    except events.MalformedEvent as error:
        print(error)
        return False
    return True


@pytest.mark.parametrize("door", [anonymize, next_release, protect, sequence, service])
def test_every_door_has_the_same_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], door: Callable[[Path, str], bool]
) -> None:
    """The network is refused whole, nothing is written, and the value is not repeated."""
    taken = {}
    for bad in ("", *BAD):
        folder = tmp_path / f"with {bad}"
        folder.mkdir()
        taken[bad] = door(folder, bad)
    assert taken == {"": True, **dict.fromkeys(BAD, False)}
    assert "secret" not in "".join(capsys.readouterr())
