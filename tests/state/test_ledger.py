"""The ledger: what it takes, what it refuses, and that it reads back."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ktsafe.state.ledger import (
    EMPTY,
    Ledger,
    LedgerStorage,
    PendingCut,
    ReleaseRecord,
    SequenceRecord,
    Status,
    Writes,
)
from ktsafe.state.ledger.ledger import COUNT, PAGES, PAST, RELEASE
from ktsafe.state.ledger.records import packed, prefix, unpacked
from ktsafe.state.store_base import StateCorrupted
from tests.state.conftest import Handle


class Storage:
    """Keeps what a ledger writes."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = dict(EMPTY)
        self.pages: dict[bytes, bytes] = {}
        self.cuts_gone = 0
        self.writes_left: int | None = None

    def write(self, entries: Writes, pages: Writes) -> None:
        if self.writes_left is not None:
            if not self.writes_left:
                raise OSError
            self.writes_left -= 1
        for held, writes in ((self.entries, entries), (self.pages, pages)):
            for key, value in writes.items():
                if value is None:
                    held.pop(key, None)
                else:
                    held[key] = value

    def read_pages(self, names: list[bytes]) -> list[bytes | None]:
        return [self.pages.get(name) for name in names]

    def drop_pages(self, beginning: bytes) -> None:
        for key in [key for key in self.pages if key.startswith(beginning)]:
            del self.pages[key]

    def gone(self) -> None:
        self.cuts_gone += 1

    def kept(self) -> LedgerStorage:
        return LedgerStorage(
            self.write,
            self.read_pages,
            self.drop_pages,
            self.gone,
            lambda: StateCorrupted("read", "pages", "restore"),
        )

    def ledger(self) -> Ledger:
        return Ledger(self.entries, self.kept())


@pytest.fixture
def storage() -> Storage:
    """Return a storage whose ledger has a sequence "s"."""
    storage = Storage()
    storage.ledger().start_sequence(SequenceRecord("s", "digest", 5))
    return storage


def take(ledger: Ledger, slot_us: int) -> None:
    """Take a cut as a store does."""
    cut = PendingCut(slot_us, {"t/0": slot_us})
    ledger._storage.write(ledger.take_cut(cut), {})
    ledger.cut_taken(cut)


def record(index: int, **fields: object) -> ReleaseRecord:
    """Return the release of slot 10 * index."""
    release = ReleaseRecord(
        index=index,
        release_id=f"r{index}",
        sequence_id="s",
        slot_us=10 * index,
        offsets={"t/0": 10 * index},
        files={"manifest.json": "00"},
        status=Status.STAGED,
        n_vertices=3,
        n_edges=2,
    )
    return msgspec.structs.replace(release, **fields)


STEPS: Final = ("cut", "stage", "publish", "drop", "sequence", "audits", "let go")


