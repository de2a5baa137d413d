"""Bytes: a release as the service writes it tells nothing, and each careless habit is seen."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case, Result
from ktsafe.assess.releases.attacks import record_order_attack
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.releases_read import Release, read_release
from tests.ktsafe.assess.attacks.releases import noisy, random_graph

TIME_US = 1_700_000_000_000_000


def written(folder: Path, ids: list[str] | None = None) -> tuple[Path, Case]:
    """Write a release of 300 people and 30 inserted vertices as the service does."""
    rng = np.random.default_rng(0)
    case = noisy(random_graph(300, 900, rng), rng, added=300, inserted=30)
    n = case.released.n_vertices
    names = ids or releases_write.random_ids(n, seed=1)
    header = releases_write.ReleaseHeader("r", "s", TIME_US, PrivacyParams(k=3))
    place = folder / "r"
    releases_write.write_release(place, case.released, names, header, ("csv", "parquet"))
    aged(place)
    order = np.argsort(names)
    shown = case.released.subgraph(order)
    return place, Case(case.original, shown, case.original_of[order])


def aged(folder: Path) -> None:
    """Give all files the time of the slot, as the sink does."""
    for path in folder.iterdir():
        os.utime(path, ns=(TIME_US * 1000, TIME_US * 1000))


def traces(folder: Path, case: Case) -> dict[str, Result]:
    """Return the results by attack."""
    release: Release = read_release(folder)
    return {result.attack: result for result in record_order_attack(folder, release, case)}


def test_a_release_as_written_tells_nothing(tmp_path: Path) -> None:
    """No check fails, and no order ranks people above inserted vertices, or true ties above."""
    found = traces(*written(tmp_path))
    assert found["bytes.traces"].figures == {}
    assert not found["bytes.traces"].is_broken
    for name in ("bytes.rows", "bytes.ids", "bytes.low_bits", "bytes.tie_rows"):
        assert found[name].low < 0.5 < found[name].high, name


def test_ids_that_are_counted_up_tell_who_was_inserted(tmp_path: Path) -> None:
    """The positive control: people first, inserted ones after them."""
    rng = np.random.default_rng(0)
    case = noisy(random_graph(300, 900, rng), rng, added=300, inserted=30)
    rank = np.argsort(np.argsort(case.original_of < 0, kind="stable"))
    found = traces(*written(tmp_path, [f"{number:016x}" for number in rank.tolist()]))
    for name in ("bytes.rows", "bytes.ids", "bytes.low_bits"):
        assert found[name].value == 0, name


def backwards(folder: Path) -> None:
    """Turn the order of the ties."""
    header, *rows = (folder / "edges.csv").read_text().splitlines()
    (folder / "edges.csv").write_text("\n".join([header, *rows[::-1]]) + "\n")


def beside(folder: Path) -> None:
    """Leave a file of one's own."""
    (folder / "notes.txt").write_text("made on Monday")


def late(folder: Path) -> None:
    """Tell when the release was made."""
    os.utime(folder / "edges.csv", (1, 1))


def with_returns(folder: Path) -> None:
    """Write lines as another system does."""
    raw = (folder / "vertices.csv").read_bytes()
    (folder / "vertices.csv").write_bytes(raw.replace(b"\n", b"\r\n"))


def compressed(folder: Path) -> None:
    """Write a table as the library does by default, its schema stored beside."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(folder / "vertices.parquet")
    parquet.write_table(table, folder / "vertices.parquet", compression="snappy")


@pytest.mark.parametrize(
    ("habit", "name"),
    [
        (backwards, "ties sorted, smaller end first"),
        (beside, "only the files of the manifest"),
        (late, "times of files are the slot"),
        (with_returns, "vertices.csv is plain"),
        (compressed, "vertices.parquet says the same and no more"),
    ],
)
def test_every_careless_habit_is_seen(
    tmp_path: Path, habit: Callable[[Path], None], name: str
) -> None:
    """Each fails its own check, beside those that follow from it."""
    folder, case = written(tmp_path)
    release = read_release(folder)
    habit(folder)
    if name != "times of files are the slot":
        aged(folder)
    found = {result.attack: result for result in record_order_attack(folder, release, case)}
    assert name in found["bytes.traces"].figures
    assert found["bytes.traces"].is_broken
    assert json.dumps(found["bytes.traces"].to_mapping())
