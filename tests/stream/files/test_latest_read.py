"""The latest graph, as readers of releases get it."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable
from pathlib import Path

import pytest

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.stream.cli import run_command
from ktsafe.stream.commands.releases import EDGES_LATEST, LatestGraph, follow
from ktsafe.stream.errors import Exit
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.releases_read import Release, read_release

SCHEMA = Schema(("a",), "s", frozenset({"ill"}), expect_absent={"ill"})
RELEASES = (
    ("abcdef", "xxyyzz", ["ab", "ac", "ce"]),
    ("abcdef", "xxyyzz", ["ab", "bd"]),
    ("abcdfg", "xxyyzz", ["cd", "cf"]),
)
"""Ids, their classes, and edges: xx and xy are shown last before the third release."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with these releases."""
    for i, (ids, classes, edges) in enumerate(RELEASES, start=1):
        columns = {"a": list(classes), "s": ["well"] * len(ids)}
        pairs = [(ids.index(a), ids.index(b)) for a, b in edges]
        graph = AttributedGraph.from_columns(SCHEMA, columns, pairs)
        header = releases_write.ReleaseHeader(f"r{i}", "seq", i * 1_000_000, PrivacyParams(k=1))
        releases_write.write_release(tmp_path / "releases" / f"r{i}", graph, list(ids), header)
    return tmp_path / "releases"


def latest(releases: Iterable[Release]) -> LatestGraph | None:
    """Return the latest graph of the last release's sequence, if any."""
    return functools.reduce(follow, releases, None)


def rows(path: Path) -> list[str]:
    """Return the rows of a file as words, the header left out."""
    with path.open(newline="") as file:
        return [" ".join(row) for row in csv.reader(file)][1:]


def test_dark_pairs_have_their_last_showing(folder: Path) -> None:
    """What a release shows of a pair stands alone; else the last that did speaks for it."""
    found = latest(map(read_release, sorted(folder.iterdir())))
    assert found is not None
    assert found.release.manifest.release_id == "r3"
    names = found.release.ids
    # ac of the first release is gone: bd showed the pair anew. ce went with its end.
    edges = ((names[u], names[v]) for u, v in found.release.edges.tolist())
    assert {"".join(sorted(edge)) for edge in edges} == {"ab", "bd", "cd", "cf"}
    assert latest([]) is None


def test_another_sequence_begins_with_nothing(folder: Path) -> None:
    """Ids of two sequences mean different vertices, even where they are equal."""
    one, two = (read_release(folder / name) for name in ("r1", "r2"))
    (folder / "r3" / "manifest.json").write_text(
        (folder / "r3" / "manifest.json").read_text().replace('"seq"', '"other"')
    )
    found = latest([one, two, read_release(folder / "r3")])
    assert found is not None
    assert set(found.shown_in) == {"r3"}


@pytest.mark.parametrize("words", [[], ["--all"]])
def test_the_command_writes_it_beside_the_release(
    folder: Path, tmp_path: Path, words: list[str]
) -> None:
    """`releases read --latest` tells for each edge which release showed it last."""
    into = tmp_path / "into"
    command = ["releases", "read", "--folder", str(folder), "--into", str(into), "--latest", *words]
    assert run_command(command) == Exit.OK
    assert rows(into / "r3" / EDGES_LATEST) == ["a b r2", "b d r2", "c d r3", "c f r3"]
    assert len(read_release(into / "r3").edges) == 2
    assert (into / "r1").exists() == bool(words)
    if words:
        assert rows(into / "r1" / EDGES_LATEST) == ["a b r1", "a c r1", "c e r1"]
