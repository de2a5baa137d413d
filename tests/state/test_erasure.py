"""Whoever is deleted leaves no byte on disk, and is told from who comes back."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ktsafe.state.changes import Change, EdgeAdd, VertexDelete, VertexUpsert
from ktsafe.state.database import Database
from ktsafe.state.ledger import PendingCut, ReleaseRecord, SequenceRecord, Status
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store import GraphStore
from tests.state.conftest import Handle
from tests.state.support import SCHEMA, plain, stamp


def traces(folder: Path, text: str) -> list[str]:
    """Return the files whose bytes hold a text."""
    return [
        str(file.relative_to(folder))
        for file in sorted(folder.rglob("*"))
        if file.is_file() and text.encode() in file.read_bytes()
    ]


def lives(store: GraphStore) -> dict[str, int]:
    """Return the life of every person."""
    snapshot = store.snapshot()
    found = dict(zip(snapshot.ids, snapshot.lives.tolist(), strict=True))
    assert len(set(found.values())) == len(found)
    assert all(0 <= life < snapshot.n_lives for life in found.values())
    return found


@pytest.mark.parametrize("flushed", [False, True])
def test_no_byte_of_the_deleted_is_left(path: Path, flushed: bool) -> None:
    """Id and attributes are found before the scrub, in log and tables, and nowhere after it.

    Ids and values are random, so that compression cannot hide them; others stay readable.
    """
    store = RocksDBStore.open(path, SCHEMA)
    people = [secrets.token_hex(12) for _ in range(300)]
    values = [secrets.token_hex(12) for _ in people]
    changes: list[Change] = [
        VertexUpsert(stamp(i), person, {"illness": value})
        for i, (person, value) in enumerate(zip(people, values, strict=True))
    ]
    changes += [EdgeAdd(stamp(500, i), person, people[i - 1]) for i, person in enumerate(people)]
    store.commit(changes, {})
    store.commit([EdgeAdd(stamp(600), people[7], "nobody")], {})
    if flushed:
        store.scrub()
    gone, value = people[7], values[7]
    store.commit([VertexUpsert(stamp(700), gone, {"gender": "f"})], {})
    assert traces(path, gone)
    assert traces(path, value)
    store.commit([VertexDelete(stamp(800), gone)], {})
    assert traces(path, gone)
    assert store.erasures_pending() == 1
    store.scrub()
    assert traces(path, gone) == []
    assert traces(path, value) == []
    assert traces(path, people[8])
    assert store.erasures_pending() == 0
    store.close()
    store = RocksDBStore.open(path, SCHEMA)
    assert store.erasures_pending() == 0
    vertices, edges = plain(store.snapshot())
    assert set(vertices) == set(people) - {gone}
    assert len(edges) == len(people) - 2
    assert traces(path, gone) == []
    store.close()


def test_an_interrupted_scrub_is_still_due(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not scrubbed to the end is pending after the next start."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {}), VertexDelete(stamp(2), "ann")], {})

    def stop(_database: Database) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Database, "scrub", stop)
    with pytest.raises(KeyboardInterrupt):
        store.scrub()
    monkeypatch.undo()
    assert store.erasures_pending() == 1
    store.close()
    store = RocksDBStore.open(path, SCHEMA)
    assert store.erasures_pending() == 1
    store.scrub()
    assert store.erasures_pending() == 0
    store.close()


def test_a_frozen_state_keeps_its_own_until_it_goes(path: Path) -> None:
    """A pending cut shows the deleted; once it is consumed a scrub leaves nothing."""
    store = RocksDBStore.open(path, SCHEMA)
    gone = secrets.token_hex(12)
    store.ledger.start_sequence(SequenceRecord("s", "digest", 0))
    store.commit([VertexUpsert(stamp(1), gone, {})], {}, cut=PendingCut(7, {}))
    store.commit([VertexDelete(stamp(8), gone)], {})
    store.scrub()
    assert {place.partition("/")[0] for place in traces(path, gone)} == {"cuts"}
    frozen = store.cut_snapshot()
    assert frozen is not None
    assert list(frozen.ids) == [gone]
    record = ReleaseRecord(1, "r1", "s", 7, {}, {}, Status.STAGED, 1, 0)
    store.ledger.stage(record)
    assert traces(path, gone) == []
    store.close()


def test_former_pages_go_too(path: Path) -> None:
    """What a page no longer holds is gone with the next scrub."""
    store = RocksDBStore.open(path, SCHEMA)
    store.ledger.start_sequence(SequenceRecord("s", "digest", 0))
    former, current = secrets.token_bytes(40), secrets.token_bytes(40)
    for index, page in ((1, former), (2, current)):
        store.commit([], {}, cut=PendingCut(7 * index, {}))
        record = ReleaseRecord(index, f"r{index}", "s", 7 * index, {}, {}, Status.STAGED, 1, 0)
        store.ledger.stage(record, [("a", page)])
    store.scrub()
    held = [file.read_bytes() for file in path.rglob("*") if file.is_file()]
    assert not any(former in data for data in held)
    assert any(current in data for data in held)
    assert store.ledger.pages() == {"a": current}
    store.close()


def test_pages_of_a_release_that_was_not_staged_go(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written before a crash, they are on no disk once the store is opened again."""
    monkeypatch.setattr("ktsafe.state.ledger.records.PART_BYTES", 40)
    store = RocksDBStore.open(path, SCHEMA)
    store.ledger.start_sequence(SequenceRecord("s", "digest", 0))
    kept, lost = secrets.token_bytes(40), secrets.token_bytes(40)

    def pages() -> Iterator[tuple[str, bytes]]:
        yield "a", kept
        yield "b", lost
        raise InterruptedError

    for index, made in ((1, [("a", kept)]), (2, pages())):
        store.commit([], {}, cut=PendingCut(7 * index, {}))
        record = ReleaseRecord(index, f"r{index}", "s", 7 * index, {}, {}, Status.STAGED, 1, 0)
        with suppress(InterruptedError):
            store.ledger.stage(record, made)
    store.close()
    assert lost in b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())
    store = RocksDBStore.open(path, SCHEMA)
    assert store.ledger.pages() == {"a": kept}
    store.close()
    held = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())
    assert lost not in held
    assert kept in held


