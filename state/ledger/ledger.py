"""The ledger: all releases, and their bytes for ever.

    cut ──▶ STAGED ──▶ PUBLISHED
             ▲  │
             └──┘  any error or unknown outcome tries to publish the same bytes again

`stage` is the point of no return: from then on release i is exactly the staged files. Writes are
durable before the object changes (tests/state/test_ledger.py). Keys and values are a format, like
those of `ktsafe.state.keys`, in any ordered store:

    cut                   the pending cut, while there is one
    count                 how many releases and sequences there must be (a check on reading)
    pages                 the digest of every page there must be (a check on reading), by name, and
                          the release that brought it
    coming                the index of a release of which pages are written, until it is staged
    erased                whom commands erased since the last staged release, if anybody
    sequence/<n:u64>      every sequence, the last one current
    release/<index:u64>   the last two releases: either may be sent to the sink (again)
    past/<n:u64>          all before them, for ever: those whose index divided by 64 is n
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ktsafe.state.ledger.records import (
    ROW,
    Erased,
    NamedPages,
    NextPages,
    Pages,
    PastRelease,
    PendingCut,
    ReleaseRecord,
    SequenceRecord,
    Status,
    StoredPages,
    Writes,
    packed,
    prefix,
    unpacked,
)

CUT: Final = b"cut"
COUNT: Final = b"count"
PAGES: Final = b"pages"
COMING: Final = b"coming"
ERASED: Final = b"erased"
SEQUENCE: Final = b"sequence/"
RELEASE: Final = b"release/"
PAST: Final = b"past/"
MANIFEST: Final = "manifest.json"
"""The file of a release that lists all others with their sha256."""

EMPTY: Final = {COUNT: b"[0,0,0]"}
"""What a new ledger holds."""

WHOLE: Final = 2
"""Releases of which all is kept: the one before the last may be sent again with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class LedgerStorage:
    """Where a ledger is kept.

    Attributes
    ----------
    write:
        Makes a few writes, of the ledger and of pages, durable in one step.
    read_pages:
        Returns the pages under these keys, None where there is none.
    drop_pages:
        Makes all pages whose keys begin so unreadable from the disk.
    cut_gone:
        Told that the pending cut is consumed or dropped: its frozen state may go.
    damaged:
        Makes the error of pages that do not read back as written.
    """

    write: Callable[[Writes, Writes], None]
    read_pages: Callable[[list[bytes]], list[bytes | None]]
    drop_pages: Callable[[bytes], None]
    cut_gone: Callable[[], None]
    damaged: Callable[[], Exception]


