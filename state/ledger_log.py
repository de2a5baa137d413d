"""The ledger over any ordered set of keys and values: `memory` and `rocksdb` bring their own.

cut                 the pending cut, while there is one
count               how many releases and sequences there must be (a check on reading)
sequence/<n:u64>    every sequence, the last one current
release/<index:u64> every release, for ever
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from state.ledger import PendingCut, ReleaseRecord, Sequence, Status

CUT: Final = b"cut"
COUNT: Final = b"count"
SEQUENCE: Final = b"sequence/"
RELEASE: Final = b"release/"

EMPTY: Final = {COUNT: b"[0,0]"}
"""What a new ledger holds."""

Writes = dict[bytes, bytes | None]
"""Values by key; None deletes."""


class LedgerLog:
    """The ledger, resident, with every change written through before it counts.

    Parameters
    ----------
    entries:
        What was stored.
    write:
        Makes a few writes durable in one step.
    cut_gone:
        Called once the pending cut is consumed or dropped: its frozen state may go.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If the entries do not read back as written.
    """

    def __init__(
        self,
        entries: Mapping[bytes, bytes],
        *,
        write: Callable[[Writes], None],
        cut_gone: Callable[[], None],
    ) -> None:
        self._write = write
        self._cut_gone = cut_gone
        self._sequences: list[Sequence] = []
        self._releases: list[ReleaseRecord] = []
        self._cut: PendingCut | None = None
        for key, value in sorted(entries.items()):
            if key == CUT:
                self._cut = msgspec.json.decode(value, type=PendingCut)
            elif key.startswith(SEQUENCE):
                self._sequences.append(msgspec.json.decode(value, type=Sequence))
            elif key.startswith(RELEASE):
                self._releases.append(msgspec.json.decode(value, type=ReleaseRecord))
            elif key != COUNT:
                raise ValueError("the ledger holds an unknown entry")
        if entries.get(COUNT) != self._count(0, 0):
            raise ValueError("the ledger lacks entries")

    def sequence(self) -> Sequence | None:
        """Return the current sequence, None before the first."""
        return self._sequences[-1] if self._sequences else None

    def start_sequence(self, sequence: Sequence) -> None:
        """Record the sequence that following releases belong to.

        Raises
        ------
        ValueError
            If there was one of this id already.
        """
        if any(known.sequence_id == sequence.sequence_id for known in self._sequences):
            raise ValueError("a sequence starts once")
        key = SEQUENCE + len(self._sequences).to_bytes(8, "big")
        self._write({key: msgspec.json.encode(sequence), COUNT: self._count(1, 0)})
        self._sequences.append(sequence)

    def pending_cut(self) -> PendingCut | None:
        """Return the cut taken but not yet staged."""
        return self._cut

    def take_cut(self, cut: PendingCut) -> Writes:
        """Return the writes that record a cut; the store adds them to its checkpoint.

        Raises
        ------
        ValueError
            If one is pending, or its slot is not after the last release's.
        """
        if self._cut is not None:
            raise ValueError("a release cut is pending already")
        return {CUT: msgspec.json.encode(cut)}

    def cut_taken(self, cut: PendingCut) -> None:
        """The writes of `take_cut` are durable."""
        self._cut = cut

    def drop_cut(self) -> None:
        """Give up the pending cut (its release was withheld); its frozen state is freed."""
        if self._cut is None:
            return
        self._write({CUT: None})
        self._cut = None
        self._cut_gone()

    def last(self) -> ReleaseRecord | None:
        """Return the last release, staged or published."""
        return self._releases[-1] if self._releases else None

    def releases(self) -> list[ReleaseRecord]:
        """Return all releases in order."""
        return list(self._releases)

    def stage(self, record: ReleaseRecord) -> None:
        """Append `record` and consume the pending cut: the point of no return.

        Raises
        ------
        ValueError
            If it does not follow the last release, or is not the release of the pending cut.
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
        self._write(
            {
                _release_key(record): msgspec.json.encode(record),
                COUNT: self._count(0, 1),
                CUT: None,
            }
        )
        self._releases.append(record)
        self._cut = None
        self._cut_gone()

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
        published = msgspec.structs.replace(record, status=Status.PUBLISHED)
        self._write({_release_key(record): msgspec.json.encode(published)})
        self._releases[position] = published

    def _count(self, more_sequences: int, more_releases: int) -> bytes:
        return msgspec.json.encode(
            [len(self._sequences) + more_sequences, len(self._releases) + more_releases]
        )


def _release_key(record: ReleaseRecord) -> bytes:
    return RELEASE + record.index.to_bytes(8, "big")
