"""The ledger: what it takes, what it refuses, and that it reads back."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import msgspec
import pytest

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
from ktsafe.state.ledger.ledger import COUNT, CUT, PAGES, PAST, RELEASE
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


def test_releases_read_back_in_order(storage: Storage) -> None:
    """After a restart all releases are there, each with the status it had."""
    ledger = storage.ledger()
    for index in (1, 2, 3):
        take(ledger, 10 * index)
        ledger.stage(record(index))
        if index < 3:
            ledger.mark_published(f"r{index}")
    expected = [
        record(1, status=Status.PUBLISHED, offsets={}),
        record(2, status=Status.PUBLISHED),
        record(3),
    ]
    again = storage.ledger()
    assert ledger.releases() == again.releases() == expected
    assert again.last() == expected[-1]
    assert again.pending_cut() is None
    assert storage.cuts_gone == 3


def test_of_past_releases_what_is_asked_for_stays(storage: Storage) -> None:
    """All but the last two are in rows of 64, without cut and without the files of the manifest."""
    ledger = storage.ledger()
    whole = [
        record(
            i,
            status=Status.PUBLISHED,
            files={"manifest.json": f"{i:064x}", "edges.csv": "aa"},
            audit={"mapping.csv": f"{i + 1:064x}"},
            epsilon_micro=i,
            n_lives=3 * i,
        )
        for i in range(60, 200)
    ]
    for each in whole:
        take(ledger, each.slot_us)
        ledger.stage(msgspec.structs.replace(each, status=Status.STAGED))
        ledger.mark_published(each.release_id)
        assert storage.ledger().releases() == ledger.releases()
    past = [
        msgspec.structs.replace(
            each, offsets={}, files={"manifest.json": each.files["manifest.json"]}
        )
        for each in whole[:-2]
    ]
    assert ledger.releases() == [*past, *whole[-2:]]
    rows = [key for key in storage.entries if key.startswith((PAST, RELEASE))]
    assert sorted(rows) == [
        *(PAST + bytes(7) + bytes([row]) for row in range(4)),
        *(RELEASE + bytes(7) + bytes([index]) for index in (198, 199)),
    ]

    ledger.record_audits({"r63": {"mapping.csv": "ab"}, "r64": {"mapping.csv": "cd"}})
    going = ledger.let_audits_go(keep=70)
    assert [each.index for each in reversed(going)] == list(range(60, 130))
    assert storage.ledger().releases() == ledger.releases()
    assert [each.has_audit for each in ledger.releases()] == [False] * 70 + [True] * 70


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


def test_what_is_not_published_is_never_past(storage: Storage) -> None:
    """A release that waits for its sink stays whole, however many follow."""
    ledger = storage.ledger()
    for index in range(1, 6):
        take(ledger, 10 * index)
        ledger.stage(record(index))
        if index != 2:
            ledger.mark_published(f"r{index}")
    past = msgspec.structs.replace(record(1, status=Status.PUBLISHED), offsets={})
    assert ledger.releases()[:2] == storage.ledger().releases()[:2] == [past, record(2)]


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


def test_more_releases_than_a_byte_counts_stay_in_order(storage: Storage) -> None:
    """Release 256 follows 255 when the ledger is read back."""
    ledger = storage.ledger()
    for index in range(250, 260):
        take(ledger, 10 * index)
        ledger.stage(record(index))
    assert [r.index for r in storage.ledger().releases()] == list(range(250, 260))


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


def test_nothing_is_staged_without_a_cut(storage: Storage) -> None:
    """A release is the release of a cut; a dropped cut has none."""
    ledger = storage.ledger()
    with pytest.raises(ValueError, match="cut"):
        ledger.stage(record(1))
    take(ledger, 10)
    ledger.drop_cut()
    with pytest.raises(ValueError, match="cut"):
        ledger.stage(record(1))
    assert CUT not in storage.entries


def test_publishing_is_repeatable_and_known(storage: Storage) -> None:
    """Confirming twice writes once; confirming an unknown release is refused."""
    ledger = storage.ledger()
    take(ledger, 10)
    ledger.stage(record(1))
    ledger.mark_published("r1")
    storage.writes_left = 0
    ledger.mark_published("r1")
    with pytest.raises(ValueError, match="no such release"):
        ledger.mark_published("r2")


def test_a_sequence_starts_once(storage: Storage) -> None:
    """A sequence id is never used again, not even a former one."""
    ledger = storage.ledger()
    ledger.start_sequence(SequenceRecord("s2", "digest", 6))
    with pytest.raises(ValueError, match="once"):
        ledger.start_sequence(SequenceRecord("s", "digest", 7))
    assert storage.ledger().sequence() == SequenceRecord("s2", "digest", 6)


def test_what_is_not_durable_did_not_happen(storage: Storage) -> None:
    """If a write fails, the resident ledger stays what is stored."""
    ledger = storage.ledger()
    take(ledger, 10)
    storage.writes_left = 0
    for attempt in (
        lambda: ledger.stage(record(1)),
        ledger.drop_cut,
        lambda: ledger.start_sequence(SequenceRecord("s2", "digest", 6)),
    ):
        with pytest.raises(OSError):  # noqa: PT011 -- the storage's own
            attempt()
    assert ledger.last() is None
    assert ledger.pending_cut() == PendingCut(10, {"t/0": 10})
    assert ledger.sequence() == SequenceRecord("s", "digest", 5)
    assert storage.cuts_gone == 0


@pytest.mark.parametrize("lost", ["release/", "sequence/", "count"])
def test_a_lost_entry_is_noticed(storage: Storage, lost: str) -> None:
    """A ledger that lacks a release, a sequence or its count does not open."""
    ledger = storage.ledger()
    take(ledger, 10)
    ledger.stage(record(1))
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
        assert handle.store.ledger.stage(record(index), pages.items()) == n_written
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


def test_a_lost_table_of_pages_is_noticed(storage: Storage) -> None:
    """Pages are never taken for none because their table is gone."""
    ledger = storage.ledger()
    take(ledger, 10)
    ledger.stage(record(1), [("a", b"1")])
    del storage.entries[b"pages"]
    with pytest.raises(ValueError, match="lacks"):
        storage.ledger()


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
