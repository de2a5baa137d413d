"""The main loop: ingest, checkpoint, cut, release; one thread owns source and store.

collect for slot T ──▶ every partition at its cut ──▶ checkpoint with the cut ──▶ resume
      ▲                                                        │
      └────────────────────────────────────────────────────────┴──▶ release built beside it
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

from connectors.base import Source
from connectors.errors import Unavailable
from state.ledger import PendingCut, ReleaseRecord, SequenceRecord
from state.store import GraphStore
from stream.ingest.ingest import Ingest
from stream.observer import Observer
from stream.process.logs import get_logger
from stream.release.cut import Cut, EventTimeCut, ReleaseCut, WallClockCut, resume_slot
from stream.release.publish import Publisher
from stream.release.wall_clock import WallClock
from stream.service.clocks import Clocks
from stream.service.housekeeping import Housekeeping, HousekeepingSettings
from stream.slots import Slots

log = get_logger(__name__)


class Clock(enum.StrEnum):
    """Whose time decides when a slot is due."""

    EVENT = "event"
    WALL = "wall"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings(HousekeepingSettings):
    """When the loop does what.

    Attributes
    ----------
    idle_s:
        A partition that gave nothing for so long no longer holds a slot up.
    drain:
        End after the feed does, with a last release of what remains.
    """

    slots: Slots
    clock: Clock = Clock.EVENT
    idle_s: float = 60.0
    drain: bool = False
    dead_letter_retry_s: float = 5.0


class Loop:
    """Runs the service's rounds.

    Parameters
    ----------
    clocks:
        The wall clock decides slots in wall-clock mode only.
    stopping:
        Asked every round; True ends the loop cleanly.
    """

    def __init__(
        self,
        source: Source,
        store: GraphStore,
        ingest: Ingest,
        publisher: Publisher,
        housekeeping: Housekeeping,
        *,
        settings: LoopSettings,
        observer: Observer,
        clocks: Clocks,
        stopping: Callable[[], bool],
    ) -> None:
        self._source = source
        self._store = store
        self._ingest = ingest
        self._publisher = publisher
        self._housekeeping = housekeeping
        self._settings = settings
        self._observer = observer
        self._clocks = clocks
        self._stopping = stopping
        known = self._known_cut()
        self._last_cut = known.offsets if known else None
        self._release_cut = self._resumed_cut(WallClock(clocks.wall_us, clocks.monotonic))

    def run(self, between_rounds: Callable[[], None] = lambda: None) -> None:
        """Go round until stopped, or with `drain` until the feed has ended and is released.

        Parameters
        ----------
        between_rounds:
            Called every round, where the operator's commands may be done.
        """
        pending, snapshot = self._store.ledger.pending_cut(), self._store.cut_snapshot()
        if pending is not None and snapshot is not None and not self._publisher.busy:
            log.info("building the release of a cut taken before the last stop")
            self._publisher.begin(self._sequence(), pending, snapshot)
        self._observer.ready(True)
        while not self._stopping():
            self._observer.alive()
            self._publisher.advance()
            between_rounds()
            taken = self._ingest.round(self._release_cut.admits)
            if self._ingest.checkpoint_due():
                self.checkpoint()
            self._release_if_due()
            self._housekeeping.advance()
            if self._settings.drain and not taken and self._drained():
                break
        self._observer.ready(False)
        self.checkpoint()
        # A service that will not go on by itself leaves nothing behind.
        self._housekeeping.erase(now=self._settings.drain)

    @property
    def is_releasing(self) -> bool:
        """Whether a release is between its cut and the sink."""
        return self._publisher.busy

    def checkpoint(self) -> bool:
        """Make everything read so far durable; False if told to stop before that was possible."""
        return self._checkpoint(None)

    def release_now(self) -> int | None:
        """Bring the next slot forward: cut it as the feed stands. No release may be in flight.

        It is what the end of a drained feed does: events of this slot that are read later are
        shown in the next one.

        Returns
        -------
        int or None
            The slot; None if nothing was read since the last cut, or no slot is known yet.
        """
        assert not self._publisher.busy
        if self._ingest_offsets() in ({}, self._last_cut):
            return None
        if self._release_cut.slot_us is not None or self._release_cut.arrived:
            self._take_cut()
        pending = self._store.ledger.pending_cut()
        return None if pending is None else pending.slot_us

    def forget_last_cut(self) -> None:
        """Another sequence began: its first release shows what the last one showed, if need be."""
        self._last_cut = None

    def _sequence(self) -> SequenceRecord:
        sequence = self._store.ledger.sequence()
        assert sequence is not None
        return sequence

    def _ingest_offsets(self) -> dict[str, int]:
        return {f"{topic}/{p}": o for (topic, p), o in self._ingest.offsets.items()}

    def _resumed_cut(self, clock: WallClock) -> ReleaseCut:
        """Return what watches the slots, from the one after the last cut on."""
        slots, known = self._settings.slots, self._known_cut()
        last_slot_us = known.slot_us if known else None
        if self._settings.clock is Clock.WALL:
            return WallClockCut(slots, clock, last_slot_us=last_slot_us)
        clocks = [position.time_us_max for position in self._store.positions().values()]
        return EventTimeCut(slots, resume_slot(slots, last_slot_us=last_slot_us, clocks=clocks))

    def _release_if_due(self) -> None:
        if not self._release_cut.due(self._source.partitions(), self._finished()):
            return
        if self._publisher.busy and self._release_cut.arrived:
            return  # The partitions wait at their cut: backpressure, nothing is lost.
        self._take_cut()

    def _finished(self) -> set[tuple[str, int]]:
        """Return the partitions that have nothing more to give, where others wait for them."""
        if not self._release_cut.arrived:
            return set()
        finished = self._ingest.idle(self._settings.idle_s)
        return finished | self._ingest.ended() if self._settings.drain else finished

    def _take_cut(self) -> None:
        """Take the cut of the slot being collected for, and let every partition go on."""
        arrived = list(self._release_cut.arrived)
        cut = self._release_cut.take()
        if cut is not None:
            self._cut(cut)
        for partition in self._source.partitions():
            if partition in arrived:
                self._source.resume(partition)

    def _cut(self, cut: Cut) -> None:
        """Take a release cut here and start building, unless nothing changed or one is in flight.

        The state is consistent with every partition at its cut, because all of them are stopped
        there (event time) or wherever they happen to be is the cut (wall clock).
        """
        if cut.collapsed:
            self._observer.slot_skipped(cut.collapsed)
        offsets = self._ingest_offsets()
        if offsets == self._last_cut:
            return
        if self._publisher.busy:
            self._observer.slot_skipped()
            log.warning("slot skipped: a release is still in flight")
            return
        pending = PendingCut(cut.slot_us, offsets)
        if not self._checkpoint(pending):
            return  # Stopping; the slot is met again after the next start.
        self._last_cut = offsets
        snapshot = self._store.cut_snapshot()
        assert snapshot is not None
        self._publisher.begin(self._sequence(), pending, snapshot)

    def _checkpoint(self, cut: PendingCut | None) -> bool:
        """Checkpoint, waiting for the dead-letter sink if need be; False if told to stop first."""
        while True:
            try:
                self._ingest.checkpoint(cut)
            except Unavailable as error:
                self._observer.retry("dead_letter")
                log.error("dead letters cannot be written, ingest waits", subject=error.subject)
                if self._stopping():
                    return False
                self._observer.alive()
                self._clocks.sleep(self._settings.dead_letter_retry_s)
            else:
                return True

    def _drained(self) -> bool:
        """Whether the feed has ended and its last release has reached the sink."""
        partitions = self._source.partitions()
        if self._release_cut.arrived or self._ingest.ended() != set(partitions):
            return False
        if self._publisher.busy:
            self._clocks.sleep(0.01)
            return False
        if self._ingest_offsets() in ({}, self._last_cut):
            return True
        if self._release_cut.slot_us is None:
            return True  # Nothing but dead letters: there is no event time to release at.
        self._take_cut()
        return False

    def _known_cut(self) -> PendingCut | ReleaseRecord | None:
        """Return what tells of the last cut: itself while it is pending, else its release."""
        ledger = self._store.ledger
        return ledger.pending_cut() or ledger.last()
