"""What only the durable store does: opening, refusing, and what its bytes hold."""

from __future__ import annotations

import dataclasses
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ktsafe import Schema
from ktsafe.state import database, keys
from ktsafe.state.changes import EdgeAdd, VertexDelete, VertexUpsert
from ktsafe.state.inspection import overview
from ktsafe.state.ledger import PendingCut
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import Position, StateError, StateLocked, StateMismatch, StateUnusable
from tests.state.support import SCHEMA, blank, plain, stamp

OTHER_SCHEMA = Schema(
    quasi_identifiers=("gender", "town"),
    sensitive="illness",
    sensitive_values=frozenset({"flu"}),
)


def test_the_folder_is_private(path: Path) -> None:
    """A new store's folder may be entered by its owner only, missing parents included."""
    RocksDBStore.open(path / "deep" / "store", SCHEMA).close()
    assert stat.S_IMODE((path / "deep" / "store").stat().st_mode) == 0o700


def test_closing_twice_is_closing(path: Path) -> None:
    """After `close` the store is free for the next one and refuses to be used itself."""
    store: GraphStore = RocksDBStore.open(path, SCHEMA)
    store.close()
    store.close()
    with pytest.raises(StateUnusable, match="closed"):
        store.commit([], {})
    RocksDBStore.open(path, SCHEMA).close()


def test_a_second_process_is_refused(path: Path) -> None:
    """The lock is named as such, whether this process or another one holds the store."""
    store = RocksDBStore.open(path, SCHEMA)
    with pytest.raises(StateLocked, match="Stop it first"):
        RocksDBStore.open(path, SCHEMA)
    code = (
        "import sys; from ktsafe.state.rocksdb import RocksDBStore\n"
        "from ktsafe.state.store_base import StateLocked\n"
        "from tests.state.support import SCHEMA\n"
        "try: RocksDBStore.open(sys.argv[1], SCHEMA)\n"
        "except StateLocked: print('locked')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "locked\n"
    store.close()


def test_another_schema_is_refused_and_can_be_taken_over(path: Path) -> None:
    """A changed schema needs consent; then old attributes stay and new ones begin as missing."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {"gender": "f", "age": "30"})], {})
    store.close()
    with pytest.raises(StateMismatch, match="ktsafe rebase"):
        RocksDBStore.open(path, OTHER_SCHEMA)
    store = RocksDBStore.open(path, OTHER_SCHEMA, accept_schema=True)
    assert store.snapshot().graph.values(0) == {"gender": "f", "town": "-", "illness": "-"}
    store.commit([VertexUpsert(stamp(2), "ann", {"town": "rome", "age": "31"})], {})
    store.close()
    store = RocksDBStore.open(path, OTHER_SCHEMA)
    assert store.snapshot().graph.values(0) == {"gender": "f", "town": "rome", "illness": "-"}
    store.close()
    store = RocksDBStore.open(path, SCHEMA, accept_schema=True)
    assert store.snapshot().graph.values(0) == blank() | {"gender": "f", "age": "18..<65"}
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        {"sensitive_values": frozenset({"flu", "none"})},
        {"buckets": {"age": (18.0, 66.0)}},
        {"quasi_identifiers": ("age", "gender")},
    ],
)
def test_every_part_of_the_schema_counts(path: Path, change: dict[str, object]) -> None:
    """A changed sensitive value, bucket edge or order of attributes is another schema."""
    RocksDBStore.open(path, SCHEMA).close()
    with pytest.raises(StateMismatch):
        RocksDBStore.open(path, dataclasses.replace(SCHEMA, **change))  # type: ignore[arg-type]


def test_another_format_is_refused_with_a_remedy(path: Path) -> None:
    """A store of a later or an earlier version is not opened, not looked at, and not changed."""
    RocksDBStore.open(path, SCHEMA).close()
    version, remedy = keys.FORMAT + 1, r"python -m lab\.convert FOLDER.*Else upgrade ktsafe"
    (path / "STORE").write_text(str(version))
    with pytest.raises(StateMismatch, match=remedy):
        RocksDBStore.open(path, SCHEMA)
    with pytest.raises(StateMismatch, match=remedy):
        overview(path)
    assert (path / "STORE").read_text() == str(version)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file where the folder should be makes the store unusable, in one sentence."""
    (tmp_path / "file").write_text("")
    for place in ("file", "file/store"):
        with pytest.raises(StateUnusable, match="Make the folder usable") as caught:
            RocksDBStore.open(tmp_path / place, SCHEMA)
        assert str(tmp_path) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(path: Path) -> None:
    """A folder that may not be written makes the store unusable."""
    path.mkdir(mode=0o500)
    with pytest.raises(StateUnusable):
        RocksDBStore.open(path, SCHEMA)


def test_an_interrupted_creation_starts_over(path: Path) -> None:
    """A store whose making was never finished is made, whatever the attempt left."""
    (path / "db").mkdir(parents=True)
    (path / "db" / "000001.log").write_bytes(b"")
    (path / "COMMITS").write_bytes(bytes([0, 0, 0, 0, 0, 0, 0, 9]))
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {})
    store.close()
    (path / "STORE").unlink()  # the process ended just before the marker
    store = RocksDBStore.open(path, SCHEMA)
    assert set(plain(store.snapshot())[0]) == {"ann"}
    store.close()


