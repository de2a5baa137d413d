"""Upkeep of a state: between slots, and a check of every byte.

Intervals may be tuned. `_prune_if_due` may forget only what no accepted event can precede
(tests/stream/service/test_waiting.py), and checks must refuse what `run` refuses
(test_config_state.py).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ktsafe import Schema
from ktsafe.connectors.base import WITHDRAWN, Misconfigured, ReleaseBundle, SinkConflict, Source
from ktsafe.connectors.bundles import digest_regular
from ktsafe.state.database import RESTORE
from ktsafe.state.inspection import Examined, examine
from ktsafe.state.ledger import ReleaseRecord
from ktsafe.state.recovery import of_another_schema, schema_digest
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateCorrupted, StateUnusable
from ktsafe.stream.files.certificates import VALUES
from ktsafe.stream.files.private_audits import check_history, check_recorded, noted
from ktsafe.stream.files.releases_write import AUDIT, MAPPING
from ktsafe.stream.maintenance.backup import Parts, unconfirmed
from ktsafe.stream.maintenance.erasure import Eraser
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.release.known_releases import (
    OpenReader,
    compare,
    gone,
    read_known,
    unjudgeable,
)
from ktsafe.stream.release.sequence_inputs import check_inputs, is_saved

if TYPE_CHECKING:
    from ktsafe.stream.config.settings import Settings


# What the loop does beside slots.
#
# It measures, erases the deleted, and forgets tombstones.

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


# Check that a state or backup is as it was written.
#
# Every byte that a service would read is read.
#
# A backup is made of a state that passes, so rot is not carried into it. What this finds sound a
# service starts with; what a service refuses, this names.

_SENT_AGAIN = "It would be sent again if the sink lost the release. Remove its folder."


def check_parts(parts: Parts, schema: Schema) -> Examined:
    """Check store, staged bytes and private audits of an unchanging state.

    Raises
    ------
    StateCorrupted
        If a byte is not as it was written.
    StateUnusable, StateMismatch
    """
    found = examine(parts.store, schema)
    _check_staged(found.releases, parts.staging)
    current = found.releases[-1].sequence_id if found.releases else None
    for release in found.releases:
        # Releases that are judged together need all their mappings; others may have been removed.
        is_needed = release.has_audit and bool(found.pages) and release.sequence_id == current
        folder = parts.audits / release.release_id
        noted(folder)
        if is_needed or folder.exists():
            check_recorded(release, parts.audits)
        if is_needed and AUDIT not in release.audit:
            check_history([release], parts.audits)  # An older version recorded no sha256.
    return found


def check_configured(found: Examined, parts: Parts, settings: Settings) -> None:
    """Compare a state's and sequence's beginnings with the configuration.

    A start of the service compares the same.

    Raises
    ------
    StateMismatch
    """
    if found.schema_digest != schema_digest(settings.schema):
        raise of_another_schema(parts.store)
    if found.sequence is not None:
        check_inputs(found.sequence, settings.params, settings.schema, settings.sequence)


def check_sink(open_reader: OpenReader, found: Examined, parts: Parts) -> list[str]:
    """Compare every byte at the sink with the ledger.

    Return the releases that are gone from it.

    A sink that is ahead of a restored state is no error: a service makes its releases again.

    Raises
    ------
    SinkConflict
        If a release was changed, or one is gone that no other can be judged without, because no
        auditor was saved.
    Unavailable, Misconfigured
        If the sink cannot be read.
    """
    last = found.releases[-1] if found.releases else None
    look = functools.partial(_check_marker, audits=parts.audits)
    try:
        present, known = read_known(open_reader, found.sequence, last, look)
    except Misconfigured:
        if found.releases:
            raise
        return []  # Nothing was published yet, and perhaps there is no folder.
    compare(found.releases, present, known)
    missing = gone(found.releases, present)
    is_needed = found.pages and not is_saved(found.pages)
    if last and last.release_id in missing and is_needed and not _is_sendable(last, found, parts):
        raise unjudgeable(last.release_id)
    return missing


def _check_staged(releases: list[ReleaseRecord], staging: Path) -> None:
    """Check staged bytes.

    Those that no sink has confirmed must be there, others may be.
    """
    fixed = unconfirmed(releases)
    for release in releases:
        folder = staging / release.release_id
        for name, expected in release.files.items() if release in fixed or folder.exists() else ():
            path = folder / name
            if not path.is_file() or digest_regular(path) != expected:
                hint = RESTORE if release in fixed else _SENT_AGAIN
                raise StateCorrupted("check staged bytes", str(path), hint)


def _check_marker(bundle: ReleaseBundle, audits: Path) -> None:
    """Compare a withdrawn release's marker with its note."""
    marker, path = noted(audits / bundle.release_id), bundle.folder / WITHDRAWN
    if marker is not None and not (path.is_file() and path.read_bytes() == marker):
        hint = "it was withdrawn, and its marker does not say so as noted. Withdraw it again."
        raise SinkConflict("check release", f"release {bundle.release_id}", hint)


def _is_sendable(last: ReleaseRecord, found: Examined, parts: Parts) -> bool:
    """Whether a service sends a last release again after its loss."""
    is_current = found.sequence is not None and last.sequence_id == found.sequence.sequence_id
    is_withdrawn = noted(parts.audits / last.release_id) is not None
    return is_current and not is_withdrawn and (parts.staging / last.release_id).exists()
