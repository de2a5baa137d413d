"""The wall clock, held against one that nobody can set.

A release carries its slot for ever, and slots ascend. So one release at a slot of tomorrow would
be the last one until tomorrow: a clock that jumps ahead is not believed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

SETTLE_S: Final = 3600.0
"""For how long a clock must keep a time that it jumped to, before it is believed.

A machine that stood still, or whose clock was set right at last, comes to this as well.
"""


class WallClock:
    """Tells the time as long as it can be believed.

    Parameters
    ----------
    wall_us:
        The wall clock, microseconds since the epoch.
    monotonic:
        A clock in seconds that never steps.

    Attributes
    ----------
    start_us:
        The time when it began to be watched.
    """

    def __init__(self, wall_us: Callable[[], int], monotonic: Callable[[], float]) -> None:
        self._wall_us = wall_us
        self._monotonic = monotonic
        self.start_us = wall_us()
        self._offset_us = self._offset(self.start_us, monotonic())
        self._jumped_s: float | None = None

    def now_us(self, step_us_max: int) -> int | None:
        """Return the time; None while the clock is ahead of itself by more than `step_us_max`.

        Lesser steps, and all steps back, are followed: they delay a release or bring it forward by
        one interval at most.
        """
        wall_us, now_s = self._wall_us(), self._monotonic()
        offset_us = self._offset(wall_us, now_s)
        step_us = offset_us - self._offset_us
        if step_us > step_us_max:
            if self._jumped_s is None:
                self._jumped_s = now_s
                log.error(
                    "the wall clock jumped ahead: no release until it is set right, or has kept "
                    "its new time for an hour",
                    seconds=step_us / 1e6,
                )
            if now_s - self._jumped_s < SETTLE_S:
                return None
        if self._jumped_s is not None:
            self._jumped_s = None
            log.warning("the wall clock is believed again, releases go on")
        self._offset_us = offset_us
        return wall_us

    @staticmethod
    def _offset(wall_us: int, now_s: float) -> int:
        return wall_us - round(now_s * 1_000_000)
