"""The Prometheus implementation of the observer."""

from __future__ import annotations

import inspect
import math
import re

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ktsafe import PrivacyParams
from ktsafe.stream.files.audit_model import StatisticsBudget
from ktsafe.stream.files.release_figures import (
    FRESHNESS,
    FRESHNESS_AGES,
    Attacked,
    CandidateFigures,
    FreshnessFigures,
    ReleaseFigures,
    Secrets,
)
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from ktsafe.stream.monitoring.metrics_table import (
    DEAD_LETTER_REASONS,
    EVENT_LABELS,
    HELD_BACK,
    HELD_BACK_AGES,
    METRICS,
    OUTCOMES,
    PHASES,
    RETRY_OPS,
    WITHHELD_REASONS,
)
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.pool import WorkInParts

AGES = dict.fromkeys(HELD_BACK_AGES.values(), 4)
PAGES = {"pages_written": 6}
TREE = {
    "pivots_kept": 8,
    "pivots_computed": 2,
}


class Clock:
    """A clock that a test moves."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def value(metrics: PrometheusMetrics, name: str, **labels: str) -> float:
    """Return one sample; fail if there is none."""
    found = metrics.registry.get_sample_value(name, labels)
    assert found is not None, f"{name}{labels} has no sample"
    return found


SECRETS = Secrets(
    {"unowned_vertices": 1, "inserted_edges": 20, "deleted_vertices": 0, "deleted_edges": 3},
    {"copies": 240},
    {"claimed": CandidateFigures(10, 0, 0.0), "real": CandidateFigures(7, 2, 0.1)},
    {"claimed": 0.2, "real": 0.25},
    {"edge_f1": 0.62, "edge_precision": None},
    {"one_hop": Attacked(0.08, 0.07, 0.09, 0.02, 0.1)},
    FreshnessFigures(
        {name: dict.fromkeys(FRESHNESS_AGES, 0.5) for name in FRESHNESS}
        | {"ended_shown": dict.fromkeys(FRESHNESS_AGES)},
        {"came": 8, "gone": 3, "came_true": 6},
    ),
    margin_until="1970-01-02T00:00:00Z",
)
BUDGET = StatisticsBudget(350_000, 4_900_000, 100_000)
AUDITED = ReleaseFigures(
    release_id="r1",
    nominal_us=0,
    vertices=12,
    edges=34,
    is_published=False,
    secrets=SECRETS,
    statistics=BUDGET,
)


def told(*, secrets: bool = False) -> PrometheusMetrics:
    """Return metrics to which every hook was told something."""
    metrics = PrometheusMetrics(params=PrivacyParams(k=10), secrets=secrets)
    metrics.release_audited(AUDITED)
    metrics.event("edge.add", "applied", 3)
    metrics.dead_letter("late", 2)
    metrics.dropped_attributes(4)
    metrics.applied(0.02)
    metrics.checkpoint(0.2)
    metrics.lag({("feed", 0): 7, ("feed", 1): None})
    metrics.state({"vertices": 5, "edges": 6, "edges_waiting": 1, "tombstones": 2}, 4096)
    metrics.slot_skipped(2)
    metrics.release_begun()
    metrics.release_phase("verify", 1.5)
    metrics.release_parts(WorkInParts(workers=2, parts=55, core_s=9.5, rest_s=0.5))
    metrics.release_published("r1", 1_000_000_000, 12, 34)
    metrics.release_withheld("unsafe")
    metrics.sequence(
        {**dict.fromkeys(HELD_BACK.values(), 3), **AGES, "residual_age_max": 9, "cohorts": 5}
        | PAGES
        | TREE
    )
    metrics.sequence({})
    metrics.sequence_read(0.75)
    metrics.erasures(2, 60.0)
    metrics.retry("publish")
    metrics.ready(is_ready=True)
    metrics.alive()
    return metrics


def test_every_hook_is_implemented() -> None:
    """No notice of the observer is lost: each is the source of a metric; there is no other."""
    hooks = {name for name, _ in inspect.getmembers(Observer, inspect.isfunction) if name[0] != "_"}
    assert hooks
    assert {metric.source for metric in METRICS} - {"settings", "clock"} == hooks


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("ktsafe_events_total", {"type": "edge.add", "outcome": "applied"}, 3),
        ("ktsafe_dead_letters_total", {"reason": "late"}, 2),
        ("ktsafe_attributes_dropped_total", {}, 4),
        ("ktsafe_apply_duration_seconds_sum", {}, 0.02),
        ("ktsafe_checkpoint_duration_seconds_count", {}, 1),
        ("ktsafe_source_lag_records", {"topic": "feed", "partition": "0"}, 7),
        ("ktsafe_graph_elements", {"element": "edges_waiting"}, 1),
        ("ktsafe_store_size_bytes", {}, 4096),
        ("ktsafe_release_slots_skipped_total", {}, 2),
        ("ktsafe_release_phase_duration_seconds_sum", {"phase": "verify"}, 1.5),
        ("ktsafe_releases_begun_total", {}, 1),
        ("ktsafe_release_workers", {}, 2),
        ("ktsafe_release_parts_total", {}, 55),
        ("ktsafe_release_core_seconds_total", {"where": "parts"}, 9.5),
        ("ktsafe_release_core_seconds_total", {"where": "rest"}, 0.5),
        ("ktsafe_releases_published_total", {}, 1),
        ("ktsafe_release_elements", {"element": "vertices"}, 12),
        ("ktsafe_release_elements", {"element": "edges"}, 34),
        ("ktsafe_release_verified_nominal_timestamp_seconds", {}, 1000),
        ("ktsafe_releases_withheld_total", {"reason": "unsafe"}, 1),
        ("ktsafe_sequence_held_back", {"what": "values"}, 3),
        ("ktsafe_sequence_held_back_releases", {"what": "ties"}, 4),
        ("ktsafe_sequence_cohorts", {}, 5),
        ("ktsafe_sequence_pages_written_total", {}, 6),
        ("ktsafe_kt_tree_pivots_total", {"what": "kept"}, 8),
        ("ktsafe_kt_tree_pivots_total", {"what": "computed"}, 2),
        ("ktsafe_sequence_read_seconds", {}, 0.75),
        ("ktsafe_erasures_pending", {}, 2),
        ("ktsafe_erasure_overdue_seconds", {}, 60),
        ("ktsafe_sequence_residual_releases", {}, 9),
        ("ktsafe_retries_total", {"op": "publish"}, 1),
        ("ktsafe_statistics_epsilon", {"of": "epsilon"}, 0.35),
        ("ktsafe_statistics_epsilon", {"of": "spent"}, 4.9),
        ("ktsafe_statistics_epsilon", {"of": "left"}, 0.1),
        ("ktsafe_ready", {}, 1),
    ],
)
def test_hooks_reach_their_metric(name: str, labels: dict[str, str], expected: float) -> None:
    """What a hook is told is what its metric shows."""
    assert expected == value(told(), name, **labels)


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("ktsafe_release_cost_elements", {"part": "inserted_edges"}, 20),
        ("ktsafe_release_cost_yardstick_elements", {"yardstick": "copies"}, 240),
        ("ktsafe_release_usefulness_ratio", {"figure": "edge_f1"}, 0.62),
        ("ktsafe_release_usefulness_ratio", {"figure": "edge_precision"}, math.nan),
        ("ktsafe_release_usefulness_ratio", {"figure": "vertex_recall"}, math.nan),
        ("ktsafe_release_candidates_min", {"of": "real"}, 7),
        ("ktsafe_release_candidates_min", {"of": "sequence"}, math.nan),
        ("ktsafe_release_below_k_ratio", {"of": "real"}, 0.1),
        ("ktsafe_release_sensitive_max_ratio", {"of": "real"}, 0.25),
        ("ktsafe_release_attack_ratio", {"attack": "one_hop", "figure": "low"}, 0.07),
        ("ktsafe_release_attack_ratio", {"attack": "one_hop", "figure": "promise"}, 0.1),
        ("ktsafe_release_attack_ratio", {"attack": "changes", "figure": "low"}, math.nan),
        ("ktsafe_release_freshness_ratio", {"figure": "ties_ratio", "age": "8"}, 0.5),
        ("ktsafe_release_freshness_ratio", {"figure": "ended_shown", "age": "1"}, math.nan),
        ("ktsafe_release_changed_edges", {"change": "came_true"}, 6),
        ("ktsafe_release_margin_until_timestamp_seconds", {}, 86400),
        ("ktsafe_privacy_candidates_required", {}, 10),
        ("ktsafe_privacy_sensitive_allowed_ratio", {}, 0.2),
    ],
)
def test_secrets_reach_their_metric(name: str, labels: dict[str, str], expected: float) -> None:
    """With leave the figures of the last release are shown; what the audit does not tell is NaN."""
    assert value(told(secrets=True), name, **labels) == pytest.approx(expected, nan_ok=True)


def test_figures_of_the_next_release_replace_those_before() -> None:
    """Nothing of a former release stays beside the last one's figures."""
    metrics = told(secrets=True)
    fewer = msgspec.structs.replace(SECRETS, candidates={})
    metrics.release_audited(msgspec.structs.replace(AUDITED, secrets=fewer))
    assert math.isnan(value(metrics, "ktsafe_release_candidates_min", of="real"))
    before = value(metrics, "ktsafe_release_cost_elements", part="inserted_edges")
    metrics.release_audited(msgspec.structs.replace(AUDITED, secrets=None, statistics=None))
    assert math.isnan(value(metrics, "ktsafe_statistics_epsilon", of="left"))
    assert value(metrics, "ktsafe_release_cost_elements", part="inserted_edges") == before
    metrics.release_audited(
        msgspec.structs.replace(AUDITED, secrets=msgspec.structs.replace(SECRETS, freshness=None))
    )
    assert math.isnan(value(metrics, "ktsafe_release_changed_edges", change="came"))