@settings(max_examples=60)
@given(
    st.sampled_from([1, 62, 252]),
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 4), st.booleans()), max_size=60),
)
@example(1, [("cut", 0, False), ("stage", 0, False), ("publish", 0, False)])
def test_a_ledger_does_what_a_list_does(first: int, steps: list[tuple[str, int, bool]]) -> None:
    """What it takes and refuses, restarted after each step; nothing that is not durable happened.

    All releases but the last two that were published are in rows of 64: without offsets, and of
    their files the manifest alone.
    """
    storage = Storage()
    storage.ledger().start_sequence(SequenceRecord("s", "digest", 5))
    ledger, names, cut, gone = storage.ledger(), ["s"], None, 0
    whole: list[ReleaseRecord] = []
    n_past = 0

    def change(positions: Iterable[int], **fields: object) -> None:
        for at in positions:
            whole[at] = msgspec.structs.replace(whole[at], **fields)

    for what, which, fails in steps:
        storage.writes_left = 0 if fails else None
        index, name, at = first + len(whole), f"s{which}", len(whole) - 1 - which
        files = {"manifest.json": f"{index:064x}", "edges.csv": "aa"}
        own = {"files": files, "sequence_id": names[-1], "epsilon_micro": which, "n_lives": index}
        staged = record(index, audit={"mapping.csv": "ab"}, **own)
        going = list(range(len(whole) - which))
        while going and False in (each := [whole[i].has_audit for i in going]):
            going = going[each.index(False) + 1 :]
        do, is_refused, is_idle = {
            "cut": (lambda i=index: take(ledger, 10 * i), cut is not None, False),
            "stage": (lambda one=staged: ledger.stage(one), cut is None, False),
            "publish": (
                lambda i=at: ledger.mark_published(f"r{first + i}"),
                at < 0,
                at >= 0 and whole[at].status is Status.PUBLISHED,
            ),
            "drop": (ledger.drop_cut, False, cut is None),
            "sequence": (
                lambda one=name: ledger.start_sequence(SequenceRecord(one, "digest", 6)),
                name in names,
                False,
            ),
            "audits": (
                lambda i=at: ledger.record_audits({f"r{first + i}": {"values.csv": "cd"}}),
                False,
                at < 0,
            ),
            "let go": (lambda n=which: ledger.let_audits_go(n), False, not going),
        }[what]
        if is_refused or (fails and not is_idle):
            with pytest.raises(ValueError if is_refused else OSError):
                do()
        else:
            do()
            match what:
                case "cut":
                    cut = PendingCut(10 * index, {"t/0": 10 * index})
                case "stage":
                    whole.append(staged)
                    cut, gone = None, gone + 1
                    while n_past + 2 < len(whole) and whole[n_past].status is Status.PUBLISHED:
                        manifest = {"manifest.json": whole[n_past].files["manifest.json"]}
                        change([n_past], offsets={}, files=manifest)
                        n_past += 1
                case "publish":
                    change([at], status=Status.PUBLISHED)
                case "drop":
                    cut, gone = None, gone + (cut is not None)
                case "sequence":
                    names.append(name)
                case "audits" if at >= 0:
                    change([at], audit={**whole[at].audit, "values.csv": "cd"})
                case "let go":
                    change(going, audit={}, has_audit=False)
        for each in (ledger, storage.ledger()):
            assert each.releases() == whole
            assert each.last() == (whole[-1] if whole else None)
            assert (each.pending_cut(), each.sequence().sequence_id) == (cut, names[-1])
        assert storage.cuts_gone == gone
        rows = {PAST: {(first + i) // 64 for i in range(n_past)}, RELEASE: whole[n_past:]}
        for key, there in rows.items():
            assert sum(one.startswith(key) for one in storage.entries) == len(there)


def test_releases_of_an_earlier_format_move_with_the_next_one(storage: Storage) -> None:
    """They read back as they are, and all but two of them are past once another is staged."""
    ledger = storage.ledger()
    before = [record(i, status=Status.PUBLISHED) for i in range(1, 101)]
    for each in before:
        storage.entries[RELEASE + each.index.to_bytes(8, "big")] = msgspec.json.encode(each)
    storage.entries[COUNT] = b"[1,100,0]"
    ledger = storage.ledger()
    assert ledger.releases() == before
    take(ledger, 1010)
    ledger.stage(record(101))
    past = [msgspec.structs.replace(each, offsets={}) for each in before[:-1]]
    assert ledger.releases() == storage.ledger().releases() == [*past, before[-1], record(101)]
    assert sum(key.startswith(RELEASE) for key in storage.entries) == 2


@pytest.mark.parametrize(
    "damaged",
    [
        lambda row: row[:-1],
        lambda row: row + b"x",
        lambda row: row[:20] + bytes([row[20] ^ 1]) + row[21:],
        lambda _row: b"",
        lambda _row: zlib.compress(b"x"),
        lambda _row: zlib.compress(bytes(1 << 24)),
        lambda _row: packed(64, []),
        lambda row: packed(64, unpacked(row)[1]),
    ],
)
def test_a_damaged_row_of_past_releases_is_noticed(
    storage: Storage, damaged: Callable[[bytes], bytes]
) -> None:
    """Cut, longer, changed, swollen, or of other releases: the ledger does not open."""
    ledger = storage.ledger()
    for index in range(1, 5):
        take(ledger, 10 * index)
        ledger.stage(record(index))
        ledger.mark_published(f"r{index}")
    key = PAST + bytes(8)
    storage.entries[key] = damaged(storage.entries[key])
    with pytest.raises((ValueError, msgspec.DecodeError)):
        storage.ledger()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"index": 1}, "indexes"),
        ({"index": 3}, "indexes"),
        ({"release_id": "r1"}, "once"),
        ({"sequence_id": "other"}, "sequence"),
        ({"slot_us": 30}, "cut"),
        ({"status": Status.PUBLISHED}, "staged"),
    ],
)
def test_what_does_not_follow_is_not_staged(
    storage: Storage, fields: dict[str, object], message: str
) -> None:
    """A release must be the next one, new, of this sequence and of the pending cut."""
    ledger = storage.ledger()
    take(ledger, 10)
    ledger.stage(record(1))
    take(ledger, 20)
    before = dict(storage.entries)
    with pytest.raises(ValueError, match=message):
        ledger.stage(msgspec.structs.replace(record(2), **fields))
    assert storage.entries == before
    ledger.stage(record(2))


