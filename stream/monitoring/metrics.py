"""Metrics for Prometheus; those that tell secrets stand apart.

The number of unowned vertices and inserted edges of a release is secret to its readers. So what
tells of it stands in `SECRETS`, and is there only for operators that must show a token (`[metrics]
token_file`, decision 19).

A metric may be added: `make reference`, and a place on a dashboard of the secret folder or in a
rule (tests/ops/test_dashboards.py). What tells edits never goes to `metrics_table.METRICS`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from importlib.metadata import version
from typing import Any, Final

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
from ktsafe.stream.files.release_figures import (
    ATTACKS_TOLD,
    CANDIDATES,
    CHANGED,
    COST_PARTS,
    FRESHNESS,
    FRESHNESS_AGES,
    RISK_SEEDS,
    RISK_TIES,
    SENSITIVE,
    WATCHED,
    YARDSTICKS,
    ReleaseFigures,
    Secrets,
)
from ktsafe.stream.monitoring.metrics_table import METRICS, NOW, UNKNOWN, Metric, Samples
from ktsafe.stream.observer import NOTICES, Observer

ATTACK_FIGURES: Final = ("value", "low", "high", "control", "promise")


def _secret(
    name: str,
    text: str,
    labels: Mapping[str, tuple[str, ...]],
    samples: Callable[[Secrets], Samples],
) -> Metric:
    """Return a gauge of the last staged release, NaN without a figure."""

    def read(figures: ReleaseFigures) -> Samples:
        return {} if figures.secrets is None else samples(figures.secrets)

    text = f"SECRET: {text}"
    return Metric(name, "release_audited", text, labels, read, at_start=UNKNOWN)


def _by_name(field: str, names: Iterable[str]) -> Callable[[Secrets], Samples]:
    return lambda secrets: {(name,): getattr(secrets, field).get(name) for name in names}


def _candidates(figure: str) -> Callable[[Secrets], Samples]:
    return lambda secrets: {
        (of,): getattr(secrets.candidates.get(of), figure, None) for of in CANDIDATES
    }


def _attacks(secrets: Secrets) -> Samples:
    return {
        (attack, figure): getattr(secrets.attacks.get(attack), figure, None)
        for attack in ATTACKS_TOLD
        for figure in ATTACK_FIGURES
    }


def _risk(secrets: Secrets) -> Samples:
    return {
        (f"{ties:.0%}", f"{seeds:.0%}"): secrets.risk.get(f"{ties:.0%} ties, {seeds:.0%} seeds")
        for ties in RISK_TIES
        for seeds in RISK_SEEDS
    }


def _freshness(secrets: Secrets) -> Samples:
    found = secrets.freshness
    return {
        (figure, age): None if found is None else found.by_age[figure][age]
        for figure in FRESHNESS
        for age in FRESHNESS_AGES
    }


def _margin_until(secrets: Secrets) -> Samples:
    until = secrets.margin_until
    return {(): None if until is None else datetime.fromisoformat(until).timestamp()}


def _changed(secrets: Secrets) -> Samples:
    found = secrets.freshness
    return {(change,): None if found is None else found.changed[change] for change in CHANGED}


SECRETS: Final = (
    _secret(
        "ktsafe_release_cost_elements",
        "elements by which the last release differs from the true graph, by part.",
        {"part": tuple(COST_PARTS)},
        _by_name("cost", COST_PARTS),
    ),
    _secret(
        "ktsafe_release_cost_yardstick_elements",
        "what the cost is compared with: k disjoint copies.",
        {"yardstick": tuple(YARDSTICKS)},
        _by_name("yardsticks", YARDSTICKS),
    ),
    _secret(
        "ktsafe_release_usefulness_ratio",
        "edge and vertex cost over what is true (a cost of 1 is that of publishing nothing), and "
        "precision, recall and F1 of edges and vertices; edge_f1_afresh: the F1 of edges of a "
        "release of the same true graph that has no past; edge_f1_latest: that of the latest "
        "graph, where pairs without edges are as they were shown last.",
        {"figure": WATCHED},
        _by_name("worth", WATCHED),
    ),
    _secret(
        "ktsafe_release_candidates_min",
        "candidates of the worst placed, by the definition (claimed, sequence), real people only "
        "(real, sequence_real), for an attacker that knows true ties (known) or saw a change.",
        {"of": tuple(CANDIDATES)},
        _candidates("least"),
    ),
    _secret(
        "ktsafe_release_below_k_ratio",
        "share of people with fewer than k candidates, counted in the same ways.",
        {"of": tuple(CANDIDATES)},
        _candidates("share"),
    ),
    _secret(
        "ktsafe_release_sensitive_max_ratio",
        "greatest share of sensitive ones among anybody's candidates.",
        {"of": tuple(SENSITIVE)},
        _by_name("sensitive", SENSITIVE),
    ),
    _secret(
        "ktsafe_release_margin_until_timestamp_seconds",
        "when one cohort is expected to have fewer than k people, at the pace at which people left "
        "so far; until then rebase, or live with it.",
        {},
        _margin_until,
    ),
    _secret(
        "ktsafe_release_attack_ratio",
        "what each attack on the last release finds, by its sharpest variant: share of people, or "
        "area under the curve where nothing is promised.",
        {"attack": ATTACKS_TOLD, "figure": ATTACK_FIGURES},
        _attacks,
    ),
    _secret(
        "ktsafe_release_risk_ratio",
        "share of people found by an attacker that knows everybody's attributes, and these shares "
        "of the true ties and of the people (the risk curve).",
        {
            "ties": tuple(f"{ties:.0%}" for ties in RISK_TIES),
            "seeds": tuple(f"{seeds:.0%}" for seeds in RISK_SEEDS),
        },
        _risk,
    ),
    _secret(
        "ktsafe_release_freshness_ratio",
        "how far the last release follows what changed, by age in releases: new ties shown "
        "(ties_shown), their ratio to older ties (ties_ratio; published_ratio where both people "
        "are published), ended ties and departed people still shown, newcomers shown.",
        {"figure": tuple(FRESHNESS), "age": FRESHNESS_AGES},
        _freshness,
    ),
    _secret(
        "ktsafe_release_changed_edges",
        "edges that came and went with the last release, and how many of those that came are true.",
        {"change": tuple(CHANGED)},
        _changed,
    ),
)


# The service's metrics for Prometheus, made from the table `metrics_table.METRICS`.
#
# Every notice of the observer goes to the metrics whose source it is.


class PrometheusMetrics(Observer):
    """Keeps the service's figures in its own registry, and renders it.

    Safe to use from several threads.

    Parameters
    ----------
    params:
        The parameters promised, to compare with; by default the default ones.
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
        self._nominal_s = wall_s()
        self._is_ready = False
        shown = (*METRICS, *SECRETS) if secrets else METRICS
        self._made = {metric.name: _made(metric, self.registry) for metric in shown}
        self._told = {
            source: [metric for metric in shown if metric.source == source]
            for source in (*NOTICES, "settings")
        }
        for notice in set(NOTICES) - vars(PrometheusMetrics).keys():
            setattr(self, notice, partial(self._tell, notice))
        self._tell("settings", params or PrivacyParams())
        self._tell("alive")
        age = self._made["ktsafe_release_age_seconds"]
        age.labels("nominal").set_function(lambda: self._wall_s() - self._nominal_s)
        age.labels("published").set_function(lambda: self._monotonic_s() - self._published_at_s)
        build = Info("ktsafe_build", "Version of the service.", registry=self.registry)
        build.info({"version": version("ktsafe")})
        ProcessCollector(registry=self.registry)

    @property
    def is_ready(self) -> bool:
        """Whether the service is consuming and able to publish."""
        return self._is_ready

    def silence_s(self) -> float:
        """Return the seconds since the main loop last went round."""
        return max(0.0, self._monotonic_s() - self._alive_at_s)

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        """Return content type and body of a scrape, as `accept` asks."""
        encoder, content_type = choose_encoder(accept)
        return content_type, encoder(self.registry)

    def release_published(
        self, release_id: str, nominal_us: int, vertices: int, edges: int
    ) -> None:
        """Show the release that the sink confirmed; its age begins again."""
        self._published_at_s = self._monotonic_s()
        self._nominal_s = nominal_us / 1e6
        self._tell("release_published", release_id, nominal_us, vertices, edges)

    def ready(self, is_ready: bool) -> None:
        """Show whether the service is ready."""
        self._is_ready = is_ready
        self._tell("ready", is_ready)

    def alive(self) -> None:
        """Note that the main loop went round."""
        self._alive_at_s = self._monotonic_s()
        self._tell("alive")

    def _tell(self, source: str, *given: Any, **named: Any) -> None:
        """Show a notice by each metric that is taken from it."""
        for metric in self._told[source]:
            made = self._made[metric.name]
            for values, number in metric.samples(*given, **named).items():
                sample = made.labels(*_listed(metric, values)) if values else made
                _add(metric.kind, sample, self._wall_s() if number == NOW else number)


def _made(metric: Metric, registry: CollectorRegistry) -> Any:
    """Return a metric with all values of its labels from the start."""
    about = metric.name, metric.text, list(metric.labels)
    if metric.kind == "histogram":
        made: Any = Histogram(*about, buckets=metric.buckets, registry=registry)
    else:
        made = (Counter if metric.kind == "counter" else Gauge)(*about, registry=registry)
    if metric.labels:
        samples = [made.labels(*values) for values in itertools.product(*metric.labels.values())]
    else:
        samples = [made]
    if metric.kind == "gauge":
        for sample in samples:
            sample.set(metric.at_start)
    return made


def _listed(metric: Metric, values: tuple[str, ...]) -> list[str]:
    """Return labels' values, unlisted ones as the last one."""
    return [
        value if value in known or not known else known[-1]
        for value, known in zip(values, metric.labels.values(), strict=True)
    ]


def _add(kind: str, sample: Any, number: float | None) -> None:
    match kind:
        case "counter":
            sample.inc(number)
        case "histogram":
            sample.observe(number)
        case _:
            sample.set(UNKNOWN if number is None else number)
