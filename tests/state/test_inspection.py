"""Looking at a store: beside its holder, without changing a byte; a broken chain is noticed."""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ktsafe.state import keys
from ktsafe.state.changes import EdgeAdd, VertexUpsert
from ktsafe.state.database import Database
from ktsafe.state.folder import hold
from ktsafe.state.inspection import examine, overview
from ktsafe.state.ledger import PendingCut, ReleaseRecord, SequenceRecord, Status
from ktsafe.state.ledger.records import prefix
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import Position, StateCorrupted, StateUnusable
from tests.state.support import SCHEMA, stamp


def release(index: int, **changed: Any) -> ReleaseRecord:
    """Return the record of a release."""
    record = ReleaseRecord(
        index=index,
        release_id=f"{index:06d}",
        sequence_id="s",
        slot_us=10 * index,
        offsets={"t/0": index},
        files={"manifest.json": "00"},
        status=Status.STAGED,
        n_vertices=2,
        n_edges=1,
        n_lives=index,
    )
    return msgspec.structs.replace(record, **changed)


@pytest.fixture
def store(path: Path) -> RocksDBStore:
    """Return a store with a graph and three published releases, closed."""
    store = RocksDBStore.open(path, SCHEMA)
    store.ledger.start_sequence(SequenceRecord("s", "digest", 1))
    people = [VertexUpsert(stamp(1, i), name, {"gender": "f"}) for i, name in enumerate("abc")]
    store.commit([*people, EdgeAdd(stamp(2), "a", "b")], {("t", 0): Position(5, 7)})
    for index in (1, 2, 3):
        store.commit([], {}, cut=PendingCut(10 * index, {"t/0": index}))
        store.ledger.stage(release(index), [("page", b"%d" % index)])
        store.ledger.mark_published(f"{index:06d}")
    store.fold()
    store.close()
    return store


def test_commits_that_are_counted_and_missing_are_noticed(store: RocksDBStore, path: Path) -> None:
    """A check says what the next start will say: the count beside the database is part of it."""
    del store
    assert examine(path, SCHEMA).counts["vertices"] == 3
    count = path / "COMMITS"
    data = count.read_bytes()
    count.write_bytes(b"\xff" * len(data))
    with pytest.raises(StateCorrupted):
        examine(path, SCHEMA)
    with pytest.raises(StateCorrupted):
        RocksDBStore.open(path, SCHEMA)
    count.unlink()  # A backup has none.
    assert examine(path, SCHEMA).counts["vertices"] == 3


@pytest.mark.parametrize("content", [b"overwritten by somebody", b"7", bytes(9), bytes(16)])
def test_a_count_that_is_none_is_noticed(store: RocksDBStore, path: Path, content: bytes) -> None:
    """What somebody wrote over the count of commits is not taken for a small number.

    Nor is a small number: it has a check beside it.
    """
    del store
    (path / "COMMITS").write_bytes(content)
    with pytest.raises(StateCorrupted, match="COMMITS"):
        examine(path, SCHEMA)
    with pytest.raises(StateCorrupted, match="COMMITS"):
        RocksDBStore.open(path, SCHEMA)
    (path / "COMMITS").write_bytes(b"")  # What a crash leaves that came before the first count.
    assert examine(path, SCHEMA).counts["vertices"] == 3


def test_a_store_on_a_disk_that_is_read_only_can_be_held_and_read(
    store: RocksDBStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No lock can be taken there, and nobody writes: a backup is made just then."""
    del store
    real = os.open

    def refusing(name: Path, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(name))
        return real(name, flags, mode)

    monkeypatch.setattr(os, "open", refusing)
    with hold(path):
        assert examine(path, SCHEMA).counts["vertices"] == 3
    with hold(path):
        pass  # Nobody holds it any more.


def bytes_of(path: Path) -> dict[str, str]:
    """Return the digest of every file of a store but the program's own log."""
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.startswith("LOG")
    }