def test_a_disk_that_refuses_the_end_is_named(path: Path) -> None:
    """RocksDB writes when it is closed; without a file left for that, nothing committed is lost."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_file = os.dup(0)
    os.close(next_file)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_file, hard))
    try:
        with pytest.raises(StateUnusable, match="Too many open files"):
            store.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    store.close()


def test_no_row_holds_the_id_of_someone_who_does_not_exist(path: Path) -> None:
    """After a delete and a fold, and for an end that never came, only a keyed hash is stored."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit(
        [
            VertexUpsert(stamp(1), "alexandra", {"illness": "influenza"}),
            VertexUpsert(stamp(1, 1), "bob", {}),
            EdgeAdd(stamp(1, 2), "alexandra", "bob"),
            EdgeAdd(stamp(1, 3), "bob", "neverseen"),
        ],
        {("t", 0): Position(4, 1)},
    )
    assert b"neverseen" not in _rows(store)
    store.fold()
    assert _rows(store).count(b"alexandra") == 2
    store.commit([VertexDelete(stamp(2), "alexandra")], {("t", 0): Position(5, 2)})
    assert _rows(store).count(b"alexandra") == 1
    store.fold()
    assert b"bob" in _rows(store)
    for trace in (b"alexandra", b"influenza", b"neverseen"):
        assert trace not in _rows(store)
    store.close()


def test_hashes_of_two_stores_differ(tmp_path: Path) -> None:
    """The key of the hash is drawn per store: tombstones of two stores cannot be matched."""
    aliases = []
    for name in ("one", "two"):
        store = RocksDBStore.open(tmp_path / name, SCHEMA)
        store.commit([VertexDelete(stamp(1), "ann")], {})
        aliases += [key for key, _ in store.database.all(keys.PEOPLE)]
        store.close()
    assert len(set(aliases)) == 2


def test_the_size_counts_the_frozen_state_once(path: Path) -> None:
    """Hard links of the frozen state do not double the size."""
    store = RocksDBStore.open(path, SCHEMA)
    people = [VertexUpsert(stamp(1, i), f"p{i:06d}", {"gender": "f"}) for i in range(5000)]
    store.commit(people, {})
    store.commit([], {}, cut=PendingCut(3, {}))
    size = store.size_bytes()
    frozen = [file for file in (path / "cuts" / "3").iterdir() if file.suffix == ".sst"]
    assert frozen
    assert all(file.stat().st_nlink == 2 for file in frozen)
    assert size < sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    store.close()


def test_errors_name_no_person(path: Path) -> None:
    """Whatever fails, the message holds the operation, the path and the remedy only."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "alexandra", {})], {})
    store.close()
    with pytest.raises(StateError) as caught:
        store.commit([VertexUpsert(stamp(2), "alexandra", {})], {})
    assert "alexandra" not in str(caught.value)


def _rows(store: RocksDBStore) -> bytes:
    rows = [row for family in keys.FAMILIES for row in store.database.all(family)]
    return b"\n".join(key + b"=" + value for key, value in rows)


def test_what_rocksdb_tells_of_itself_is_bounded(tmp_path, monkeypatch):
    """Its LOG is rolled over while it runs, not only at starts, and two files of it are kept."""
    monkeypatch.setattr(database, "_LOG_BYTES_MAX", 100_000)
    store = database.Database(tmp_path / "db", create=True)
    for i in range(150):
        batch = store.batch()
        batch.write("meta", {b"%d" % i: b"x"})
        store.commit(batch)
        store.flush("meta")
    store.close()
    logs = list((tmp_path / "db").glob("LOG*"))
    assert len(logs) == 2
    assert sum(path.stat().st_size for path in logs) < 3 * 100_000
