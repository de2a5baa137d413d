"""The secrets of the last release as metrics: its cost, and how many candidates are people.

The number of inserted vertices and edges of a release is secret to its readers. These
metrics are for a Prometheus and dashboards that only the operators of the true graph see; they
exist only where `[metrics] figures` admits them (ADR 19).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from ktsafe.attacks.risk_curve import SEEDS, TIES, said
from ktsafe.stream.files.freshness_figures import (
    CHANGED,
    FRESHNESS,
    FRESHNESS_AGES,
    FreshnessFigures,
)
from ktsafe.stream.files.release_figures import (
    ATTACKS_TOLD,
    CANDIDATES,
    COST_PARTS,
    SENSITIVE,
    WATCHED,
    YARDSTICKS,
    Attacked,
    Secrets,
)

UNKNOWN: Final = float("nan")
RISK_HELP: Final = (
    "SECRET: share of people found by an attacker that knows everybody's attributes, and these "
    "shares of the true ties and of the people (the risk curve)."
)
ATTACK_FIGURES: Final = ("value", "low", "high", "control", "promise")


class SecretMetrics:
    """Gauges of the last staged release, NaN before the first and where the audit does not tell."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._cost = _gauge(
            "ktsafe_release_cost_elements",
            "SECRET: elements by which the last release differs from the true graph, by part.",
            ("part", COST_PARTS),
            registry,
        )
        self._yardsticks = _gauge(
            "ktsafe_release_cost_yardstick_elements",
            "SECRET: what the cost is compared with: k disjoint copies.",
            ("yardstick", tuple(YARDSTICKS)),
            registry,
        )
        self._worth = _gauge(
            "ktsafe_release_usefulness_ratio",
            "SECRET: edge and vertex cost over what is true (a cost of 1 is that of publishing "
            "nothing), and precision, recall and F1 of edges and vertices; edge_f1_afresh: the F1 "
            "of edges of a release of the same true graph that has no past; edge_f1_latest: that "
            "of the latest graph, where pairs without edges are as they were shown last.",
            ("figure", tuple(WATCHED)),
            registry,
        )
        self._least = _gauge(
            "ktsafe_release_candidates_min",
            "SECRET: candidates of the worst placed, by the definition (claimed, sequence), real "
            "people only (real, sequence_real), for an attacker that knows true ties (known) or "
            "saw a change.",
            ("of", tuple(CANDIDATES)),
            registry,
        )
        self._below_k = _gauge(
            "ktsafe_release_below_k_ratio",
            "SECRET: share of people with fewer than k candidates, counted in the same ways.",
            ("of", tuple(CANDIDATES)),
            registry,
        )
        self._sensitive = _gauge(
            "ktsafe_release_sensitive_max_ratio",
            "SECRET: greatest share of sensitive ones among anybody's candidates.",
            ("of", tuple(SENSITIVE)),
            registry,
        )
        self._attacks = Gauge(
            "ktsafe_release_attack_ratio",
            "SECRET: what each attack on the last release finds, by its sharpest variant: share "
            "of people, or area under the curve where nothing is promised.",
            ["attack", "figure"],
            registry=registry,
        )
        labels = ["ties", "seeds"]
        self._risk = Gauge("ktsafe_release_risk_ratio", RISK_HELP, labels, registry=registry)
        self._freshness = Gauge(
            "ktsafe_release_freshness_ratio",
            "SECRET: how far the last release follows what changed, by age in releases: new ties "
            "shown (ties_shown), their ratio to older ties (ties_ratio; published_ratio where both "
            "people are published), ended ties and departed people still shown, newcomers shown.",
            ["figure", "age"],
            registry=registry,
        )
        self._changed = _gauge(
            "ktsafe_release_changed_edges",
            "SECRET: edges that came and went with the last release, and how many of those that "
            "came are true.",
            ("change", CHANGED),
            registry,
        )
        self._show_attacks({})
        self._show_risk({})
        self._show_freshness(None)

    def show(self, secrets: Secrets) -> None:
        """Show the secrets of a release instead of those of the one before."""
        for part in COST_PARTS:
            self._cost.labels(part).set(secrets.cost[part])
        for yardstick in YARDSTICKS:
            _set(self._yardsticks.labels(yardstick), secrets.yardsticks[yardstick])
        for name in WATCHED:
            _set(self._worth.labels(name), secrets.worth.get(name))
        for name in CANDIDATES:
            found = secrets.candidates.get(name)
            _set(self._least.labels(name), found.least if found else None)
            _set(self._below_k.labels(name), found.share if found else None)
        for name in SENSITIVE:
            _set(self._sensitive.labels(name), secrets.sensitive.get(name))
        self._show_attacks(secrets.attacks)
        self._show_risk(secrets.risk)
        self._show_freshness(secrets.freshness)

    def _show_freshness(self, found: FreshnessFigures | None) -> None:
        for name in FRESHNESS:
            for age in FRESHNESS_AGES:
                value = None if found is None else found.by_age[name][age]
                _set(self._freshness.labels(name, age), value)
        for name in CHANGED:
            _set(self._changed.labels(name), None if found is None else found.changed[name])

    def _show_attacks(self, found: Mapping[str, Attacked]) -> None:
        for attack in ATTACKS_TOLD:
            for figure in ATTACK_FIGURES:
                value = getattr(found[attack], figure) if attack in found else None
                _set(self._attacks.labels(attack, figure), value)

    def _show_risk(self, found: Mapping[str, float]) -> None:
        for ties in TIES:
            for seeds in SEEDS:
                gauge = self._risk.labels(f"{ties:.0%}", f"{seeds:.0%}")
                _set(gauge, found.get(said(ties, seeds)))


def _gauge(
    name: str, help_text: str, label: tuple[str, tuple[str, ...]], registry: CollectorRegistry
) -> Gauge:
    """Return a gauge of one label with every value present from the start, as NaN."""
    label_name, values = label
    gauge = Gauge(name, help_text, [label_name], registry=registry)
    for value in values:
        gauge.labels(value).set(UNKNOWN)
    return gauge


def _set(gauge: Gauge, value: float | None) -> None:
    gauge.set(UNKNOWN if value is None else value)