def test_unknown_lag_is_nan() -> None:
    """A lag the source does not know is shown as such, not as zero."""
    assert math.isnan(value(told(), "ktsafe_source_lag_records", topic="feed", partition="1"))


def test_labels_exist_from_the_start() -> None:
    """Before anything happens every label value has a sample, so that rates are never missing."""
    metrics = PrometheusMetrics()
    for kind in EVENT_LABELS:
        for outcome in OUTCOMES:
            assert value(metrics, "ktsafe_events_total", type=kind, outcome=outcome) == 0
    for name, label, values in (
        ("ktsafe_dead_letters_total", "reason", DEAD_LETTER_REASONS),
        ("ktsafe_releases_withheld_total", "reason", WITHHELD_REASONS),
        ("ktsafe_retries_total", "op", RETRY_OPS),
        ("ktsafe_release_phase_duration_seconds_count", "phase", PHASES),
    ):
        for label_value in values:
            assert value(metrics, name, **{label: label_value}) == 0


def test_unlisted_label_values_do_not_grow_the_set() -> None:
    """Whatever word comes in, it is counted under a listed one: label sets are bounded."""
    metrics = PrometheusMetrics()
    before = len(list(samples(metrics)))
    for word in ("p1", "Alice", "42"):
        metrics.event(word, word)
        metrics.dead_letter(word)
        metrics.release_phase(word, 1.0)
        metrics.release_withheld(word)
        metrics.retry(word)
        metrics.release_published(word, 0, 1, 1)
        metrics.state({word: 1}, 0)
    assert len(list(samples(metrics))) == before
    assert value(metrics, "ktsafe_dead_letters_total", reason="other") == 3
    assert value(metrics, "ktsafe_events_total", type="unknown", outcome="ignored") == 3