class Ledger:
    """The durable list of releases, resident.

    Every change is written through before it counts.

    Beside the releases it keeps the *pages* of the current sequence. They change with a release
    that is staged, and go when another sequence starts.

    Parameters
    ----------
    entries:
        What was stored.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If the entries do not read back as written.
    """

    def __init__(self, entries: Mapping[bytes, bytes], storage: LedgerStorage) -> None:
        self._storage = storage
        self._pages = Pages()
        self._coming: int | None = None
        self._sequences: list[SequenceRecord] = []
        self._releases: list[ReleaseRecord] = []
        self._n_past = 0
        self._cut: PendingCut | None = None
        self._erased: list[Erased] = []
        for key, value in sorted(entries.items()):
            if key == CUT:
                self._cut = msgspec.json.decode(value, type=PendingCut)
            elif key.startswith(SEQUENCE):
                self._sequences.append(msgspec.json.decode(value, type=SequenceRecord))
            elif key.startswith(PAST):  # These keys come before those of the last releases.
                self._releases += _of_row(key, value)
                self._n_past = len(self._releases)
            elif key.startswith(RELEASE):
                self._releases.append(msgspec.json.decode(value, type=ReleaseRecord))
            elif key == PAGES:
                self._pages = Pages.unpacked(value)
            elif key == COMING:
                self._coming = msgspec.json.decode(value, type=int)
            elif key == ERASED:
                self._erased = msgspec.json.decode(value, type=list[Erased])
            elif key != COUNT:
                raise ValueError("the ledger holds an unknown entry")
        if entries.get(COUNT) != self._count(0, 0, len(self._pages)):
            raise ValueError("the ledger lacks entries")

    def sequence(self) -> SequenceRecord | None:
        """Return the current sequence, None before the first."""
        return self._sequences[-1] if self._sequences else None

    def start_sequence(self, sequence: SequenceRecord) -> None:
        """Record the sequence that following releases belong to.

        The former one's pages go.

        Raises
        ------
        ValueError
            If there was one of this id already.
        """
        if any(known.sequence_id == sequence.sequence_id for known in self._sequences):
            raise ValueError("a sequence starts once")
        key = SEQUENCE + len(self._sequences).to_bytes(8, "big")
        self._storage.write(
            {key: msgspec.json.encode(sequence), COUNT: self._count(1, 0, 0), PAGES: None},
            dict.fromkeys(self._pages.gone(Pages())),
        )
        self._sequences.append(sequence)
        self._pages = Pages()

    def pages(self) -> Mapping[str, bytes]:
        """Return the sequence's pages of the last staged release, if any.

        Reading one raises `StateCorrupted` if it does not read back as written.
        """
        return StoredPages(self._pages, self._storage.read_pages, self._storage.damaged)

    def replace_pages(self, pages: Iterable[tuple[str, bytes]]) -> None:
        """Change pages between two releases: same content, less of departed people."""
        coming = NextPages(self._pages, self._releases[-1].index)
        for name, page in {**dict.fromkeys(self._pages), **dict(pages)}.items():
            coming.take(name, page)
        after, writes = coming.end()
        if writes:
            listed = {COUNT: self._count(0, 0, len(after)), PAGES: after.packed()}
            self._storage.write(listed, writes)
            self._pages = after

    def drop_orphans(self) -> None:
        """Remove the pages of a release that was never staged."""
        if self._coming is not None:
            self._storage.drop_pages(prefix(self._coming))
            self._storage.write({COMING: None}, {})
            self._coming = None

    def pending_cut(self) -> PendingCut | None:
        """Return the cut taken but not yet staged."""
        return self._cut

    def take_cut(self, cut: PendingCut) -> Writes:
        """Return the writes that record a cut.

        The store adds them to its checkpoint.

        Raises
        ------
        ValueError
            If one is pending already.
        """
        if self._cut is not None:
            raise ValueError("a release cut is pending already")
        return {CUT: msgspec.json.encode(cut)}

    def cut_taken(self, cut: PendingCut) -> None:
        """The writes of `take_cut` are durable."""
        self._cut = cut

    def drop_cut(self) -> None:
        """Give up the pending cut (its release was withheld).

        Its frozen state is freed.
        """
        if self._cut is None:
            return
        self._storage.write({CUT: None}, {})
        self._cut = None
        self._storage.cut_gone()
        self.drop_orphans()

    def erased(self) -> list[Erased]:
        """Return the people erased by command since the last staged release.

        No feed tells of them.
        """
        return list(self._erased)

    def note_erased(self, persons: Iterable[Erased]) -> None:
        """Note a person before a command erases them.

        The next release that is staged takes the note.
        """
        known = dict.fromkeys((*self._erased, *persons))
        self._storage.write({ERASED: msgspec.json.encode(list(known))}, {})
        self._erased = list(known)

    def last(self) -> ReleaseRecord | None:
        """Return the last release, staged or published."""
        return self._releases[-1] if self._releases else None

    def releases(self) -> list[ReleaseRecord]:
        """Return all releases in order."""
        return list(self._releases)

    def stage(self, record: ReleaseRecord, pages: NamedPages = ()) -> int:
        """Append `record`, take its pages and consume the cut, in one write.

        No return from here.

        Many pages are written before, a part at a time.

        Parameters
        ----------
        pages:
            Every page, made one by one; those that did not change are passed over, and those that
            are not among them go.

        Returns
        -------
        int
            How many pages were written.

        Raises
        ------
        ValueError
            If it does not follow the last release, or is not the release of the pending cut; if a
            page is to be as before, and was not there.
        """
        last, sequence = self.last(), self.sequence()
        if record.status is not Status.STAGED:
            raise ValueError("a release enters the ledger staged")
        if last is not None and record.index != last.index + 1:
            raise ValueError("release indexes go up by one")
        if any(known.release_id == record.release_id for known in self._releases):
            raise ValueError("a release id is used once")
        if sequence is None or record.sequence_id != sequence.sequence_id:
            raise ValueError("a release belongs to the current sequence")
        if self._cut is None or record.slot_us != self._cut.slot_us:
            raise ValueError("a release belongs to the pending cut")
        coming = self._written_early(record.index, pages)
        after, writes = coming.end()
        releases, n_past = [*self._releases, record], self._n_past
        while n_past + WHOLE < len(releases) and releases[n_past].status is Status.PUBLISHED:
            releases[n_past] = _shortened(releases[n_past])
            n_past += 1
        passed = range(self._n_past, n_past)
        self._storage.write(
            {
                **dict.fromkeys(_release_key(releases[position]) for position in passed),
                **_rows(releases, n_past, [*passed, len(releases) - 1]),
                COUNT: self._count(0, 1, len(after)),
                PAGES: after.packed(),
                CUT: None,
                ERASED: None,
                COMING: None,
            },
            writes,
        )
        self._releases, self._n_past = releases, n_past
        self._pages, self._coming = after, None
        self._cut, self._erased = None, []
        self._storage.cut_gone()
        return coming.n_changed

    def _written_early(self, index: int, pages: NamedPages) -> NextPages:
        """Take a release's pages, and write all but the last part."""
        self.drop_orphans()
        coming = NextPages(self._pages, index)
        for name, page in pages:
            coming.take(name, page)
            if part := coming.early():
                self._coming = index
                self._storage.write({COMING: msgspec.json.encode(index)}, part)
        return coming

    def mark_published(self, release_id: str) -> None:
        """Record that the sink confirmed the release. Repeating it does nothing.

        Raises
        ------
        ValueError
            If the ledger has no such release.
        """
        ids = [record.release_id for record in self._releases]
        if release_id not in ids:
            raise ValueError("the ledger has no such release")
        position = ids.index(release_id)
        record = self._releases[position]
        if record.status is Status.PUBLISHED:
            return
        self._replace({position: msgspec.structs.replace(record, status=Status.PUBLISHED)})

    def record_audits(self, changed: Mapping[str, Mapping[str, str]]) -> None:
        """Record the sha256 of audit files before they are replaced.

        It is one write.

        Parameters
        ----------
        changed:
            Release id to file name to sha256. Releases that are not listed here are ignored.
        """
        self._replace(
            {
                position: msgspec.structs.replace(record, audit={**record.audit, **files})
                for position, record in enumerate(self._releases)
                if (files := changed.get(record.release_id))
            }
        )

    def let_audits_go(self, keep: int) -> list[ReleaseRecord]:
        """Keep audits of the last `keep` releases only; return those that go."""
        going: dict[int, ReleaseRecord] = {}
        # Those before the last one that has none are done.
        for position in reversed(range(len(self._releases) - keep)):
            record = self._releases[position]
            if not record.has_audit:
                break
            going[position] = msgspec.structs.replace(record, audit={}, has_audit=False)
        self._replace(going)
        return list(going.values())

    def _replace(self, changed: Mapping[int, ReleaseRecord]) -> None:
        """Put other records at these positions of the list, in one write."""
        if changed:
            releases = list(self._releases)
            for position, record in changed.items():
                releases[position] = record
            self._storage.write(_rows(releases, self._n_past, changed), {})
            self._releases = releases

    def _count(self, more_sequences: int, more_releases: int, pages: int) -> bytes:
        sequences = len(self._sequences) + more_sequences
        return msgspec.json.encode([sequences, len(self._releases) + more_releases, pages])


