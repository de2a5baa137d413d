"""Cuts of a feed: when one is due, and its encrypted place.

The encryption, `BLOCK_BYTES` and widths are a format: published cuts must stay readable. Slots are
cut by event times (tests/stream/release/test_cut.py): another rule gives other releases of the same
feed.

The owner of the sequence's secret reads the place, from which a lost state is made again; to
everybody else it is noise. Its length tells the names of the feed's partitions at most, and how
many persons were erased by command, in steps of about ten: offsets have a fixed width, and the text
is filled up to whole blocks.

Equal cuts give equal bytes, since a release that is made again must be the same. So the pad is
drawn from a tag of the text (a synthetic initialization vector, RFC 5297): other text has another
pad, also where a state that was restored publishes a release of the same id to another sink.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from ktsafe.state.ledger import Erased, PendingCut, SequenceRecord
from ktsafe.stream.ingest.event_times import BEFORE_ALL_US, StopAt
from ktsafe.stream.slots import Slots

BLOCK_BYTES: Final = 768
"""Texts are filled up to multiples of it."""
TAG_BYTES: Final = 24
"""Of the tag before the text; with it base64 needs no filling."""
_WIDTH: Final = 19


class PublishedCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a manifest tells the owner of the sequence's secret.

    Attributes
    ----------
    slot_us, offsets:
        The cut of the release, as in `PendingCut`.
    erased:
        Whom commands erased since the release before.
    """

    slot_us: int
    offsets: Mapping[str, int]
    erased: Sequence[Erased] = ()


