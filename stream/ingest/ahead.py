"""Whether later records confirm the time of an event.

One wrong date must not move the time of a feed: all that follows would be late for ever, and
releases of the future would go out. So an event beyond what its partition has come to so far is
weighed against the next records of that partition. The log itself keeps what is undecided: no
offset passes it, a crash reads it again, and a replay of the same records comes to the same end.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

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
