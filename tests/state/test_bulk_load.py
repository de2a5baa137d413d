"""A store that is filled at once is the one that commits would have made."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ktsafe.state import database, keys
from ktsafe.state.bulk_load import BulkLoad, Registered
from ktsafe.state.changes import EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.state.database import Database
from ktsafe.state.folder import DATABASE
from ktsafe.state.inspection import examine
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import Position, Progress, StateCorrupted
from ktsafe.stream.maintenance.erasure import remains
from tests.state.support import SCHEMA, VALUES, exactly

AT_US = 5
POSITIONS = {("t", 1): Position(7, AT_US), ("t", 0): Position(3, AT_US)}
IDENTITY = {"t": "x"}
People = list[tuple[str | None, ...]]
Ties = list[tuple[int, int]]
LATER = [
    VertexDelete(Stamp(9, "t", 0, 0), "p1"),
    EdgeRemove(Stamp(9, "t", 0, 1), "p0", "p2"),
    EdgeAdd(Stamp(AT_US, "!", 0, 0), "p0", "p3"),
    EdgeAdd(Stamp(9, "t", 0, 2), "p2", "new"),
    VertexUpsert(Stamp(9, "t", 0, 3), "p2", {"age": "70"}),
    VertexUpsert(Stamp(9, "t", 0, 4), "p1", {}),
]


def filled(path: Path, people: People, ties: Ties, *, finish: bool = True) -> None:
    """Fill a new store at once; the offset of a row is its position."""
    with closing(BulkLoad(path, SCHEMA)) as load:
        load.add_vertices(
            Registered(("!", 0), AT_US), ((i, f"p{i}", row) for i, row in enumerate(people))
        )
        ends = np.array(ties, dtype=np.int32).reshape(-1, 2)
        n_edges = load.add_edges(Registered(("!", 1), AT_US), ends, np.arange(len(ties)))
        assert n_edges == len({frozenset(pair) for pair in ties})
        if finish:
            load.finish(POSITIONS, IDENTITY)


def committed(path: Path, people: People, ties: Ties) -> None:
    """Make the same store by commits."""
    with closing(RocksDBStore.open(path, SCHEMA)) as store:
        upserts = [
            VertexUpsert(
                Stamp(AT_US, "!", 0, i), f"p{i}", dict(zip(SCHEMA.attributes, row, strict=True))
            )
            for i, row in enumerate(people)
        ]
        store.commit(upserts, {})
        adds = [EdgeAdd(Stamp(AT_US, "!", 1, i), f"p{a}", f"p{b}") for i, (a, b) in enumerate(ties)]
        store.commit(adds, {})
        store.commit([], POSITIONS, source_identity=IDENTITY)
        store.fold()


def rows(path: Path) -> dict[str, dict[bytes, object]]:
    """Return every row of a closed store but its secret, without the number of commits."""
    with closing(Database(path / DATABASE, create=False, read_only=True)) as opened:
        found: dict[str, dict[bytes, object]] = {
            name: dict(opened.all(name)) for name in keys.FAMILIES
        }
    meta = found[keys.META]
    del meta[keys.META_SECRET]
    progress = meta[keys.META_PROGRESS]
    assert isinstance(progress, bytes)
    read = msgspec.msgpack.decode(progress, type=Progress)
    meta[keys.META_PROGRESS] = msgspec.structs.replace(read, commits=0)
    return found


def graph(seed: int) -> tuple[People, Ties]:
    """Draw people with values, some missing, and ties, some of them twice and turned round."""
    rng = np.random.default_rng(seed)
    n_people = int(rng.integers(4, 9))
    people = [
        tuple(VALUES[name][rng.integers(len(VALUES[name]))] for name in SCHEMA.attributes)
        for _ in range(n_people)
    ]
    pairs = rng.integers(0, n_people, (15, 2)).tolist()
    return people, [(a, b) for a, b in pairs if a != b]


@pytest.mark.parametrize("seed", range(4))
def test_a_filled_store_is_the_committed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """All rows on disk are equal, and so are the graphs, now and after further changes.

    Stores of one secret are compared: people are found by hashes under it.
    """
    monkeypatch.setattr("ktsafe.state.recovery.secrets.token_bytes", bytes)
    filled(tmp_path / "filled", *graph(seed))
    committed(tmp_path / "committed", *graph(seed))
    assert rows(tmp_path / "filled") == rows(tmp_path / "committed")
    found = []
    for name in ("filled", "committed"):
        with closing(RocksDBStore.open(tmp_path / name, SCHEMA)) as store:
            assert store.positions() == POSITIONS
            assert store.source_identity() == IDENTITY
            begun = exactly(store.snapshot())
            store.commit(LATER, {})
            found.append((begun, exactly(store.snapshot()), store.counts(), store.lives().tolist()))
    assert found[0] == found[1]


PEOPLE: People = [("f", "18", "flu"), ("m", None, "none"), (None, "70", None), ("f", "7", "none")]
TIES: Ties = [(0, 1), (2, 1), (1, 0), (3, 2)]


def test_a_store_whose_filling_was_interrupted_is_refused(path: Path) -> None:
    """Rows without their counts are no store, so that none is taken for a whole one."""
    filled(path, PEOPLE, TIES, finish=False)
    with closing(RocksDBStore.open(path, SCHEMA)) as store, pytest.raises(StateCorrupted):
        store.fold()
    with pytest.raises(StateCorrupted):
        examine(path, SCHEMA)


def test_tables_of_many_blocks_are_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that fill several tables, the last of one row, are read back as one column family."""
    monkeypatch.setattr(database, "_ROWS_AT_ONCE", 2)
    monkeypatch.setattr(database, "_TABLE_BYTES", 0)
    filled(path, [("f", str(age), None) for age in range(7)], [(0, i) for i in range(1, 6)])
    assert len(list((path / DATABASE).glob("*.sst"))) >= 4 + 3
    assert [p for p in path.iterdir() if p.name.startswith("tables")] == []
    with closing(RocksDBStore.open(path, SCHEMA)) as store:
        assert store.counts() == {
            "vertices": 7,
            "edges": 5,
            "edges_waiting": 0,
            "tombstones": 0,
        }


def test_people_of_a_filled_store_leave_as_others_do(path: Path) -> None:
    """Tables taken in are found by whoever looks for remains, are frozen, and are scrubbed."""
    people = [secrets.token_hex(12) for _ in range(50)]
    filled(path, [("f", "18", person) for person in people], [(0, 1)])

    def remaining() -> dict[str, int]:
        return remains(people[7:8], [path]).left

    assert sum(remaining().values()) == 2  # in the registers, and as shown
    with closing(RocksDBStore.open(path, SCHEMA)) as store:
        with closing(RocksDBStore.open(store.freeze(), SCHEMA)) as frozen:
            assert exactly(frozen.snapshot()) == exactly(store.snapshot())
        store.commit([VertexDelete(Stamp(9, "t", 0, 0), "p7")], {})
        store.scrub()
        assert remaining() == {}
        assert store.counts()["vertices"] == 49
