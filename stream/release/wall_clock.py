"""The wall clock, held against one that nobody can set, and against the feed.

A release carries its slot for ever, and slots ascend. So one release at a slot of tomorrow would
be the last one until tomorrow: a clock that jumps ahead, or is ahead at a start, is not believed
at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

SETTLE_S: Final = 3600.0
"""For how long a clock must keep a time that nothing confirms, before it is believed.

A machine that stood still, or whose clock was set right at last, comes to this where its feed is
silent or old. A feed that goes on at the former time says that the clock is wrong.
"""
LAG_US: Final = 600 * 1_000_000
"""How far the events of a feed may be behind the clock, and still confirm it; and for how long a
service may have been away that believes its clock at once."""


@dataclasses.dataclass(slots=True)
class _Jump:
    """A jump ahead: when, to which time, and how far the feed was then."""

    since_s: float
    offset_us: int
    newest_us: int | None
    is_refuted: bool = False


class WallClock:
    """Tells the time as long as it can be believed.

    Parameters
    ----------
    wall_us:
        The wall clock, microseconds since the epoch.
    monotonic:
        A clock in seconds that never steps.
    known_us:
        What is known of the time from before the start: the last slot, or the newest event. A clock
        that is far ahead of it is not believed at once. None if nothing is.
    feed_us:
        The newest event time read so far.

    Attributes
    ----------
    start_us:
        The time when it began to be watched.
    """

    def __init__(
        self,
        wall_us: Callable[[], int],
        monotonic: Callable[[], float],
        *,
        known_us: int | None = None,
        feed_us: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._wall_us = wall_us
        self._monotonic = monotonic
        self._feed_us = feed_us
        self.start_us = wall_us()
        now_s = monotonic()
        # The greatest one: a clock that went back and comes back again has not jumped.
        self._offset_us_max = self._offset(
            self.start_us if known_us is None else min(known_us + LAG_US, self.start_us), now_s
        )
        self._jump: _Jump | None = None

    def now_us(self, step_us_max: int) -> int | None:
        """Return the time; None while the clock is ahead of what is known by over `step_us_max`.

        Lesser steps, and all steps back, are followed: they delay a release or bring it forward by
        one interval at most. Greater ones are followed where the feed has come to that time too.
        """
        wall_us, now_s = self._wall_us(), self._monotonic()
        offset_us = self._offset(wall_us, now_s)
        step_us = offset_us - self._offset_us_max
        if step_us > step_us_max and not self._is_confirmed(wall_us, step_us_max):
            jump = self._jump
            if jump is None or abs(offset_us - jump.offset_us) > step_us_max:
                self._jump = jump = _Jump(now_s, offset_us, self._feed_us())
                log.error(
                    "the wall clock jumped ahead of the last release and the feed: no release "
                    "until it is set right, events of its time come, or it has kept it for an hour",
                    seconds=step_us / 1e6,
                )
            if self._is_refuted(jump, wall_us, now_s) or now_s - jump.since_s < SETTLE_S:
                return None
        if self._jump is not None:
            self._jump = None
            log.warning("the wall clock is believed again, releases go on")
        self._offset_us_max = max(offset_us, self._offset_us_max)
        return wall_us

    def _is_confirmed(self, wall_us: int, step_us_max: int) -> bool:
        newest_us = self._feed_us()
        return newest_us is not None and newest_us >= wall_us - max(step_us_max, LAG_US)

    def _is_refuted(self, jump: _Jump, wall_us: int, now_s: float) -> bool:
        """Whether the feed has gone on since as the clock did before it jumped."""
        newest_us = self._feed_us()
        if newest_us is not None and not jump.is_refuted:
            expected_us = self._offset_us_max + round(now_s * 1_000_000)
            has_gone_on = jump.newest_us is None or newest_us >= jump.newest_us + LAG_US
            is_as_before = expected_us - 2 * LAG_US <= newest_us < wall_us - LAG_US
            jump.is_refuted = has_gone_on and is_as_before
        return jump.is_refuted

    @staticmethod
    def _offset(wall_us: int, now_s: float) -> int:
        return wall_us - round(now_s * 1_000_000)