@pytest.mark.parametrize("lost", ["release/", "sequence/", "count", "pages"])
def test_a_lost_entry_is_noticed(storage: Storage, lost: str) -> None:
    """Nothing is taken for none: without a release, a sequence, count or pages it does not open."""
    ledger = storage.ledger()
    take(ledger, 10)
    ledger.stage(record(1), [("a", b"1")])
    for key in [key for key in storage.entries if key.startswith(lost.encode())]:
        del storage.entries[key]
    with pytest.raises(ValueError, match="lacks"):
        storage.ledger()


def test_an_unknown_entry_is_refused(storage: Storage) -> None:
    """A ledger of a kind that this version does not know does not open."""
    storage.entries[b"surprise"] = b"1"
    with pytest.raises(ValueError, match="unknown"):
        storage.ledger()


def test_every_store_keeps_the_ledger(handle: Handle) -> None:
    """Sequence, cut, staging and publication, with a restart after each."""
    handle.store.ledger.start_sequence(SequenceRecord("s", "digest", 5))
    handle.reopen().commit([], {}, cut=PendingCut(10, {"t/0": 10}))
    assert handle.reopen().ledger.pending_cut() == PendingCut(10, {"t/0": 10})
    handle.store.ledger.stage(record(1))
    assert handle.reopen().ledger.last() == record(1)
    assert handle.store.cut_snapshot() is None
    handle.store.ledger.mark_published("r1")
    assert handle.reopen().ledger.last() == record(1, status=Status.PUBLISHED)
    assert handle.store.ledger.sequence() == SequenceRecord("s", "digest", 5)


def test_pages_change_with_the_release_that_changed_them(handle: Handle) -> None:
    """Pages are as of the last staged release: written with it, whole after a restart."""
    ledger = handle.store.ledger
    ledger.start_sequence(SequenceRecord("s", "digest", 5))
    assert ledger.pages() == {}
    expected: dict[str, bytes] = {}
    steps: list[tuple[dict[str, bytes], int]] = [
        ({"a": b"1", "b": b"2" * 9999}, 2),
        ({"a": b"1", "b": b"", "c": b"\0"}, 2),
        ({"a": b"1", "b": b"", "c": b"\0"}, 0),
        ({"c": b"\0", "b": b"2"}, 1),
    ]
    for index, (pages, n_written) in enumerate(steps, 1):
        handle.store.commit([], {}, cut=PendingCut(10 * index, {"t/0": 10 * index}))
        assert handle.store.ledger.pages() == expected
        told = {name: None if expected.get(name) == page else page for name, page in pages.items()}
        some = told | {"a": b"1"} if "a" in pages else told  # Who does not know may tell it again.
        assert handle.store.ledger.stage(record(index), some.items()) == n_written
        expected = pages
        assert handle.store.ledger.pages() == expected
        assert handle.reopen().ledger.pages() == expected
    handle.store.ledger.start_sequence(SequenceRecord("s2", "digest", 6))
    assert handle.store.ledger.pages() == {}
    assert handle.reopen().ledger.pages() == {}


