"""The table of metrics: name, kind, source, help, labels, samples.

The registry, docs/metrics.md, and the checks of dashboards and rules follow from it. All of it is
the operators' private plane; what tells most of the true graph says PRIVATE in its help text.
Secrets of releases stand in `ktsafe.stream.monitoring.metrics`.

Rows may be added: each is taken from one notice of `Observer`, has bounded labels, and needs `make
reference` and a place on a dashboard or in a rule. A name that changes breaks dashboards of others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ktsafe.statistics import MICRO
from ktsafe.stream.files.release_figures import ReleaseFigures
from ktsafe.stream.ingest.events import EVENT_TYPES, REASONS

Samples = Mapping[tuple[str, ...], float | None]
"""Values by the values of the labels; None is not known, and shown as NaN."""

OTHER: Final = "other"
EVENT_LABELS: Final = (*EVENT_TYPES, "unknown")
OUTCOMES: Final = ("applied", "dead_letter", "ignored")
DEAD_LETTER_REASONS: Final = (*REASONS, OTHER)
PHASES: Final = ("anonymize", "stage", "verify", "attack", "audit", "publish", OTHER)
WITHHELD_REASONS: Final = (
    "unsafe",
    "infeasible",
    "absent",
    "written_otherwise",
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
BUDGET: Final = ("epsilon", "spent", "left")
GRAPH_ELEMENTS: Final = ("vertices", "edges", "edges_waiting", "tombstones")
UNKNOWN: Final = float("nan")
NOW: Final = float("inf")
"""Stands for the moment at which a notice comes, in seconds since the epoch."""

_STEP_BUCKETS_S: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_RELEASE_BUCKETS_S: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3)


def _as_told(value: float) -> Samples:
    """Return the only thing that a notice tells, as it is."""
    return {(): value}


class Metric(NamedTuple):
    """One metric.

    Attributes
    ----------
    source:
        The notice of `Observer` that it is taken from; "settings": the configuration, at the
        start; "clock": computed when it is read.
    samples:
        What the arguments of the notice mean.
    labels:
        Their values by name, so label sets are bounded. The last value of a label stands for
        all that are not listed; a label without values takes any.
    at_start:
        What a gauge shows before its first notice.
    """

    name: str
    source: str
    text: str
    labels: Mapping[str, tuple[str, ...]] = {}
    samples: Callable[..., Samples] = _as_told
    buckets: tuple[float, ...] = ()
    at_start: float = 0.0

    @property
    def kind(self) -> str:
        """Kind by name: counters add up, gauges have the last value."""
        if self.name.endswith("_total"):
            return "counter"
        return "histogram" if self.name.endswith("_duration_seconds") else "gauge"

    @property
    def row(self) -> str:
        """The row of the metric in docs/metrics.md."""
        labels = ", ".join(f"`{label}`" for label in self.labels)
        return f"| `{self.name}` | {self.kind} | {labels} | {self.text} |"


def _by_label(value: str, number: float = 1) -> Samples:
    return {(value,): number}


def _of_sequence(names: Mapping[str, str]) -> Callable[[Mapping[str, int]], Samples]:
    """Return a reader of sequence figures; single releases have none."""

    def read(counts: Mapping[str, int]) -> Samples:
        return {(what,): counts[n] for what, n in names.items()} if "cohorts" in counts else {}

    return read


def _one_of_sequence(name: str) -> Callable[[Mapping[str, int]], Samples]:
    return lambda counts: {(): counts[name]} if "cohorts" in counts else {}


def _budget(figures: ReleaseFigures) -> Samples:
    spent = figures.statistics
    if spent is None:
        return {(of,): None for of in BUDGET}
    return {(of,): getattr(spent, f"{of}_micro") / MICRO for of in BUDGET}


INGEST: Final = (
    Metric(
        "ktsafe_events_total",
        "event",
        "Records read, by type of event and outcome; PRIVATE: tells of the true graph's pace.",
        {"type": EVENT_LABELS, "outcome": OUTCOMES},
        lambda kind, outcome, count=1: {(kind, outcome): count},
    ),
    Metric(
        "ktsafe_dead_letters_total",
        "dead_letter",
        "Records that could not be applied, durable at the dead-letter sink, by reason.",
        {"reason": DEAD_LETTER_REASONS},
        _by_label,
    ),
    Metric(
        "ktsafe_attributes_dropped_total",
        "dropped_attributes",
        "Attribute values dropped unstored because the schema does not list them.",
    ),
    Metric(
        "ktsafe_source_other_tables",
        "other_tables",
        "Tables whose rows came and that [[source.tables]] does not name; 20 are counted.",
        samples=lambda names: {(): len(names)},
    ),
    Metric(
        "ktsafe_apply_duration_seconds",
        "applied",
        "Time to decode and judge one batch of records.",
        buckets=_STEP_BUCKETS_S,
    ),
    Metric(
        "ktsafe_checkpoint_duration_seconds",
        "checkpoint",
        "Time until dead letters, changes and offsets of one checkpoint were durable.",
        buckets=_STEP_BUCKETS_S,
    ),
    Metric(
        "ktsafe_source_lag_records",
        "lag",
        "Records of the source not yet read; NaN where the source does not know.",
        {"topic": (), "partition": ()},
        lambda records: {(topic, str(part)): n for (topic, part), n in records.items()},
    ),
    Metric(
        "ktsafe_graph_elements",
        "state",
        "PRIVATE: size of the true graph as of the last fold (a cut, or much that was said); "
        "compared with a release it tells what was inserted.",
        {"element": GRAPH_ELEMENTS},
        lambda counts, _bytes: {(each,): counts.get(each, 0) for each in GRAPH_ELEMENTS},
    ),
    Metric(
        "ktsafe_store_size_bytes",
        "state",
        "PRIVATE: size of the store of the true graph on disk.",
        samples=lambda _counts, size_bytes: {(): size_bytes},
    ),
)

RELEASES: Final = (
    Metric(
        "ktsafe_releases_begun_total",
        "release_begun",
        "Releases of which the making began, again after an interruption.",
        samples=lambda: {(): 1},
    ),
    Metric(
        "ktsafe_releases_published_total",
        "release_published",
        "Releases that the strict verifier passed and the sink confirmed.",
        samples=lambda *_: {(): 1},
    ),
    Metric(
        "ktsafe_releases_withheld_total",
        "release_withheld",
        "Releases not published because they were not safe or could not be built, by reason.",
        {"reason": WITHHELD_REASONS},
        lambda reason, _why="": {(reason,): 1},
    ),
    Metric(
        "ktsafe_releases_gone",
        "releases_gone",
        "Published releases that are not at the sink any more, though older ones are.",
    ),
    Metric(
        "ktsafe_release_slots_skipped_total",
        "slot_skipped",
        "Release slots skipped: several were crossed in one jump of event time.",
        samples=lambda count: {(): count},
    ),
    Metric(
        "ktsafe_release_open_transactions",
        "open_transactions",
        "Partitions that the last slot did not wait for any longer, since a transaction hung.",
    ),
    Metric(
        "ktsafe_release_phase_duration_seconds",
        "release_phase",
        "PRIVATE: time of one phase of a release; grows with what is hard to hide.",
        {"phase": PHASES},
        _by_label,
        _RELEASE_BUCKETS_S,
    ),
    Metric(
        "ktsafe_release_elements",
        "release_published",
        "Size of the last release as published, which the release itself shows.",
        {"element": ("vertices", "edges")},
        lambda _id, _us, vertices, edges: {("vertices",): vertices, ("edges",): edges},
    ),
    Metric(
        "ktsafe_statistics_epsilon",
        "release_audited",
        "What the statistics of the last release cost one tie (epsilon), those of the 365 days "
        "up to it (spent), and what is left of the budget; NaN without one.",
        {"of": BUDGET},
        _budget,
        at_start=UNKNOWN,
    ),
    Metric(
        "ktsafe_release_verified_nominal_timestamp_seconds",
        "release_published",
        "Slot of the last verified and published release; 0 before the first of this process.",
        samples=lambda _id, nominal_us, *_: {(): nominal_us / 1e6},
    ),
    Metric(
        "ktsafe_release_published_timestamp_seconds",
        "release_published",
        "When the sink confirmed the last release; 0 before the first of this process.",
        samples=lambda *_: {(): NOW},
    ),
    Metric(
        "ktsafe_release_age_seconds",
        "clock",
        "Age of the last release since its slot (nominal) and since its confirmation "
        "(published); counted from the start of the process before its first release.",
        {"since": ("nominal", "published")},
    ),
    Metric(
        "ktsafe_release_workers",
        "release_parts",
        "Workers that the last release was made by: threads, or processes of a cluster.",
        samples=lambda work: {(): work.workers},
    ),
    Metric(
        "ktsafe_release_parts_total",
        "release_parts",
        "PRIVATE: parts of releases (a class, a pair of classes) that workers solved.",
        samples=lambda work: {(): work.parts},
    ),
    Metric(
        "ktsafe_release_core_seconds_total",
        "release_parts",
        "PRIVATE: core seconds that releases took: in parts, and in one piece.",
        {"where": ("parts", "rest")},
        lambda work: {("parts",): work.core_s, ("rest",): work.rest_s},
    ),
)

SEQUENCE: Final = (
    Metric(
        "ktsafe_sequence_held_back",
        "sequence",
        "PRIVATE: people, ties and values of the true graph that the last release does not show "
        "yet.",
        {"what": tuple(HELD_BACK)},
        _of_sequence(HELD_BACK),
    ),
    Metric(
        "ktsafe_sequence_held_back_releases",
        "sequence",
        "PRIVATE: releases for which the oldest of them has been held back.",
        {"what": tuple(HELD_BACK_AGES)},
        _of_sequence(HELD_BACK_AGES),
    ),
    Metric(
        "ktsafe_sequence_residual_releases",
        "sequence",
        "PRIVATE: releases that have shown the oldest tie of a departed person, since then.",
        samples=_one_of_sequence("residual_age_max"),
    ),
    Metric(
        "ktsafe_sequence_cohorts",
        "sequence",
        "PRIVATE: cohorts of the last release, in which people stay together.",
        samples=_one_of_sequence("cohorts"),
    ),
    Metric(
        "ktsafe_kt_tree_pivots_total",
        "sequence",
        "PRIVATE: pivots of the kt-tree of waiting people, release by release: kept from the "
        "former one, or computed.",
        {"what": tuple(PIVOTS)},
        _of_sequence(PIVOTS),
    ),
    Metric(
        "ktsafe_sequence_read_seconds",
        "sequence_read",
        "How long it took at the start to read the sequence back.",
    ),
    Metric(
        "ktsafe_sequence_pages_written_total",
        "sequence",
        "PRIVATE: pages written with releases, of the sequence and its auditor.",
        samples=lambda counts: {(): counts.get("pages_written", 0)},
    ),
)

PROCESS: Final = (
    Metric(
        "ktsafe_erasures_pending",
        "erasures",
        "PRIVATE: deletions whose last bytes may still be on disk.",
        samples=lambda pending, _overdue_s: {(): pending},
    ),
    Metric(
        "ktsafe_erasure_overdue_seconds",
        "erasures",
        "PRIVATE: for how long an erasure from the disk has been due; 0 while none is.",
        samples=lambda _pending, overdue_s: {(): overdue_s},
    ),
    Metric(
        "ktsafe_retries_total",
        "retry",
        "Operations that failed in a way that is worth another try, by operation.",
        {"op": RETRY_OPS},
        _by_label,
    ),
    Metric(
        "ktsafe_ready",
        "ready",
        "1 while the service is consuming and able to publish, else 0.",
        samples=lambda is_ready: {(): int(is_ready)},
    ),
    Metric(
        "ktsafe_loop_alive_timestamp_seconds",
        "alive",
        "When the main loop last went round.",
        samples=lambda *_: {(): NOW},
    ),
    Metric(
        "ktsafe_privacy_candidates_required",
        "settings",
        "Fewest candidates (k) that every published vertex must have.",
        samples=lambda params: {(): params.k},
    ),
    Metric(
        "ktsafe_privacy_sensitive_allowed_ratio",
        "settings",
        "Greatest share (alpha) of candidates that may be sensitive.",
        samples=lambda params: {(): float(params.alpha)},
    ),
)

METRICS: Final[tuple[Metric, ...]] = (*INGEST, *RELEASES, *SEQUENCE, *PROCESS)
