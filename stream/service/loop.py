"""The main loop: ingest, checkpoint, cut, release.

One thread owns source and store.

collect for slot T ──▶ every partition at its cut ──▶ checkpoint with the cut ──▶ resume
      ▲                                                        │
      └────────────────────────────────────────────────────────┴──▶ release built beside it
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from ktsafe.connectors.base import Source, TopicPartition, Unavailable
from ktsafe.state.ledger import Erased, PendingCut, ReleaseRecord, SequenceRecord
from ktsafe.state.store import GraphStore
from ktsafe.stream.ingest.event_times import BEFORE_ALL_US
from ktsafe.stream.ingest.ingest import Ingest
from ktsafe.stream.maintenance import erasure
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.release.cut import Cut, EventTimeCut, PublishedCut, ReleaseCut, resume_slot
from ktsafe.stream.release.known_releases import KnownCut
from ktsafe.stream.release.publish import Publisher
from ktsafe.stream.service.housekeeping import Housekeeping, HousekeepingSettings
from ktsafe.stream.slots import CLOCK_US_MIN, Clocks, Slots

log = get_logger(__name__)

OPEN_TRANSACTION_S: Final = 900.0
"""How long a slot waits for events of a transaction that is open: brokers end one after 15 minutes
at most, unless `transaction.max.timeout.ms` says otherwise. One that is open for longer hangs."""
PRODUCERS_AHEAD_US: Final = 300 * 1_000_000
"""How far the clock of a producer may be ahead of this machine's."""
LAG_US: Final = 600 * 1_000_000
"""How far the events of a feed may be behind this machine's clock, and still be of now."""
RELEASE_LOOK_S: Final = (0.01, 0.1)
"""Shortest and longest pause between looks at the release in flight, while the feed waits for it.

In between it is a hundredth of the time that the release has taken: looks cost a long one little.
"""


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
class Loop:
    """Runs the service's rounds.

    Attributes
    ----------
    clocks:
        This machine's time decides what events that nothing follows may be believed.
    stopping:
        Asked every round; True ends the loop cleanly.
    """

    source: Source
    store: GraphStore
    ingest: Ingest
    publisher: Publisher
    housekeeping: Housekeeping
    settings: LoopSettings
    observer: Observer
    clocks: Clocks
    stopping: Callable[[], bool]
    _known: deque[PublishedCut] = dataclasses.field(init=False)
    _last_cut: dict[str, int] | None = dataclasses.field(init=False)
    _release_cut: ReleaseCut = dataclasses.field(init=False)
    _arrived_s: float | None = dataclasses.field(init=False, default=None)
    _opened: dict[tuple[str, int], tuple[int, float]] = dataclasses.field(
        init=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        """Go on after the last cut, remade releases first."""
        known = self._known_cut()
        self._last_cut = known.offsets if known else None
        last_us = known.slot_us if known else BEFORE_ALL_US
        cuts = (release.cut for release in self.publisher.known)
        self._known = deque(cut for cut in cuts if cut.slot_us > last_us)
        self._release_cut = self._resumed_cut()

    def run(self, between_rounds: Callable[[], None] = lambda: None) -> None:
        """Go round until stopped, or drained with `drain`.

        Parameters
        ----------
        between_rounds:
            Called every round, where the operator's commands may be done.
        """
        self.observer.ready(True)
        while not self.stopping():
            self.observer.alive()
            self.publisher.advance()
            self._take_up_cut()
            between_rounds()
            cut, waits = self._release_cut, not self._is_held_up()
            taken = self.ingest.round(cut.admits, cut.limit_us, cut.stop_at, waits=waits)
            taken += self._decide()
            if self.ingest.checkpoint_due():
                self.checkpoint()
            self._release_if_due()
            self.housekeeping.advance()
            if self.settings.drain and not taken and self._drained():
                break
            if self.publisher.busy and self._is_held_up():
                # Not in the source: it would not notice that the release is ready.
                at_least, at_most = RELEASE_LOOK_S
                look_s = self.publisher.in_flight_s / 100
                self.clocks.sleep(min(max(look_s, at_least), at_most))
        self.observer.ready(False)
        if self.settings.drain and (undecided := self.ingest.undecided):
            log.warning(
                "events at the end of the feed lie in the future of this machine's clock: they "
                "are read when others confirm them, or when their time has come",
                count=sum(map(len, undecided.values())),
            )
        if self.settings.drain:
            self.ingest.warn_if_nothing_applied()
            if n_open := len(self._open()):
                log.warning(
                    "the feed ends with transactions that are open: what they hold is not read. "
                    "Run again when they have ended",
                    partitions=n_open,
                )
        self.checkpoint()
        # A service that will not go on by itself leaves nothing behind.
        self.housekeeping.erase(now=self.settings.drain)

    @property
    def is_releasing(self) -> bool:
        """Whether a release is between its cut and the sink."""
        return self.publisher.busy

    @property
    def is_catching_up(self) -> bool:
        """Whether releases that the sink has are still to be made again."""
        return bool(self.publisher.known)

    def checkpoint(self) -> bool:
        """Make everything read so far durable.

        False if told to stop before that was possible.
        """
        return self._checkpoint(None)

    def release_now(self) -> int | None:
        """Bring the next slot forward.

        Cut it as the feed stands. No release may be in flight.

        It is what the end of a drained feed does: events of this slot that are read later are
        shown in the next one.

        Returns
        -------
        int or None
            The slot; None if nothing was read since the last cut, or no slot is known yet.
        """
        assert not self.publisher.busy
        if self._ingest_offsets() in ({}, self._last_cut):
            return None
        if self._release_cut.slot_us is not None or self._release_cut.arrived:
            self._take_cut()
        pending = self.store.ledger.pending_cut()
        return None if pending is None else pending.slot_us

    def forget_last_cut(self) -> None:
        """Another sequence began.

        Its first release shows what the last one showed, if need be.
        """
        self._last_cut = None

    def _sequence(self) -> SequenceRecord:
        sequence = self.store.ledger.sequence()
        assert sequence is not None
        return sequence

    def _ingest_offsets(self) -> dict[str, int]:
        return {f"{topic}/{p}": o for (topic, p), o in self.ingest.offsets.items()}

    def _take_up_cut(self) -> None:
        """Build the release of an earlier cut, once none is underway.

        At a start that may be the last one, if it is gone from the sink.
        """
        pending = self.store.ledger.pending_cut()
        if pending is None or self.publisher.busy:
            return
        log.info("building the release of a cut taken before the last stop")
        snapshot = self.store.cut_snapshot()
        assert snapshot is not None
        self.publisher.begin(self._sequence(), pending, snapshot)

    def _resumed_cut(self) -> ReleaseCut:
        """Return the watch over slots after the last cut."""
        if self._known:
            return KnownCut(self._known[0], lambda: self.ingest.offsets)
        slots, known = self.settings.slots, self._known_cut()
        last_slot_us = known.slot_us if known else None
        clocks = [position.time_us_max for position in self.store.positions().values()]
        return EventTimeCut(slots, resume_slot(slots, last_slot_us=last_slot_us, clocks=clocks))

    def _release_if_due(self) -> None:
        is_due = self._is_whole() or self._release_cut.due(
            self.source.partitions(), self._finished()
        )
        # While a release is in flight partitions wait at their cut: backpressure, nothing is lost.
        if is_due and not self.publisher.busy:
            self._take_cut()

    def _is_whole(self) -> bool:
        """Whether all of the collected slot was read, without followers."""
        return (
            self.settings.gives_whole_moments
            and not (self._known or self._release_cut.arrived or self.ingest.undecided)
            and self.ingest.newest_us() == self._release_cut.slot_us is not None
            and self.ingest.ended() == set(self.source.partitions())
        )

    def _is_held_up(self) -> bool:
        """Whether no partition gives anything before the next release is made."""
        held = set(self._release_cut.arrived)
        if self.settings.drain:
            held |= self.ingest.ended()
        partitions = set(self.source.partitions())
        return bool(partitions) and held >= partitions

    def _finished(self) -> set[tuple[str, int]]:
        """Return exhausted partitions where others wait for them.

        One that is read to its end and gives events of times gone by is not idle, and holds the
        others up for no longer than an idle one: what it gives later is shown in the next release.
        One whose end is an open transaction is waited for, up to a bound.
        """
        if not self._release_cut.arrived:
            self._arrived_s = None
            return set()
        now = self.clocks.monotonic()
        if self._arrived_s is None:
            self._arrived_s = now
        if self.settings.drain:
            return self.ingest.ended()
        waited_s = now - self._arrived_s
        is_long = waited_s >= self.settings.idle_s
        finished = self.ingest.ended() if is_long else self.ingest.idle(self.settings.idle_s)
        awaited = self._awaited(now)
        return finished - awaited if waited_s < OPEN_TRANSACTION_S else finished

    def _awaited(self, now_s: float) -> set[tuple[str, int]]:
        """Return partitions that end with a transaction worth waiting for.

        One that held a slot up for long enough does not hold the next ones up.
        """
        before, self._opened = self._opened, {}
        for partition in self._open():
            # Where it stands tells it from one that began after it had ended.
            offset = self.source.passed(TopicPartition(*partition))
            known_offset, since_s = before.get(partition, (offset, now_s))
            since_s = since_s if known_offset == offset else now_s
            self._opened[partition] = offset, since_s
        return {p for p, (_, at_s) in self._opened.items() if now_s - at_s < OPEN_TRANSACTION_S}

    def _open(self) -> set[tuple[str, int]]:
        """Return the partitions that end with a transaction which is open."""
        return {p for p in self.source.partitions() if self.source.has_open_transaction(p)}

    def _decide(self) -> int:
        """Decide on events without followers, with times nothing confirms or refutes."""
        if not self.ingest.undecided:
            return 0
        cut, read = self._release_cut, self.ingest.ended()
        resting = read if self.settings.drain else self.ingest.idle(self.settings.idle_s)
        return sum(
            self.ingest.decide(partitions, cut.admits, cut.limit_us, plausible, cut.stop_at)
            for partitions, plausible in ((read, self._is_next), (resting, self._is_plausible))
        )

    def _is_next(self, time_us: int, _is_outvoted: bool) -> bool | None:
        """Whether an event without followers may begin its next slot.

        It is not in the future of the machine's clock, and of no later slot: so a wrong date moves
        time by one slot at most, which has begun.
        """
        slot_us, now_us = self._release_cut.slot_us, self._now_us()
        if slot_us is not None and time_us > self.settings.slots.at_or_after(slot_us + 1):
            return None
        is_past = now_us is None or time_us <= now_us + PRODUCERS_AHEAD_US
        return True if is_past else None

    def _is_plausible(self, time_us: int, is_outvoted: bool) -> bool:
        """Whether an event without followers for long may be right.

        The machine's clock says that it is not in the future. At the end of a drained feed that is
        all there is to go by. Else it must be of now, an interval ago at most, or of the next slot:
        any other one is confirmed by what follows.
        """
        slot_us, now_us = self._release_cut.slot_us, self._now_us()
        newest_us = self.ingest.newest_us()
        if now_us is None or slot_us is None:
            is_past = now_us is None or time_us <= now_us + PRODUCERS_AHEAD_US
            return is_past and not is_outvoted
        next_us = self.settings.slots.at_or_after(slot_us + 1)
        if newest_us is not None and newest_us > now_us + PRODUCERS_AHEAD_US:
            return time_us <= next_us  # The clock is behind the feed: it says nothing.
        if time_us > now_us + PRODUCERS_AHEAD_US:
            return False
        age_us = next_us - slot_us + LAG_US + round(self.settings.idle_s * 1e6)
        is_end = self.settings.drain and not is_outvoted
        return is_end or time_us <= next_us or time_us >= now_us - age_us

    def _now_us(self) -> int | None:
        """Return what the machine's clock says; None if it says nothing."""
        now_us = self.clocks.wall_us()
        return now_us if now_us >= CLOCK_US_MIN else None

    def _take_cut(self) -> None:
        """Take the collected slot's cut, and release all partitions."""
        # A known cut stops partitions that had no record then, too.
        stopped = self.source.partitions() if self._known else list(self._release_cut.arrived)
        if self._known and not self._erase_again(self._known[0].erased):
            return  # Stopping; the cut is met again after the next start.
        n_open = len(self._open().difference(stopped))
        cut = self._release_cut.take()
        if cut is not None:
            self._cut(cut)
            self.observer.open_transactions(n_open)
            if n_open and not self.settings.drain:
                log.warning(
                    "a slot is released without what open transactions hold: they have been open "
                    "for too long",
                    partitions=n_open,
                )
        if self._known:
            self._known.popleft()
            self._release_cut = self._resumed_cut()
        for partition in self.source.partitions():
            if partition in stopped:
                self.source.resume(partition)

    def _erase_again(self, erased: Sequence[Erased]) -> bool:
        """Repeat erasures by command before a release; False if told to stop."""
        if erased:
            if not self._checkpoint(None):
                return False
            erasure.erase_again(self.store, erased)
        return True

    def _cut(self, cut: Cut) -> None:
        """Take a release cut here and start building, unless nothing changed.

        The state is consistent with every partition at its cut, because all of them are stopped
        there. No release is in flight.
        """
        if cut.collapsed:
            self.observer.slot_skipped(cut.collapsed)
        offsets = self._ingest_offsets()
        if offsets == self._last_cut:
            return
        assert not self.publisher.busy
        pending = PendingCut(cut.slot_us, offsets)
        if not self._checkpoint(pending):
            return  # Stopping; the slot is met again after the next start.
        self._last_cut = offsets
        snapshot = self.store.cut_snapshot()
        assert snapshot is not None
        self.publisher.begin(self._sequence(), pending, snapshot)

    def _checkpoint(self, cut: PendingCut | None) -> bool:
        """Checkpoint, waiting for the dead-letter sink if need be.

        False if told to stop first.
        """
        while True:
            try:
                self.ingest.checkpoint(cut)
            except Unavailable as error:
                self.observer.retry("dead_letter")
                log.error("dead letters cannot be written, ingest waits", subject=error.subject)
                if self.stopping():
                    return False
                self.observer.alive()
                self.clocks.sleep(self.settings.dead_letter_retry_s)
            else:
                return True

    def _drained(self) -> bool:
        """Whether the feed ended and its last release reached the sink."""
        partitions = self.source.partitions()
        if self._release_cut.arrived or self.ingest.ended() != set(partitions):
            return False
        if self.publisher.busy:
            return False
        if self._ingest_offsets() in ({}, self._last_cut):
            return True
        if self._release_cut.slot_us is None:
            return True  # Nothing but dead letters: there is no event time to release at.
        self._take_cut()
        return False

    def _known_cut(self) -> PendingCut | ReleaseRecord | None:
        """Return what tells of the last cut.

        Itself while it is pending, else its release.
        """
        ledger = self.store.ledger
        return ledger.pending_cut() or ledger.last()