def encrypt_cut(
    sequence: SequenceRecord, release_id: str, cut: PendingCut, erased: Sequence[Erased]
) -> str | None:
    """Return the cut of a release for its manifest.

    None in a sequence without a secret.

    Examples
    --------
    >>> sequence = SequenceRecord("s", "d", 0, secret="00" * 32)
    >>> encrypted = encrypt_cut(sequence, "000001-x", PendingCut(5, {"feed/0": 7}), [])
    >>> decrypt_cut(sequence, "000001-x", encrypted).offsets
    {'feed/0': 7}
    """
    if not sequence.secret:
        return None
    offsets = sorted((name, f"{offset:0{_WIDTH}d}") for name, offset in cut.offsets.items())
    plain = msgspec.json.encode([cut.slot_us, offsets, erased])
    plain = plain.ljust(-(-len(plain) // BLOCK_BYTES) * BLOCK_BYTES)
    tag = _tag(sequence, release_id, plain)
    return base64.b64encode(tag + _veiled(sequence, tag, plain)).decode()


def decrypt_cut(sequence: SequenceRecord, release_id: str, encrypted: str) -> PublishedCut:
    """Return what `encrypt_cut` was given.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If it is not the cut of this release of this sequence.
    """
    found = base64.b64decode(encrypted, validate=True)
    tag = found[:TAG_BYTES]
    plain = _veiled(sequence, tag, found[TAG_BYTES:])
    if not hmac.compare_digest(tag, _tag(sequence, release_id, plain)):
        raise ValueError("the cut was encrypted for another release, or with another secret")
    slot_us, offsets, erased = msgspec.json.decode(
        plain, type=tuple[int, list[tuple[str, str]], list[Erased]]
    )
    return PublishedCut(slot_us, {name: int(offset) for name, offset in offsets}, erased)


def _tag(sequence: SequenceRecord, release_id: str, plain: bytes) -> bytes:
    """Return what tells this text of this release from every other one."""
    text = release_id.encode() + b"\0" + plain
    key = bytes.fromhex(sequence.secret)
    return hashlib.blake2b(text, key=key, digest_size=TAG_BYTES, person=b"cut").digest()


def _veiled(sequence: SequenceRecord, tag: bytes, text: bytes) -> bytes:
    """Return a text under its tag's pad, or its former self."""
    drawn = hashlib.shake_256(bytes.fromhex(sequence.secret) + b"/cut/" + tag)
    pad = int.from_bytes(drawn.digest(len(text)), "big")
    return (int.from_bytes(text, "big") ^ pad).to_bytes(len(text), "big")


# The release cut.
#
# When the next slot is due, and where each partition stops for it.
#
# By event time the cut of partition p for slot T is its first offset whose event time lies beyond
# T. The partition waits there. When every partition has arrived, or has nothing more to give, the
# graph is exactly what the slot should show, whatever the speeds of the partitions.


@dataclasses.dataclass(frozen=True, slots=True)
class Cut:
    """A slot that is due.

    Attributes
    ----------
    slot_us:
        The nominal time: the last of the slots that were crossed in one jump.
    collapsed:
        How many earlier slots were crossed with it.
    """

    slot_us: int
    collapsed: int


class ReleaseCut(Protocol):
    """Says when the next slot is due.

    `EventTimeCut` and `ktsafe.stream.release.known_releases.KnownCut` are those.
    """

    @property
    def slot_us(self) -> int | None:
        """The slot being collected for; None while none is known."""

    @property
    def arrived(self) -> Collection[tuple[str, int]]:
        """The partitions that wait at their cut."""

    @property
    def limit_us(self) -> int:
        """The greatest event time that belongs to the current slot."""

    @property
    def stop_at(self) -> StopAt | None:
        """Where each partition is stopped, if that is by its offset."""

    def admits(self, partition: tuple[str, int], time_us: int) -> bool:
        """Whether an event belongs to the current slot.

        If not, its partition has arrived.
        """

    def due(
        self, partitions: Collection[tuple[str, int]], finished: Collection[tuple[str, int]]
    ) -> bool:
        """Whether the slot is to be cut now.

        `finished` are partitions with nothing to give.
        """

    def take(self) -> Cut | None:
        """Return the cut to make, perhaps early, and take the next slot."""


class EventTimeCut:
    """Watches event times against the next slot. Implements `ReleaseCut`.

    Parameters
    ----------
    slots:
        The series of slots.
    slot_us:
        The next slot; None before the first event, when the first slot is not known yet. Until it
        is, every partition waits at its first event, so the earliest of them decides.
    """

    def __init__(self, slots: Slots, slot_us: int | None) -> None:
        self._slots = slots
        self._slot_us = slot_us
        self._heads: dict[tuple[str, int], int] = {}

    @property
    def slot_us(self) -> int | None:
        """The slot being collected for."""
        return self._slot_us

    @property
    def arrived(self) -> Collection[tuple[str, int]]:
        """The partitions that wait at their cut."""
        return self._heads.keys()

    @property
    def limit_us(self) -> int:
        """The slot being collected for.

        Before the first is known no event belongs to it.
        """
        return BEFORE_ALL_US if self._slot_us is None else self._slot_us

    @property
    def stop_at(self) -> None:
        """None: the times of events decide."""

    def admits(self, partition: tuple[str, int], time_us: int) -> bool:
        """Whether an event belongs to the current slot.

        If not, its partition has arrived.
        """
        if self._slot_us is not None and time_us <= self._slot_us:
            return True
        self._heads[partition] = time_us
        return False

    def due(
        self, partitions: Collection[tuple[str, int]], finished: Collection[tuple[str, int]]
    ) -> bool:
        """Whether every partition has arrived or is `finished`.

        That is idle, or at its end for good.

        Idle partitions alone never make a slot due: without any event, event time stands still.
        """
        return bool(self._heads) and all(p in self._heads or p in finished for p in partitions)

    def take(self) -> Cut | None:
        """Return the cut, and take the earliest waiting event's slot.

        None if there was no slot yet: then the first one is now known.
        """
        slot, head = self._slot_us, min(self._heads.values(), default=None)
        self._heads.clear()
        if head is None:
            # The feed has ended inside the slot: it is cut as it stands.
            assert slot is not None
            self._slot_us = self._slots.at_or_after(slot + 1)
            return Cut(slot, collapsed=0)
        self._slot_us = self._slots.at_or_after(head)
        if slot is None:
            return None
        last = self._slots.before(head)
        return Cut(last, collapsed=self._slots.distance(slot, last))


def resume_slot(
    slots: Slots, *, last_slot_us: int | None, clocks: Collection[int | None]
) -> int | None:
    """Return the slot to collect for after a start.

    None if nothing was read yet.

    Parameters
    ----------
    last_slot_us:
        The slot of the last cut, if there was one.
    clocks:
        M_p of every partition. No event beyond the slot being collected for is ever applied, so
        the greatest clock lies in that slot.
    """
    known = [clock for clock in clocks if clock is not None]
    candidates = [slots.at_or_after(max(known))] if known else []
    if last_slot_us is not None:
        candidates.append(slots.at_or_after(last_slot_us + 1))
    return max(candidates, default=None)
