"""Clock of slots: partitions waited for, and lone events believed.

Times may be tuned within what brokers do (the reasons stand beside them); tests/faults/dates.py
runs wrong clocks and dates against the bounds. It decides when, never what: limits of a slot are
those of `ReleaseCut`.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Final

from ktsafe.connectors.base import Source, TopicPartition
from ktsafe.state.registers import Origin
from ktsafe.stream.ingest.ingest import Ingest
from ktsafe.stream.release.cut import ReleaseCut
from ktsafe.stream.service.housekeeping import HousekeepingSettings
from ktsafe.stream.slots import CLOCK_US_MIN, Clocks, Slots

OPEN_TRANSACTION_S: Final = 900.0
"""How long a slot waits for events of a transaction that is open: brokers end one after 15 minutes
at most, unless `transaction.max.timeout.ms` says otherwise. One that is open for longer hangs."""
PRODUCERS_AHEAD_US: Final = 300 * 1_000_000
"""How far the clock of a producer may be ahead of this machine's."""
LAG_US: Final = 600 * 1_000_000
"""How far the events of a feed may be behind this machine's clock, and still be of now."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings(HousekeepingSettings):
    """When the loop does what.

    Attributes
    ----------
    idle_s:
        A partition that gave nothing for so long no longer holds a slot up.
    drain:
        End after the feed does, with a last release of what remains.
    gives_whole_moments:
        Whether the source, at its end, can give nothing more of its last event's time or before.
    """

    slots: Slots
    idle_s: float = 60.0
    drain: bool = False
    gives_whole_moments: bool = False
    dead_letter_retry_s: float = 5.0


@dataclasses.dataclass(slots=True, eq=False, repr=False)
class SlotClock:
    """Decides whether event time may go on.

    It goes by what the feed gave, and by this machine's clock. Every question is asked for the cut
    that is being collected for.
    """

    source: Source
    ingest: Ingest
    settings: LoopSettings
    clocks: Clocks
    _arrived_s: float | None = dataclasses.field(init=False, default=None)
    _opened: dict[Origin, tuple[int, float]] = dataclasses.field(init=False, default_factory=dict)

    def is_due(self, cut: ReleaseCut) -> bool:
        """Whether all of the slot was read, or waited for long enough."""
        return self._is_whole(cut) or cut.due(self.source.partitions(), self._finished(cut))

    def is_held_up(self, cut: ReleaseCut) -> bool:
        """Whether no partition gives anything before the next release is made."""
        held = set(cut.arrived)
        if self.settings.drain:
            held |= self.ingest.ended()
        partitions = set(self.source.partitions())
        return bool(partitions) and held >= partitions

    def is_drained(self, cut: ReleaseCut) -> bool:
        """Whether the feed ended, and no partition waits at the cut."""
        return not cut.arrived and self.ingest.ended() == set(self.source.partitions())

    def open(self) -> set[Origin]:
        """Return the partitions that end with a transaction which is open."""
        return {p for p in self.source.partitions() if self.source.has_open_transaction(p)}

    def decide(self, cut: ReleaseCut) -> int:
        """Decide on events that nothing follows; return how many were taken in.

        They wait where other events neither confirm nor refute their times.
        """
        if not self.ingest.undecided:
            return 0
        is_next, is_plausible = partial(self._is_next, cut), partial(self._is_plausible, cut)
        read = self.ingest.ended()
        resting = read if self.settings.drain else self.ingest.idle(self.settings.idle_s)
        return sum(
            self.ingest.decide(partitions, cut.admits, cut.limit_us, plausible, cut.stop_at)
            for partitions, plausible in ((read, is_next), (resting, is_plausible))
        )

    def _is_whole(self, cut: ReleaseCut) -> bool:
        """Whether all of the slot was read, without followers."""
        return (
            self.settings.gives_whole_moments
            and cut.stop_at is None
            and not (cut.arrived or self.ingest.undecided)
            and self.ingest.newest_us() == cut.slot_us is not None
            and self.is_drained(cut)
        )

    def _finished(self, cut: ReleaseCut) -> set[Origin]:
        """Return exhausted partitions where others wait for them.

        One that is read to its end and gives events of times gone by is not idle, and holds the
        others up for no longer than an idle one: what it gives later is shown in the next release.
        One whose end is an open transaction is waited for, up to a bound.
        """
        if not cut.arrived:
            self._arrived_s = None
            return set()
        now_s = self.clocks.monotonic()
        if self._arrived_s is None:
            self._arrived_s = now_s
        if self.settings.drain:
            return self.ingest.ended()
        waited_s = now_s - self._arrived_s
        is_long = waited_s >= self.settings.idle_s
        finished = self.ingest.ended() if is_long else self.ingest.idle(self.settings.idle_s)
        awaited = self._awaited(now_s)
        return finished - awaited if waited_s < OPEN_TRANSACTION_S else finished

    def _awaited(self, now_s: float) -> set[Origin]:
        """Return partitions that end with a transaction worth waiting for.

        One that held a slot up for long enough does not hold the next ones up.
        """
        before, self._opened = self._opened, {}
        for partition in self.open():
            # Where it stands tells it from one that began after it had ended.
            offset = self.source.passed(TopicPartition(*partition))
            known_offset, since_s = before.get(partition, (offset, now_s))
            self._opened[partition] = offset, since_s if known_offset == offset else now_s
        return {p for p, (_, at_s) in self._opened.items() if now_s - at_s < OPEN_TRANSACTION_S}

    def _is_next(self, cut: ReleaseCut, time_us: int, _is_outvoted: bool) -> bool | None:
        """Whether an event without followers may begin its next slot.

        It is not in the future of the machine's clock, and of no later slot: so a wrong date moves
        time by one slot at most, which has begun.
        """
        next_us = self._next_us(cut)
        is_later = next_us is not None and time_us > next_us
        return None if is_later or not self._is_past(time_us) else True

    def _is_plausible(self, cut: ReleaseCut, time_us: int, is_outvoted: bool) -> bool:
        """Whether an event without followers for long may be right.

        The machine's clock says that it is not in the future. At the end of a drained feed that is
        all there is to go by. Else it must be of now, an interval ago at most, or of the next slot:
        any other one is confirmed by what follows.
        """
        slot_us, next_us, now_us = cut.slot_us, self._next_us(cut), self._now_us()
        newest_us, is_past = self.ingest.newest_us(), self._is_past(time_us)
        if now_us is None or slot_us is None or next_us is None:
            return is_past and not is_outvoted
        if newest_us is not None and newest_us > now_us + PRODUCERS_AHEAD_US:
            return time_us <= next_us  # The clock is behind the feed: it says nothing.
        age_us = next_us - slot_us + LAG_US + round(self.settings.idle_s * 1e6)
        is_end = self.settings.drain and not is_outvoted
        return is_past and (is_end or time_us <= next_us or time_us >= now_us - age_us)

    def _is_past(self, time_us: int) -> bool:
        """Whether the machine's clock allows a time: it is past."""
        now_us = self._now_us()
        return now_us is None or time_us <= now_us + PRODUCERS_AHEAD_US

    def _next_us(self, cut: ReleaseCut) -> int | None:
        """Return the slot after the one being collected for."""
        return None if cut.slot_us is None else self.settings.slots.at_or_after(cut.slot_us + 1)

    def _now_us(self) -> int | None:
        """Return what the machine's clock says; None if it says nothing."""
        now_us = self.clocks.wall_us()
        return now_us if now_us >= CLOCK_US_MIN else None
