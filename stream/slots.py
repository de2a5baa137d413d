"""Release times, and clocks that tests replace.

Units may be added to `_UNITS_S`; the comment of `every` in stream/example.toml names them (`make
reference`). Slots count from the epoch and name releases: another rule moves the times of running
sequences (tests/stream/test_slots.py).
"""

from __future__ import annotations

import dataclasses
import datetime
import re
import time
from collections.abc import Callable
from typing import Final, Protocol

CLOCK_US_MIN: Final = 1_577_836_800_000_000
"""A clock before 2020 is that of a machine without one: it says nothing."""


def _wall_us() -> int:
    return time.time_ns() // 1000


def _monotonic() -> float:
    """Return seconds that count suspension, where the system does."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


@dataclasses.dataclass(frozen=True, slots=True)
class Clocks:
    """How a service knows the time, and waits.

    Attributes
    ----------
    wall_us:
        The wall clock, microseconds since the epoch.
    monotonic, sleep:
        A clock in seconds and a way to wait by it.
    """

    wall_us: Callable[[], int] = _wall_us
    monotonic: Callable[[], float] = _monotonic
    sleep: Callable[[float], None] = time.sleep


REAL_CLOCKS: Final = Clocks()
"""Those of this machine."""


# Release slots: fixed, public moments at which releases may appear.
#
# A slot is a moment in microseconds since the epoch (UTC). Releases carry nothing but their slot,
# so that their timing tells nothing of the changes inside.

_SECOND_US: Final = 1_000_000
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION: Final = re.compile(r"([1-9][0-9]{0,8})([smhdw])")
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Slots(Protocol):
    """An endless ascending series of moments."""

    def at_or_after(self, time_us: int) -> int:
        """Return the first slot not before `time_us`."""

    def before(self, time_us: int) -> int:
        """Return the last slot before `time_us`."""

    def distance(self, earlier_us: int, later_us: int) -> int:
        """Return the slots after `earlier_us`, up to `later_us` inclusive.

        Both are slots.
        """


class FixedSlots:
    """Slots a fixed interval apart, counted from the epoch."""

    def __init__(self, interval_us: int) -> None:
        assert interval_us > 0
        self._interval_us = interval_us

    def at_or_after(self, time_us: int) -> int:
        """Return the first slot not before `time_us`."""
        return -(-time_us // self._interval_us) * self._interval_us

    def before(self, time_us: int) -> int:
        """Return the last slot before `time_us`."""
        return (time_us - 1) // self._interval_us * self._interval_us

    def distance(self, earlier_us: int, later_us: int) -> int:
        """Return how many slots lie after `earlier_us`, up to and with `later_us`."""
        return (later_us - earlier_us) // self._interval_us


class MonthlySlots:
    """Slots at the first moment of every calendar month, UTC."""

    def at_or_after(self, time_us: int) -> int:
        """Return the first slot not before `time_us`."""
        month = _month_of(time_us)
        start = _month_start(month)
        return start if start == time_us else _month_start(month + 1)

    def before(self, time_us: int) -> int:
        """Return the last slot before `time_us`."""
        return _month_start(_month_of(time_us - 1))

    def distance(self, earlier_us: int, later_us: int) -> int:
        """Return how many slots lie after `earlier_us`, up to and with `later_us`."""
        return _month_of(later_us) - _month_of(earlier_us)


def parse_slots(every: str) -> Slots:
    """Return the slots that a configuration text names.

    "30s", "15m", "6h", "14d", "2w", "month".

    Raises
    ------
    ValueError
        If the text names none.
    """
    if every == "month":
        return MonthlySlots()
    if match := _DURATION.fullmatch(every):
        return FixedSlots(int(match[1]) * _UNITS_S[match[2]] * _SECOND_US)
    msg = 'must be a number with a unit, such as "30s", "15m", "6h", "1d", "2w", or "month"'
    raise ValueError(msg)


def _month_of(time_us: int) -> int:
    """Return the calendar month of a moment, counted from year 0."""
    moment = _EPOCH + datetime.timedelta(microseconds=time_us)
    return moment.year * 12 + moment.month - 1


def _month_start(month: int) -> int:
    year, index = divmod(month, 12)
    start = datetime.datetime(year, index + 1, 1, tzinfo=datetime.UTC)
    return (start - _EPOCH) // datetime.timedelta(microseconds=1)


def rfc3339(time_us: int) -> str:
    """Return a slot as RFC 3339 text in UTC, fractions if any."""
    moment = _EPOCH + datetime.timedelta(microseconds=time_us)
    return moment.isoformat().replace("+00:00", "Z")