def test_every_existence_is_a_life_of_its_own(handle: Handle) -> None:
    """Lives are never given twice: not to who comes back, not to who takes a freed number."""
    store = handle.store
    store.commit([VertexUpsert(stamp(i), name, {}) for i, name in enumerate("ab")], {})
    first = lives(store)
    store.commit([VertexUpsert(stamp(5), "a", {"gender": "f"})], {})
    assert lives(handle.reopen()) == first
    store = handle.store
    store.commit([VertexDelete(stamp(6), "a"), VertexUpsert(stamp(7), "a", {})], {})
    second = lives(store)
    assert second["b"] == first["b"]
    assert second["a"] not in first.values()
    store.commit([VertexDelete(stamp(8), "a")], {})
    store.prune(100)
    store = handle.reopen()
    store.commit([VertexUpsert(stamp(101), "c", {})], {})
    third = lives(store)
    assert third["c"] not in {*first.values(), *second.values()}
    assert store.erasures_pending() == 2


def test_a_late_deletion_ends_a_life_that_later_news_began(handle: Handle) -> None:
    """If the deletion comes after what followed it, the one who is there now is another."""
    store = handle.store
    store.commit([VertexUpsert(stamp(1), "a", {"gender": "f"})], {})
    store.commit([VertexUpsert(stamp(9), "a", {})], {})
    before = lives(store)["a"]
    store.commit([VertexDelete(stamp(5), "a")], {})
    after = lives(store)["a"]
    assert after != before
    assert lives(handle.reopen())["a"] == after
    assert handle.store.erasures_pending() == 1


def test_who_is_gone_since_a_release(handle: Handle) -> None:
    """Deleted, never known, or deleted and back: not the one who stood in that release."""
    store = handle.store
    store.commit([VertexUpsert(stamp(i), name, {}) for i, name in enumerate("abc")], {})
    then = store.snapshot().n_lives
    later: list[Change] = [VertexDelete(stamp(10, i), name) for i, name in enumerate("bc")]
    store.commit([*later, VertexUpsert(stamp(11), "c", {}), VertexUpsert(stamp(12), "d", {})], {})
    for _ in range(2):
        assert store.gone(["a", "b", "c", "d", "e"], then) == [False, True, True, True, True]
        now = store.snapshot().n_lives
        assert store.gone(["a", "b", "c", "d"], now) == [False, True, False, False]
        store = handle.reopen()
