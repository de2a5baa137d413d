"""The clocks of a service, injected for tests in simulated time."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Final

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