def test_looking_tells_and_changes_nothing(store: RocksDBStore, path: Path) -> None:
    """Positions, sequence and releases at once; counts when everything is read."""
    before = bytes_of(path)
    seen = overview(path)
    assert seen.positions == {("t", 0): Position(5, 7)}
    assert seen.sequence == SequenceRecord("s", "digest", 1)
    assert [record.index for record in seen.releases] == [1, 2, 3]
    found = examine(path, SCHEMA)
    assert (found.counts["vertices"], found.counts["edges"], len(found.pages)) == (3, 1, 1)
    assert bytes_of(path) == before


def test_looking_beside_the_holder(store: RocksDBStore, path: Path) -> None:
    """A store that is open and locked can be looked at; its holder goes on."""
    with closing(RocksDBStore.open(path, SCHEMA)) as held:
        held.commit([VertexUpsert(stamp(9), "d", {})], {("t", 0): Position(6, 9)})
        assert overview(path).positions == {("t", 0): Position(6, 9)}
        held.commit([VertexUpsert(stamp(9, 1), "e", {})], {})
        assert held.counts()["vertices"] == 3  # As of the last cut.
        assert examine(path, SCHEMA).counts["vertices"] == 5


def rewrite(path: Path, number: int, **changed: Any) -> None:
    """Change the record of a release behind the ledger's back."""
    database = Database(path / "db", create=False)
    batch = database.batch()
    record = release(number, status=Status.PUBLISHED)
    value = msgspec.json.encode(msgspec.structs.replace(record, **changed))
    batch.write(keys.LEDGER, {b"release/" + number.to_bytes(8, "big"): value})
    database.commit(batch)
    database.close()


@pytest.mark.parametrize(
    ("number", "changed"),
    [
        (2, {"index": 3}),
        (3, {"index": 5}),
        (2, {"slot_us": 10}),
        (3, {"slot_us": 15}),
        (3, {"release_id": "000001"}),
        (2, {"status": Status.STAGED}),
        (3, {"offsets": {"t/0": 1}}),
        (3, {"offsets": {}}),
        (3, {"n_lives": 1}),
    ],
)
def test_a_broken_chain_is_noticed(
    store: RocksDBStore, path: Path, number: int, changed: dict[str, Any]
) -> None:
    """Gaps, slots or offsets that go back, repeats, and releases that were passed over."""
    rewrite(path, number)
    examine(path, SCHEMA)
    rewrite(path, number, **changed)
    with pytest.raises(StateCorrupted):
        examine(path, SCHEMA)


def test_a_changed_page_is_noticed(store: RocksDBStore, path: Path) -> None:
    """What the mechanism remembers is read and compared with its digest."""
    database = Database(path / "db", create=False)
    batch = database.batch()
    batch.write(keys.PAGES, {prefix(3) + b"page": b"4"})
    database.commit(batch)
    database.close()
    with pytest.raises(StateCorrupted):
        examine(path, SCHEMA)


@pytest.mark.parametrize("family", [keys.PEOPLE, keys.PLACES, keys.TIES, keys.STAMPS])
def test_a_lost_row_is_noticed(store: RocksDBStore, path: Path, family: str) -> None:
    """Also one that no release is made of: registers and stamps are compared with the graph."""
    del store
    with closing(Database(path / "db", create=False)) as database:
        (first, *_) = database.all(family)
        batch = database.batch()
        batch.write(family, {first[0]: None})
        database.commit(batch)
    with pytest.raises(StateCorrupted):
        examine(path, SCHEMA)


def test_where_there_is_no_store_none_is_made(tmp_path: Path) -> None:
    """A wrong path is named, and stays as it is."""
    for folder in (tmp_path / "nothing", tmp_path):
        with pytest.raises(StateUnusable, match="no store"):
            overview(folder)
    assert not list(tmp_path.iterdir())