def _release_key(record: ReleaseRecord) -> bytes:
    return RELEASE + record.index.to_bytes(8, "big")


def _rows(releases: Sequence[ReleaseRecord], n_past: int, positions: Iterable[int]) -> Writes:
    """Return the writes of rows with releases at `positions`, of `releases`."""
    writes: Writes = {}
    first = releases[0].index
    for position in positions:
        record = releases[position]
        if position >= n_past:
            writes[_release_key(record)] = msgspec.json.encode(record)
            continue
        number = record.index // ROW
        key = PAST + number.to_bytes(8, "big")
        if key not in writes:
            begin, end = max(number * ROW - first, 0), min((number + 1) * ROW - first, n_past)
            row = [_past(each) for each in releases[begin:end]]
            writes[key] = packed(releases[begin].index, row)
    return writes


def _of_row(key: bytes, row: bytes) -> list[ReleaseRecord]:
    first, releases = unpacked(row)
    if key != PAST + (first // ROW).to_bytes(8, "big"):
        raise ValueError("a row of past releases is not where it belongs")
    return [_read(first + i, release) for i, release in enumerate(releases)]


def _shortened(record: ReleaseRecord) -> ReleaseRecord:
    """Return the lasting part of a past release, as it reads back."""
    return _read(record.index, _past(record))


def _past(record: ReleaseRecord) -> PastRelease:
    assert record.status is Status.PUBLISHED
    return PastRelease(
        record.release_id,
        record.sequence_id,
        record.slot_us,
        bytes.fromhex(record.files[MANIFEST]),
        record.n_vertices,
        record.n_edges,
        record.n_lives,
        record.epsilon_micro,
        {name: bytes.fromhex(digest) for name, digest in record.audit.items()},
        record.has_audit,
    )


def _read(index: int, past: PastRelease) -> ReleaseRecord:
    return ReleaseRecord(
        index=index,
        release_id=past.release_id,
        sequence_id=past.sequence_id,
        slot_us=past.slot_us,
        offsets={},
        files={MANIFEST: past.manifest.hex()},
        status=Status.PUBLISHED,
        n_vertices=past.n_vertices,
        n_edges=past.n_edges,
        n_lives=past.n_lives,
        epsilon_micro=past.epsilon_micro,
        audit={name: digest.hex() for name, digest in past.audit.items()},
        has_audit=past.has_audit,
    )
