"""Keep what `ktsafe status` shows.

That is the counts of this run, of the last hour, and the last releases: an observer like the
metrics, but with a memory. Reports are taken by other threads than those that tell.

Intervals may be tuned; all memory stays bounded (tests/stream/monitoring/test_board.py). A field of
the report is one of `diagnosis.Report`, shown by `commands/running.py`; secrets leave with
`_without`.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from importlib.metadata import version
from typing import Final

import msgspec

from ktsafe.params import PrivacyParams
from ktsafe.stream.files.release_figures import HISTORY_MAX, ReleaseFigures
from ktsafe.stream.files.releases_write import TOGETHER
from ktsafe.stream.monitoring.diagnosis import (
    FeedReport,
    Latest,
    Moment,
    PartsReport,
    Report,
    Sample,
    TrueGraphReport,
    diagnose,
)
from ktsafe.stream.monitoring.summary import Counts
from ktsafe.stream.observer import Observer

SAMPLE_INTERVAL_S: Final = 10.0
TREND_S: Final = 3600.0
RATE_S: Final = 60.0
"""The throughput shown is the mean over so long."""


class StatusBoard(Observer):
    """Remembers what it is told, and reports it.

    Parameters
    ----------
    counts:
        The totals of this run, which a `Summary` that is told before this one keeps.
    wall_s, monotonic_s:
        Clocks in seconds: one to show moments, one to measure.
    """

    def __init__(
        self,
        params: PrivacyParams,
        counts: Counts,
        *,
        wall_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._params = params
        self._counts = counts
        self._wall_s = wall_s
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._started_wall_s = wall_s()
        now_s = monotonic_s()
        self._latest = Latest(started_s=now_s, alive_s=now_s, published_s=now_s)
        self._trend: deque[Moment] = deque(maxlen=int(TREND_S / SAMPLE_INTERVAL_S))
        self._releases: deque[ReleaseFigures] = deque(maxlen=HISTORY_MAX)
        self._retries: Counter[str] = Counter()

    def report(self, *, secrets: bool) -> Report:
        """Return the state of the service now.

        With `secrets` true sizes and costs are in it.
        """
        with self._lock:
            return self._report(secrets=secrets)

    # Notices

    def lag(self, records: Mapping[tuple[str, int], int | None]) -> None:
        """Take a sample of the feed, if the last is old."""
        with self._lock:
            now = self._moment()
            if not self._trend or now.at_s - self._trend[-1].at_s >= SAMPLE_INTERVAL_S:
                self._trend.append(now)

    def other_tables(self, names: Collection[str]) -> None:
        """Keep the names of tables that the configuration does not name."""
        self._latest.other_tables = tuple(names)

    def open_transactions(self, partitions: int) -> None:
        """Keep how many partitions the last slot left out a transaction of."""
        self._latest.open_transactions = partitions

    def state(self, counts: Mapping[str, int], size_bytes: int) -> None:
        """Keep the size of the store."""
        self._latest.store_bytes = size_bytes

    def erasures(self, pending: int, overdue_s: float) -> None:
        """Keep how many deletions have not reached the disk."""
        self._latest.erasures, self._latest.erasure_overdue_s = pending, overdue_s

    def release_audited(self, figures: ReleaseFigures) -> None:
        """Keep the figures of a release, which may not be confirmed yet."""
        with self._lock:
            self._releases.append(figures)

    def release_published(
        self, release_id: str, nominal_us: int, vertices: int, edges: int
    ) -> None:
        """Mark a release as confirmed.

        What was wrong with earlier attempts is over.
        """
        with self._lock:
            self._latest.published_s = self._monotonic_s()
            self._latest.withheld = ""
            for i, figures in enumerate(self._releases):
                if figures.release_id == release_id:
                    self._releases[i] = _confirmed(figures)

    def release_withheld(self, reason: str, why: str = "") -> None:
        """Keep why the last release that was tried is none."""
        self._latest.withheld = f"{reason}: {why}" if why else reason

    def retry(self, op: str) -> None:
        """Count retries by operation."""
        with self._lock:
            self._retries[op] += 1

    def ready(self, is_ready: bool) -> None:
        """Keep whether the service is consuming."""
        self._latest.state = "ready" if is_ready else "stopped"

    def alive(self) -> None:
        """Note that the main loop went round."""
        self._latest.alive_s = self._monotonic_s()

    # The report

    def _moment(self) -> Moment:
        counts = self._counts
        return Moment(
            at_s=self._monotonic_s(),
            wall_s=self._wall_s(),
            records=counts.records,
            applied=counts.applied,
            dead_letters=counts.dead_letters.total(),
            lag=counts.lag,
            publish_retries=self._retries["publish"],
            dead_letter_retries=self._retries["dead_letter"],
            state_retries=self._retries["stage"] + self._retries["erase"],
            slots_skipped=counts.slots_skipped,
            has_people=counts.vertices > 0,
            erasure_overdue_s=self._latest.erasure_overdue_s,
        )

    def _report(self, *, secrets: bool) -> Report:
        now, counts = self._moment(), self._counts
        is_stuck = self._latest.silence_s(now.at_s) is not None
        releases = list(reversed(self._releases))
        return Report(
            version=version("ktsafe"),
            state="stuck" if is_stuck else self._latest.state,
            at_s=now.wall_s,
            started_s=self._started_wall_s,
            guarantee=TOGETHER["text"],
            params=self._params.to_mapping(),
            feed=self._feed(now),
            building=counts.phase,
            releases=releases if secrets else [_without(r) for r in releases],
            published=counts.n_published,
            withheld=dict(counts.withheld),
            slots_skipped=counts.slots_skipped,
            problems=diagnose(
                [*self._trend, now], self._latest, releases[0] if releases else None, self._params
            ),
            secrets_shown=secrets,
            true_graph=self._true_graph() if secrets else None,
        )

    def _feed(self, now: Moment) -> FeedReport:
        counts = self._counts
        before = next((m for m in self._trend if now.at_s - m.at_s <= RATE_S), None)
        past_s = now.at_s - before.at_s if before else 0.0
        return FeedReport(
            records=now.records,
            applied=counts.applied,
            ignored=counts.ignored,
            dead_letters=dict(counts.dead_letters),
            attributes_dropped=counts.attributes_dropped,
            lag=now.lag,
            per_second=(now.records - before.records) / past_s if before and past_s > 0 else None,
            trend=[Sample(m.wall_s, m.records, m.lag) for m in self._trend],
        )

    def _true_graph(self) -> TrueGraphReport:
        counts = self._counts
        work = counts.work
        return TrueGraphReport(
            vertices=counts.vertices,
            edges=counts.edges,
            store_bytes=self._latest.store_bytes,
            erasures_pending=self._latest.erasures,
            held_back=dict(counts.held_back),
            work=None
            if work is None
            else PartsReport(work.parts, work.workers, round(work.share, 3)),
        )


def _confirmed(figures: ReleaseFigures) -> ReleaseFigures:
    return msgspec.structs.replace(figures, is_published=True)


def _without(figures: ReleaseFigures) -> ReleaseFigures:
    """Return the figures without the secrets of the release."""
    return msgspec.structs.replace(figures, secrets=None)
