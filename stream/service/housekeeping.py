"""What the loop does beside slots.

It measures, erases the deleted, and forgets tombstones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ktsafe.connectors.base import Source
from ktsafe.state.ledger import ReleaseRecord
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateUnusable
from ktsafe.stream.files.certificates import VALUES
from ktsafe.stream.files.releases_write import AUDIT, MAPPING
from ktsafe.stream.maintenance.erasure import Eraser
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingSettings:
    """Times at which work is due.

    Attributes
    ----------
    lateness_max_s:
        How far an accepted event may lie behind the newest one of its partition.
    report_interval_s:
        Pause between measurements of lag and sizes.
    prune_interval_s:
        How far event time moves between clean-ups of tombstones that no accepted event can
        precede. Event time, because they come as fast as it moves: a replay prunes as often per
        event as a live feed does.
    erase_within_s:
        Greatest time from a deletion to the erasure of its last bytes on disk.
    audits_kept:
        How many private audits of the last releases are kept; 0: all.
    """

    lateness_max_s: int = 604_800
    report_interval_s: float = 2.0
    prune_interval_s: float = 300.0
    erase_within_s: float = 3600.0
    audits_kept: int = 0


@dataclasses.dataclass(slots=True, eq=False, repr=False)
class Housekeeping:
    """Keeps a running service's state small and clean, and measures it."""

    source: Source
    store: GraphStore
    eraser: Eraser
    audit_dir: Path
    settings: HousekeepingSettings
    observer: Observer
    monotonic: Callable[[], float]
    _report_at_s: float = 0.0
    _prune_at_us: int | None = None
    _last_release: str | None = None

    def advance(self) -> None:
        """Do all due work, every round."""
        now = self.monotonic()
        if now >= self._report_at_s:
            self._report_at_s = now + self.settings.report_interval_s
            self._report()
            self._prune_if_due()
        self.erase()

    def erase(self, *, now: bool = False) -> None:
        """Erase everything due; on a disk error, try again a second later.

        Raises
        ------
        ktsafe.state.store_base.StateUnusable
            If it refuses and there is no later, with `now`: the next start erases.
        """
        try:
            self._let_audits_go()
            self.eraser.advance(now=now)
        except OSError as error:
            self.observer.retry("erase")
            log.error("erasure cannot be written, trying again", error=type(error).__name__)
            if now:
                hint = "Make room for past mappings, then start again: what is due is erased then."
                raise StateUnusable("erase", "the private folder", hint) from None

    def _let_audits_go(self) -> None:
        """Remove private audits that are not kept, after each release.

        Only after those of this run.

        Not before: nobody knows yet whether this version reads what another saved of the auditor.
        """
        keep, ledger = self.settings.audits_kept, self.store.ledger
        if not keep:
            return
        last = ledger.last()
        name = last.release_id if last else ""
        if self._last_release is None:
            self._last_release = name
        if name == self._last_release or ledger.pending_cut() is not None:
            return
        self._last_release = name
        # The ledger first, so what is gone was let go. A running backup begins again.
        if ledger.let_audits_go(keep):
            self.store.thaw()
        _remove_audits(ledger.releases(), self.audit_dir)

    def _report(self) -> None:
        self.observer.lag({(p.topic, p.partition): n for p, n in self.source.lag().items()})
        self.observer.state(self.store.counts(), self.store.size_bytes())
        self.observer.erasures(self.store.erasures_pending(), self.eraser.overdue_s())

    def _prune_if_due(self) -> None:
        """Forget tombstones older than min_p M_p less the lateness bound."""
        stored, partitions = self.store.positions(), self.source.partitions()
        clocks = [stored[p].time_us_max for p in partitions if p in stored]
        known = [clock for clock in clocks if clock is not None]
        if not known or len(known) < len(partitions):
            return
        oldest_us = min(known)
        if self._prune_at_us is None or oldest_us >= self._prune_at_us:
            self._prune_at_us = oldest_us + round(self.settings.prune_interval_s * 1_000_000)
            self.store.prune(oldest_us - self.settings.lateness_max_s * 1_000_000)


def _remove_audits(releases: Iterable[ReleaseRecord], audit_dir: Path) -> None:
    """Remove audits that the ledger let go; notes of withdrawals stay."""
    for release in releases:
        folder = audit_dir / release.release_id
        if release.has_audit or not folder.is_dir():
            continue
        for name in (AUDIT, VALUES, MAPPING):
            (folder / name).unlink(missing_ok=True)
        # Other files, and what a command is writing, keep the folder.
        with suppress(OSError):
            folder.rmdir()