def samples(metrics: PrometheusMetrics) -> list[str]:
    """Return the lines of an exposition that hold samples of ours."""
    _, body = metrics.exposition()
    return [line for line in body.decode().splitlines() if line.startswith("ktsafe_")]


def test_release_age_counts_from_the_last_confirmed_release() -> None:
    """Age by wall is measured, age by slot compares with the wall clock; both restart."""
    wall, monotonic = Clock(5_000.0), Clock(100.0)
    metrics = PrometheusMetrics(wall_s=wall, monotonic_s=monotonic)
    wall.now, monotonic.now = 5_060.0, 160.0
    assert value(metrics, "ktsafe_release_age_seconds", since="published") == 60
    assert value(metrics, "ktsafe_release_age_seconds", since="nominal") == 60
    metrics.release_published("r1", 4_000 * 1_000_000, 1, 1)
    monotonic.now = 170.0
    wall.now = 1.0  # The wall clock steps back: the measured age does not care.
    assert value(metrics, "ktsafe_release_age_seconds", since="published") == 10
    assert value(metrics, "ktsafe_release_age_seconds", since="nominal") == 1 - 4_000
    assert value(metrics, "ktsafe_release_published_timestamp_seconds") == 5_060


def test_silence_is_measured_from_the_last_round() -> None:
    """The main loop is silent since its last `alive`, or since the start."""
    monotonic = Clock(10.0)
    metrics = PrometheusMetrics(monotonic_s=monotonic)
    monotonic.now = 15.0
    assert metrics.silence_s() == 5
    metrics.alive()
    assert metrics.silence_s() == 0


