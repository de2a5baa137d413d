"""The release cut by event time: where each partition stops for the next slot.

For slot T the cut of partition p is its first offset whose event time lies beyond T. The partition
waits there. When every partition has arrived, or has nothing more to give, the graph is exactly
what the slot should show, whatever the speeds of the partitions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from stream.slots import Slots


@dataclasses.dataclass(frozen=True, slots=True)
class Cut:
    """A slot whose time has come.

    Attributes
    ----------
    slot_us:
        The nominal time: the last of the slots that were crossed in one jump.
    collapsed:
        How many earlier slots were crossed with it.
    """

    slot_us: int
    collapsed: int


class EventTimeCut:
    """Watches event times against the next slot.

    Parameters
    ----------
    slots:
        The series of slots.
    slot_us:
        The next slot; None before the first event, when the first slot is not known yet. Until it
        is, every partition waits at its first event, so that the earliest of them decides.
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

    def admits(self, partition: tuple[str, int], time_us: int) -> bool:
        """Whether an event belongs to the current slot; if not, its partition has arrived."""
        if self._slot_us is not None and time_us <= self._slot_us:
            return True
        self._heads[partition] = time_us
        return False

    def due(
        self, partitions: Collection[tuple[str, int]], finished: Collection[tuple[str, int]]
    ) -> bool:
        """Whether every partition has arrived or is `finished` (idle, or at its end for good).

        Idle partitions alone never make a slot due: without any event, event time stands still.
        """
        return bool(self._heads) and all(p in self._heads or p in finished for p in partitions)

    def take(self) -> Cut | None:
        """Return the cut to make and move on to the slot of the earliest waiting event.

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
    """Return the slot to collect for after a start; None if nothing was read yet.

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