@pytest.mark.parametrize("then", ["stage", "drop the cut"])
def test_pages_that_cannot_be_made_leave_nothing(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """What was written of them goes with the next try, or when the release is given up."""

    def pages() -> Iterator[tuple[str, bytes]]:
        yield "a", b"1" * 99
        raise MemoryError

    monkeypatch.setattr("ktsafe.state.ledger.records.PART_BYTES", 80)
    ledger = storage.ledger()
    take(ledger, 10)
    with pytest.raises(MemoryError):
        ledger.stage(record(1), pages())
    assert len(storage.pages) == 1
    if then == "stage":
        ledger.stage(record(1), [("b", b"2")])
    else:
        ledger.drop_cut()
    expected = {"b": b"2"} if then == "stage" else {}
    assert storage.ledger().pages() == expected
    assert len(storage.pages) == len(expected)


def test_a_page_as_before_was_there_before(storage: Storage) -> None:
    """Nothing is staged with a page of which nobody has the bytes."""
    ledger = storage.ledger()
    take(ledger, 10)
    with pytest.raises(ValueError, match="no such page"):
        ledger.stage(record(1), [("a", b"1"), ("b", None)])
    assert storage.ledger().last() is None
    ledger.stage(record(1), [("a", b"1")])
    assert storage.ledger().pages() == {"a": b"1"}


def test_pages_of_an_older_version_are_read(storage: Storage) -> None:
    """Their keys are their names; those that change move, the others stay where they are."""
    ledger = storage.ledger()
    take(ledger, 10)
    ledger.stage(record(1), [("a", b"1"), ("b", b"2")])
    storage.pages = {key.removeprefix(prefix(1)): page for key, page in storage.pages.items()}
    listed = msgspec.msgpack.decode(storage.entries[PAGES], type=dict[str, bytes])
    older = {name: digest[:16] for name, digest in listed.items()}
    storage.entries[PAGES] = msgspec.msgpack.encode(older)
    ledger = storage.ledger()
    assert ledger.pages() == {"a": b"1", "b": b"2"}
    take(ledger, 20)
    ledger.stage(record(2), [("a", b"3"), ("b", b"2")])
    assert storage.pages == {prefix(2) + b"a": b"3", b"b": b"2"}
    ledger.replace_pages([("b", b"4")])
    assert storage.pages == {prefix(2) + b"a": b"3", prefix(2) + b"b": b"4"}
    assert storage.ledger().pages() == {"a": b"3", "b": b"4"}


@pytest.mark.parametrize("damage", [None, b"", b"2", b"old"])
def test_a_page_that_is_not_as_written_is_noticed(storage: Storage, damage: bytes | None) -> None:
    """A page that is lost, cut short, changed, or of an earlier release is never used."""
    ledger = storage.ledger()
    for index, page in ((1, b"old"), (2, b"new")):
        take(ledger, 10 * index)
        ledger.stage(record(index), [("a", page), ("b", b"1")])
    key = prefix(2) + b"a"
    assert storage.pages.keys() == {key, prefix(1) + b"b"}
    if damage is None:
        del storage.pages[key]
    else:
        storage.pages[key] = damage
    for opened in (ledger, storage.ledger()):
        with pytest.raises(StateCorrupted):
            dict(opened.pages())
    ledger.start_sequence(SequenceRecord("s2", "digest", 6))
    assert ledger.pages() == {}


@pytest.mark.parametrize(
    "fields",
    [{"release_id": name} for name in ("../x", "/etc", "..", "a/b", "a\n", "")]
    + [{"files": {"../manifest.json": "00"}}, {"files": {"/etc/passwd": "00"}}],
)
def test_a_ledger_that_leads_elsewhere_is_not_read(storage: Storage, fields: dict) -> None:
    """Folders are named by its release ids: one of a restored, forged store names no other."""
    ledger = storage.ledger()
    take(ledger, 10)
    ledger.stage(record(1, **fields))
    with pytest.raises(msgspec.DecodeError):
        storage.ledger()