def test_registries_are_apart() -> None:
    """Two services in one process do not share counts, nor touch the global registry."""
    one, other = PrometheusMetrics(), PrometheusMetrics()
    one.dead_letter("late")
    assert value(other, "ktsafe_dead_letters_total", reason="late") == 0


def test_names_follow_the_conventions() -> None:
    """Names are ktsafe_<noun>..., counters end in _total, units are base units, help is given."""
    _, body = told(secrets=True).exposition()
    ours = 0
    for family in text_string_to_metric_families(body.decode()):
        if not family.name.startswith("ktsafe_"):
            assert family.name.startswith("process_")
            continue
        ours += 1
        assert re.fullmatch(r"ktsafe_[a-z]+(_[a-z]+)*", family.name)
        assert family.documentation.endswith(".")
        assert not re.search(r"_(ms|us|millis\w*|minutes|kb|mb|created)$", family.name)
        if family.type == "counter":
            assert {s.name for s in family.samples} == {f"{family.name}_total"}
        if family.type == "histogram":
            assert family.name.endswith("_duration_seconds")
    assert ours >= 18


def test_no_edit_statistic_is_a_metric() -> None:
    """Without leave neither inserted counts nor cost can be read off: nothing speaks of them.

    But for why a release was withheld: such a reason says on which side of a bound it was.
    """
    worth = {f'reason="{reason}"' for reason in ("costs_more_than_nothing", "below_min_f1")}
    withheld = {f"ktsafe_releases_withheld_total{{{reason}}} 0.0" for reason in worth}
    lines = set(samples(told()))
    assert withheld <= lines
    lines -= withheld
    assert not [s for s in lines if re.search("insert|fake|cost|dummy|copies|edit|_min|below", s)]


def test_secrets_are_marked_and_nothing_else_is() -> None:
    """What leave adds says SECRET in its help text, name by name."""
    help_of = {}
    for secrets in (False, True):
        _, body = told(secrets=secrets).exposition()
        help_of[secrets] = dict(re.findall(r"^# HELP (\S+) (.*)$", body.decode(), re.MULTILINE))
    added = help_of[True].keys() - help_of[False].keys()
    assert len(added) == 11
    assert {name for name, text in help_of[True].items() if "SECRET" in text} == added


def test_true_sizes_are_marked_private() -> None:
    """Metrics that show the true graph say so in their help text."""
    _, body = told().exposition()
    help_of = dict(re.findall(r"^# HELP (\S+) (.*)$", body.decode(), re.MULTILINE))
    for name in ("ktsafe_graph_elements", "ktsafe_store_size_bytes", "ktsafe_events_total"):
        assert "PRIVATE" in help_of[name]


def test_exposition_follows_the_accept_header() -> None:
    """OpenMetrics is given to whoever asks for it, the plain text format to everybody else."""
    metrics = PrometheusMetrics()
    plain, _ = metrics.exposition()
    asked, body = metrics.exposition("application/openmetrics-text; version=1.0.0")
    assert plain.startswith("text/plain")
    assert asked.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
