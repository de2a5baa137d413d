"""The main loop: ingest, checkpoint, cut, release.

One thread owns source and store.

    collect for slot T ──▶ every partition at its cut ──▶ checkpoint with the cut ──▶ resume
          ▲                                                        │
          └────────────────────────────────────────────────────────┴──▶ release built beside it

Pauses may be tuned. A cut is durable in the checkpoint of all that belongs to it, and none is taken
while a release is on its way (tests/stream/service/test_service.py, test_crashes.py).
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from typing import Final

from ktsafe.connectors.base import Source, Unavailable
from ktsafe.state.ledger import PendingCut, ReleaseRecord
from ktsafe.state.store import GraphStore
from ktsafe.stream.ingest.event_times import BEFORE_ALL_US
from ktsafe.stream.ingest.ingest import Ingest
from ktsafe.stream.maintenance import erasure
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.release.cut import Cut, EventTimeCut, PublishedCut, ReleaseCut, resume_slot
from ktsafe.stream.release.known_releases import KnownCut
from ktsafe.stream.release.publish import Publisher
from ktsafe.stream.service.housekeeping import Housekeeping
from ktsafe.stream.service.slot_clock import LoopSettings, SlotClock
from ktsafe.stream.slots import Clocks

log = get_logger(__name__)

RELEASE_LOOK_S: Final = (0.01, 0.1)
"""Shortest and longest pause between looks at the release in flight, while the feed waits for it.

In between it is a hundredth of the time that the release has taken: looks cost a long one little.
"""


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
    _slot_clock: SlotClock = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Go on after the last cut, remade releases first."""
        self._slot_clock = SlotClock(self.source, self.ingest, self.settings, self.clocks)
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
            cut = self._release_cut
            waits = not self._slot_clock.is_held_up(cut)
            taken = self.ingest.round(cut.admits, cut.limit_us, cut.stop_at, waits=waits)
            taken += self._slot_clock.decide(cut)
            if self.ingest.checkpoint_due():
                self.checkpoint()
            # While a release is in flight partitions wait at their cut: backpressure, no loss.
            if self._slot_clock.is_due(cut) and not self.publisher.busy:
                self._take_cut()
            self.housekeeping.advance()
            if self.settings.drain and not taken and self._drained():
                break
            if self.publisher.busy and self._slot_clock.is_held_up(self._release_cut):
                # Not in the source: it would not notice that the release is ready.
                at_least, at_most = RELEASE_LOOK_S
                look_s = self.publisher.in_flight_s / 100
                self.clocks.sleep(min(max(look_s, at_least), at_most))
        self.observer.ready(False)
        if self.settings.drain:
            self._warn_of_rest()
        self.checkpoint()
        # A service that will not go on by itself leaves nothing behind.
        self.housekeeping.erase(now=self.settings.drain)

    def _warn_of_rest(self) -> None:
        """Warn of all that a drained feed leaves unread."""
        if undecided := self.ingest.undecided:
            log.warning(
                "events at the end of the feed lie in the future of this machine's clock: they "
                "are read when others confirm them, or when their time has come",
                count=sum(map(len, undecided.values())),
            )
        self.ingest.warn_if_nothing_applied()
        if n_open := len(self._slot_clock.open()):
            log.warning(
                "the feed ends with transactions that are open: what they hold is not read. Run "
                "again when they have ended",
                partitions=n_open,
            )

    @property
    def is_releasing(self) -> bool:
        """Whether a release is between its cut and the sink."""
        return self.publisher.busy

    @property
    def is_catching_up(self) -> bool:
        """Whether releases that the sink has are still to be made again."""
        return bool(self.publisher.known)

    def checkpoint(self, cut: PendingCut | None = None) -> bool:
        """Make everything read so far durable, and a cut if given.

        It waits for the dead-letter sink if need be. False if told to stop first.
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

    def _ingest_offsets(self) -> dict[str, int]:
        return {f"{topic}/{p}": o for (topic, p), o in self.ingest.offsets.items()}

    def _take_up_cut(self) -> None:
        """Build the release of an earlier cut, once none is underway.

        At a start that may be the last one, if it is gone from the sink.
        """
        pending = self.store.ledger.pending_cut()
        if pending is not None and not self.publisher.busy:
            log.info("building the release of a cut taken before the last stop")
            self._begin(pending)

    def _begin(self, pending: PendingCut) -> None:
        """Start building the release of a cut that is durable."""
        sequence, snapshot = self.store.ledger.sequence(), self.store.cut_snapshot()
        assert sequence is not None
        assert snapshot is not None
        self.publisher.begin(sequence, pending, snapshot)

    def _resumed_cut(self) -> ReleaseCut:
        """Return the watch over slots after the last cut."""
        if self._known:
            return KnownCut(self._known[0], lambda: self.ingest.offsets)
        slots, known = self.settings.slots, self._known_cut()
        last_slot_us = known.slot_us if known else None
        clocks = [position.time_us_max for position in self.store.positions().values()]
        return EventTimeCut(slots, resume_slot(slots, last_slot_us=last_slot_us, clocks=clocks))

    def _take_cut(self) -> None:
        """Take the collected slot's cut, and release all partitions."""
        # A known cut stops partitions that had no record then, too.
        stopped = self.source.partitions() if self._known else list(self._release_cut.arrived)
        if self._known and (erased := self._known[0].erased):
            if not self.checkpoint():
                return  # Stopping; the cut is met again after the next start.
            erasure.erase_again(self.store, erased)
        n_open = len(self._slot_clock.open().difference(stopped))
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
        if self.checkpoint(pending):  # Else stopping; the slot is met again after the next start.
            self._last_cut = offsets
            self._begin(pending)

    def _drained(self) -> bool:
        """Whether the feed ended and its last release reached the sink."""
        if self.publisher.busy or not self._slot_clock.is_drained(self._release_cut):
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
