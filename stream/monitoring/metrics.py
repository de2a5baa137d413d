"""The service's metrics for Prometheus: names and counts, with label sets fixed in advance.

All of it is the operators' private plane: event counts, lag and durations tell of the true graph.
What tells most of it says PRIVATE in its help text. The secrets of a release (its cost, what stands
behind its candidates) say SECRET and are kept by `ktsafe.stream.monitoring.metrics_secrets`, where
they are asked for; the released sizes come here always, because the release itself shows them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    disable_created_metrics,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector

from ktsafe import PrivacyParams
from ktsafe.noisy_tables import MICRO
from ktsafe.stream.files.release_figures import ReleaseFigures
from ktsafe.stream.ingest.events import EVENT_TYPES, REASONS
from ktsafe.stream.monitoring.metrics_secrets import SecretMetrics
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.version import VERSION
from ktsafe.stream.workers.pool import WorkInParts

M = TypeVar("M", Counter, Gauge, Histogram)

OTHER: Final = "other"
"""Stands for every label value that is not listed here, so that label sets stay bounded."""

EVENT_LABELS: Final = (*EVENT_TYPES, "unknown")
OUTCOMES: Final = ("applied", "dead_letter", "ignored")
DEAD_LETTER_REASONS: Final = (*REASONS, OTHER)
PHASES: Final = ("anonymize", "stage", "verify", "attack", "audit", "publish", OTHER)
WITHHELD_REASONS: Final = (
    "unsafe",
    "infeasible",
    "absent",
    "costs_more_than_nothing",
    "below_min_f1",
    "attacked",
    "error",
    OTHER,
)
RETRY_OPS: Final = ("dead_letter", "erase", "publish", "stage", OTHER)
HELD_BACK: Final = {
    "people": "withheld_vertices",
    "ties": "held_edges",
    "values": "held_values",
}
"""What a sequence holds back, and what the mechanism calls it."""
HELD_BACK_AGES: Final = {"people": "withheld_age_max", "ties": "held_edge_age_max"}
PIVOTS: Final = {"kept": "pivots_kept", "computed": "pivots_computed"}
"""What became of the pivots of the kt-tree, and what the mechanism calls it."""
RESIDUAL_AGE: Final = "residual_age_max"
BUDGET: Final = ("epsilon", "spent", "left")
UNKNOWN: Final = float("nan")
GRAPH_ELEMENTS: Final = ("vertices", "edges", "edges_waiting", "tombstones")

_STEP_BUCKETS_S: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_RELEASE_BUCKETS_S: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3)


class PrometheusMetrics(Observer):
    """Keeps what the service tells in a registry of its own, and renders it.

    Safe to use from several threads.

    Parameters
    ----------
    release_interval_s:
        How often a release is expected by the wall clock; None where slots follow event time, so
        that no release is ever overdue by the wall clock.
    params:
        The parameters promised, to compare with.
    secrets:
        Whether the secrets of releases are shown.
    wall_s:
        Seconds since the epoch, for what is compared with moments.
    monotonic_s:
        A clock in seconds, for what is measured; never steps back.
    """

    def __init__(
        self,
        *,
        release_interval_s: float | None = None,
        params: PrivacyParams | None = None,
        secrets: bool = False,
        wall_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        # The creation times of counters double the number of series and serve no alert.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._wall_s = wall_s
        self._monotonic_s = monotonic_s
        self._alive_at_s = monotonic_s()
        self._published_at_s = self._alive_at_s
        self._nominal_s: float | None = None
        self._started_s = wall_s()
        self._is_ready = False
        self._add_ingest()
        self._add_releases(release_interval_s)
        self._add_sequence()
        self._add_process()
        self._secrets = SecretMetrics(self.registry) if secrets else None
        if params is not None:
            self._add_promise(params)

    @property
    def is_ready(self) -> bool:
        """Whether the service is consuming and able to publish."""
        return self._is_ready

    def silence_s(self) -> float:
        """Return the seconds since the main loop last went round."""
        return max(0.0, self._monotonic_s() - self._alive_at_s)

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        """Return content type and body of a scrape, in the format that `accept` asks for."""
        encoder, content_type = choose_encoder(accept)
        return content_type, encoder(self.registry)

    # Ingest

    def event(self, kind: str, outcome: str, count: int = 1) -> None:
        """Count events by type and outcome."""
        kind = _listed(kind, EVENT_LABELS, "unknown")
        self._events.labels(kind, _listed(outcome, OUTCOMES, "ignored")).inc(count)

    def dead_letter(self, reason: str, count: int = 1) -> None:
        """Count dead letters by reason."""
        self._dead_letters.labels(_listed(reason, DEAD_LETTER_REASONS)).inc(count)

    def dropped_attributes(self, count: int) -> None:
        """Count attributes dropped unstored."""
        self._attributes_dropped.inc(count)

    def applied(self, seconds: float) -> None:
        """Time a batch."""
        self._apply_s.observe(seconds)

    def checkpoint(self, seconds: float) -> None:
        """Time a checkpoint."""
        self._checkpoint_s.observe(seconds)

    def lag(self, records: Mapping[tuple[str, int], int | None]) -> None:
        """Show the lag of every partition; NaN where the source does not know it."""
        for (topic, partition), behind in records.items():
            value = float("nan") if behind is None else behind
            self._lag.labels(topic, str(partition)).set(value)

    def state(self, counts: Mapping[str, int], size_bytes: int) -> None:
        """Show the sizes of the true graph and of its store."""
        for element in GRAPH_ELEMENTS:
            self._graph.labels(element).set(counts.get(element, 0))
        self._store_bytes.set(size_bytes)

    # Releases

    def slot_skipped(self, count: int = 1) -> None:
        """Count skipped slots."""
        self._slots_skipped.inc(count)

    def release_begun(self) -> None:
        """Count releases that were begun."""
        self._begun.inc()

    def release_phase(self, phase: str, seconds: float) -> None:
        """Time a phase of a release."""
        self._phase_s.labels(_listed(phase, PHASES)).observe(seconds)

    def release_audited(self, figures: ReleaseFigures) -> None:
        """Show the budget of statistics, and the secrets of the release if they are shown."""
        for of in BUDGET:
            budget = figures.statistics
            found = UNKNOWN if budget is None else getattr(budget, f"{of}_micro") / MICRO
            self._budget.labels(of).set(found)
        if self._secrets is not None and figures.secrets is not None:
            self._secrets.show(figures.secrets)

    def release_published(
        self, release_id: str, nominal_us: int, vertices: int, edges: int
    ) -> None:
        """Show the release that the sink confirmed; its id is no label, as ids are unbounded."""
        del release_id
        self._published_at_s = self._monotonic_s()
        self._nominal_s = nominal_us / 1e6
        self._published.inc()
        self._published_timestamp.set(self._wall_s())
        self._nominal_timestamp.set(self._nominal_s)
        self._released.labels("vertices").set(vertices)
        self._released.labels("edges").set(edges)

    def release_parts(self, work: WorkInParts) -> None:
        """Count what was done in parts, and by how many workers."""
        self._workers.set(work.workers)
        self._parts.inc(work.parts)
        self._core_s.labels("parts").inc(work.core_s)
        self._core_s.labels("rest").inc(work.rest_s)

    def release_withheld(self, reason: str) -> None:
        """Count withheld releases by reason."""
        self._withheld.labels(_listed(reason, WITHHELD_REASONS)).inc()

    def releases_gone(self, count: int) -> None:
        """Show how many releases the sink has lost."""
        self._gone.set(count)

    def sequence(self, counts: Mapping[str, int]) -> None:
        """Show what the last staged release holds back, and what was remembered with it."""
        self._pages.inc(counts.get("pages_written", 0))
        if "cohorts" not in counts:
            return
        for what, name in HELD_BACK.items():
            self._held_back.labels(what).set(counts[name])
        for what, name in HELD_BACK_AGES.items():
            self._held_back_age.labels(what).set(counts[name])
        self._residual_age.set(counts[RESIDUAL_AGE])
        self._cohorts.set(counts["cohorts"])
        for what, name in PIVOTS.items():
            self._pivots.labels(what).inc(counts[name])

    def sequence_read(self, seconds: float) -> None:
        """Show how long it took to read the sequence back."""
        self._read_s.set(seconds)

    # Process

    def erasures(self, pending: int, overdue_s: float) -> None:
        """Show how many deletions have not reached the disk yet, and for how long that is late."""
        self._erasures.set(pending)
        self._erasure_overdue.set(overdue_s)

    def retry(self, op: str) -> None:
        """Count retries by operation."""
        self._retries.labels(_listed(op, RETRY_OPS)).inc()

    def ready(self, is_ready: bool) -> None:
        """Show whether the service is ready."""
        self._is_ready = is_ready
        self._ready.set(int(is_ready))

    def alive(self) -> None:
        """Note that the main loop went round."""
        self._alive_at_s = self._monotonic_s()
        self._alive_timestamp.set(self._wall_s())

    def _add_ingest(self) -> None:
        self._events = self._counter(
            "ktsafe_events_total",
            "Records read, by type of event and outcome; PRIVATE: tells of the true graph's pace.",
            type=EVENT_LABELS,
            outcome=OUTCOMES,
        )
        self._dead_letters = self._counter(
            "ktsafe_dead_letters_total",
            "Records that could not be applied, durable at the dead-letter sink, by reason.",
            reason=DEAD_LETTER_REASONS,
        )
        self._attributes_dropped = self._counter(
            "ktsafe_attributes_dropped_total",
            "Attribute values dropped unstored because the schema does not list them.",
        )
        self._apply_s = self._histogram(
            "ktsafe_apply_duration_seconds",
            "Time to decode and judge one batch of records.",
            _STEP_BUCKETS_S,
        )
        self._checkpoint_s = self._histogram(
            "ktsafe_checkpoint_duration_seconds",
            "Time until dead letters, changes and offsets of one checkpoint were durable.",
            _STEP_BUCKETS_S,
        )
        self._lag = self._gauge(
            "ktsafe_source_lag_records",
            "Records of the source not yet read; NaN where the source does not know.",
            topic=(),
            partition=(),
        )
        self._graph = self._gauge(
            "ktsafe_graph_elements",
            "PRIVATE: size of the true graph; compared with a release it tells what was inserted.",
            element=GRAPH_ELEMENTS,
        )
        self._store_bytes = self._gauge(
            "ktsafe_store_size_bytes", "PRIVATE: size of the store of the true graph on disk."
        )

    def _add_releases(self, interval_s: float | None) -> None:
        self._begun = self._counter(
            "ktsafe_releases_begun_total",
            "Releases of which the making began, again after an interruption.",
        )
        self._published = self._counter(
            "ktsafe_releases_published_total",
            "Releases that the strict verifier passed and the sink confirmed.",
        )
        self._withheld = self._counter(
            "ktsafe_releases_withheld_total",
            "Releases not published because they were not safe or could not be built, by reason.",
            reason=WITHHELD_REASONS,
        )
        self._gone = self._gauge(
            "ktsafe_releases_gone",
            "Published releases that are not at the sink any more, though older ones are.",
        )
        self._slots_skipped = self._counter(
            "ktsafe_release_slots_skipped_total",
            "Release slots skipped: one was in flight, or several were crossed in one jump.",
        )
        self._phase_s = self._histogram(
            "ktsafe_release_phase_duration_seconds",
            "PRIVATE: time of one phase of a release; grows with what is hard to hide.",
            _RELEASE_BUCKETS_S,
            phase=PHASES,
        )
        self._released = self._gauge(
            "ktsafe_release_elements",
            "Size of the last release as published, which the release itself shows.",
            element=("vertices", "edges"),
        )
        self._budget = self._gauge(
            "ktsafe_statistics_epsilon",
            "What the statistics of the last release cost one tie (epsilon), those of the 365 days "
            "up to it (spent), and what is left of the budget; NaN without one.",
            of=BUDGET,
        )
        for of in BUDGET:
            self._budget.labels(of).set(UNKNOWN)
        self._nominal_timestamp = self._gauge(
            "ktsafe_release_verified_nominal_timestamp_seconds",
            "Slot of the last verified and published release; 0 before the first of this process.",
        )
        self._published_timestamp = self._gauge(
            "ktsafe_release_published_timestamp_seconds",
            "When the sink confirmed the last release; 0 before the first of this process.",
        )
        age = self._gauge(
            "ktsafe_release_age_seconds",
            "Age of the last release since its slot (nominal) and since its confirmation "
            "(published); counted from the start of the process before its first release.",
            since=("nominal", "published"),
        )
        age.labels("nominal").set_function(self._age_by_slot_s)
        age.labels("published").set_function(self._age_by_confirmation_s)
        self._gauge(
            "ktsafe_release_interval_seconds",
            "How often a release is expected by the wall clock; NaN where slots follow event time.",
        ).set(float("nan") if interval_s is None else interval_s)

        self._add_parts()

    def _add_parts(self) -> None:
        self._workers = self._gauge(
            "ktsafe_release_workers",
            "Workers that the last release was made by: threads, or processes of a cluster.",
        )
        self._parts = self._counter(
            "ktsafe_release_parts_total",
            "PRIVATE: parts of releases (a class, a pair of classes) that workers solved.",
        )
        self._core_s = self._counter(
            "ktsafe_release_core_seconds_total",
            "PRIVATE: core seconds that releases took: in parts, and in one piece.",
            where=("parts", "rest"),
        )

    def _add_sequence(self) -> None:
        self._held_back = self._gauge(
            "ktsafe_sequence_held_back",
            "PRIVATE: people, ties and values of the true graph that the last release does not "
            "show yet.",
            what=tuple(HELD_BACK),
        )
        self._held_back_age = self._gauge(
            "ktsafe_sequence_held_back_releases",
            "PRIVATE: releases for which the oldest of them has been held back.",
            what=tuple(HELD_BACK_AGES),
        )
        self._residual_age = self._gauge(
            "ktsafe_sequence_residual_releases",
            "PRIVATE: releases that have shown the oldest tie of a departed person, since then.",
        )
        self._cohorts = self._gauge(
            "ktsafe_sequence_cohorts",
            "PRIVATE: cohorts of the last release, in which people stay together.",
        )
        self._pivots = self._counter(
            "ktsafe_kt_tree_pivots_total",
            "PRIVATE: pivots of the kt-tree of waiting people, release by release: kept from the "
            "former one, or computed.",
            what=tuple(PIVOTS),
        )
        self._read_s = self._gauge(
            "ktsafe_sequence_read_seconds",
            "How long it took at the start to read the sequence back.",
        )
        self._pages = self._counter(
            "ktsafe_sequence_pages_written_total",
            "PRIVATE: pages of the sequence's memory written with its releases.",
        )

    def _add_process(self) -> None:
        self._erasures = self._gauge(
            "ktsafe_erasures_pending", "PRIVATE: deletions whose last bytes may still be on disk."
        )
        self._erasure_overdue = self._gauge(
            "ktsafe_erasure_overdue_seconds",
            "PRIVATE: for how long an erasure from the disk has been due; 0 while none is.",
        )
        self._retries = self._counter(
            "ktsafe_retries_total",
            "Operations that failed in a way that is worth another try, by operation.",
            op=RETRY_OPS,
        )
        self._ready = self._gauge(
            "ktsafe_ready", "1 while the service is consuming and able to publish, else 0."
        )
        self._alive_timestamp = self._gauge(
            "ktsafe_loop_alive_timestamp_seconds", "When the main loop last went round."
        )
        self._alive_timestamp.set(self._started_s)
        Info("ktsafe_build", "Version of the service.", registry=self.registry).info(
            {"version": VERSION}
        )
        ProcessCollector(registry=self.registry)

    def _add_promise(self, params: PrivacyParams) -> None:
        self._gauge(
            "ktsafe_privacy_candidates_required",
            "Fewest candidates (k) that every published vertex must have.",
        ).set(params.k)
        self._gauge(
            "ktsafe_privacy_sensitive_allowed_ratio",
            "Greatest share (alpha) of candidates that may be sensitive.",
        ).set(float(params.alpha))

    def _counter(self, name: str, text: str, **labels: tuple[str, ...]) -> Counter:
        return _with_values(Counter(name, text, list(labels), registry=self.registry), labels)

    def _gauge(self, name: str, text: str, **labels: tuple[str, ...]) -> Gauge:
        return _with_values(Gauge(name, text, list(labels), registry=self.registry), labels)

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], **labels: tuple[str, ...]
    ) -> Histogram:
        found = Histogram(name, text, list(labels), buckets=buckets, registry=self.registry)
        return _with_values(found, labels)

    def _age_by_slot_s(self) -> float:
        since = self._started_s if self._nominal_s is None else self._nominal_s
        return self._wall_s() - since

    def _age_by_confirmation_s(self) -> float:
        return self._monotonic_s() - self._published_at_s


def _with_values(metric: M, labels: Mapping[str, tuple[str, ...]]) -> M:
    """Return a metric with every value of its labels there from the start."""
    for values in itertools.product(*labels.values()) if labels else ():
        metric.labels(*values)
    return metric


def _listed(value: str, values: tuple[str, ...], otherwise: str = OTHER) -> str:
    return value if value in values else otherwise
