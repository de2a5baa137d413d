"""The release cut.

When the next slot is due, and where each partition stops for it.

By event time the cut of partition p for slot T is its first offset whose event time lies beyond T.
The partition waits there. When every partition has arrived, or has nothing more to give, the graph
is exactly what the slot should show, whatever the speeds of the partitions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Protocol

from ktsafe.stream.ingest.ingest import BEFORE_ALL_US, StopAt
from ktsafe.stream.slots import Slots


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
