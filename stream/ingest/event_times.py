"""Event times of partitions: late, believed, or not yet.

One wrong date must not move the time of a feed: all that follows would be late for ever, and
releases of the future would go out. So an event beyond what its partition has come to so far is
weighed against the next records of that partition. The log itself keeps what is undecided: no
offset passes it, a crash reads it again, and a replay of the same records comes to the same end.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from ktsafe.state.registers import Origin

Admits = Callable[[Origin, int], bool]
"""Whether an event of a partition may be applied now; False stops the partition there."""
StopAt = Callable[[Origin], int]
"""The offset of a partition at which it is stopped, whatever the time of its events."""
BEFORE_ALL_US: Final = -(2**62)
"""A limit before every event: no slot is known yet."""
CONFIRMING: Final = 3
"""Following records beyond the bound that confirm the first: four wrong dates among a dozen records
move the time, fewer do not."""
REFUTING: Final = 8
"""Following records within the bound that refute it: what comes in disorder rarely shows as many
old ones in a row as this, where time has moved on."""
FOLLOWING_MAX: Final = 100
"""Following records that are looked at: the rest may be no events at all."""
Plausible = Callable[[int, bool], bool | None]
"""Whether a time may be that of an event which nothing follows; None: too early to say. Told too
whether most of what followed speaks against it."""


class Belief(enum.Enum):
    """What comes of an event beyond the bound."""

    BELIEVED = enum.auto()
    REFUTED = enum.auto()
    OPEN = enum.auto()


class Weighed(NamedTuple):
    """The verdict, and the partition's new time if confirmed."""

    verdict: Belief
    time_us: int


def weigh(
    time_us: int,
    following_us: Iterable[int | None],
    bound_us: int,
    *,
    at_rest: Plausible | None = None,
) -> Weighed:
    """Return whether later records agree that a bound is passed.

    The time believed is the earliest of all that lie beyond it: whether the first of them is the
    wrong one does not matter.

    Parameters
    ----------
    following_us:
        The times of the following records, in order; None for one without.
    at_rest:
        Given where nothing follows for now. A time that it finds plausible is believed; any other
        one stays open until something speaks against it.
    """
    earliest, ahead, behind = time_us, 0, 0
    for n, following in enumerate(following_us, 1):
        if following is None:
            pass
        elif following > bound_us:
            ahead += 1
            earliest = min(earliest, following)
        else:
            behind += 1
        if ahead >= CONFIRMING:
            return Weighed(Belief.BELIEVED, earliest)
        if behind >= REFUTING:
            return Weighed(Belief.REFUTED, earliest)
        if n >= FOLLOWING_MAX:
            break
    else:
        if at_rest is None:
            return Weighed(Belief.OPEN, earliest)
        is_plausible = at_rest(earliest, behind > ahead)
        if is_plausible:
            return Weighed(Belief.BELIEVED, earliest)
        is_refuted = behind and is_plausible is not None
        return Weighed(Belief.REFUTED if is_refuted else Belief.OPEN, earliest)
    return Weighed(Belief.BELIEVED if ahead >= behind else Belief.REFUTED, earliest)


class Fate(enum.Enum):
    """Fate of an event by its time."""

    APPLY = enum.auto()
    LATE = enum.auto()
    AHEAD = enum.auto()
    STOP = enum.auto()  # here is the cut of its partition
    WAIT = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """Bounds of time now; `at_rest` where nothing follows."""

    admits: Admits
    slot_us: int
    at_rest: Plausible | None = None
    stop_at: StopAt | None = None


class EventTimes:
    """The greatest event time believed of each partition.

    Parameters
    ----------
    believed_us:
        Those known from before.
    lateness_us:
        How far an event may lie behind the newest one of its partition.
    """

    def __init__(self, believed_us: Mapping[Origin, int], lateness_us: int) -> None:
        self._believed_us = dict(believed_us)
        self._lateness_us = lateness_us

    def of(self, partition: Origin) -> int | None:
        """Return what a partition has come to; None before its first event."""
        return self._believed_us.get(partition)

    def newest_us(self) -> int | None:
        """Return the greatest time of all partitions."""
        return max(self._believed_us.values(), default=None)

    def bound_us(self, partition: Origin, limit: Limit) -> int:
        """Return until when a partition's events are believed without others.

        That is the slot being collected for. A partition that is far behind the others would come
        to it in one step, and have the rest of its events late: so lateness is a bound as well.
        """
        newest_us = self._believed_us.get(partition)
        if newest_us is None:
            return limit.slot_us
        return min(limit.slot_us, newest_us + self._lateness_us)

    def within(self, partition: Origin, time_us: int) -> Fate:
        """Return the fate of an event within the bound."""
        newest_us = self._believed_us.get(partition, BEFORE_ALL_US)
        if time_us > newest_us:
            self._believed_us[partition] = time_us
        return Fate.LATE if time_us < newest_us - self._lateness_us else Fate.APPLY

    def beyond(
        self,
        partition: Origin,
        time_us: int,
        limit: Limit,
        following: Callable[[int], Iterable[int | None]],
    ) -> Fate:
        """Return the fate of an event beyond the bound.

        Parameters
        ----------
        following:
            Gives the times of the records behind the event; None for one without, or before the
            time that it is given.
        """
        while time_us > (bound_us := self.bound_us(partition, limit)):
            oldest_us = self._believed_us.get(partition, BEFORE_ALL_US) - self._lateness_us
            verdict, believed_us = weigh(
                time_us, following(oldest_us), bound_us, at_rest=limit.at_rest
            )
            # What a cut that is made again holds beyond its slot was not believed then.
            is_held = limit.stop_at is not None and believed_us > limit.slot_us
            if verdict is Belief.OPEN and not (is_held and limit.at_rest):
                return Fate.WAIT
            if verdict is not Belief.BELIEVED or is_held:
                # If it were right, what follows would be late: the owner says that nothing is.
                is_far = time_us > limit.slot_us + self._lateness_us
                return Fate.AHEAD if is_far else Fate.APPLY
            if not limit.admits(partition, believed_us):
                return Fate.STOP
            self._believe(partition, believed_us)
        self._believe(partition, time_us)
        return Fate.APPLY

    def _believe(self, partition: Origin, time_us: int) -> None:
        self._believed_us[partition] = max(self._believed_us.get(partition, time_us), time_us)
