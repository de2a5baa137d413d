"""The table of the secret metrics: cost of the last release, people among candidates, attacks.

The number of inserted vertices and edges of a release is secret to its readers. These
metrics are for a Prometheus and dashboards that only the operators of the true graph see; they
exist only where `[metrics] figures` admits them (decision 19).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from ktsafe.stream.files.freshness_figures import CHANGED, FRESHNESS, FRESHNESS_AGES
from ktsafe.stream.files.release_figures import (
    ATTACKS_TOLD,
    CANDIDATES,
    COST_PARTS,
    RISK_SEEDS,
    RISK_TIES,
    SENSITIVE,
    WATCHED,
    YARDSTICKS,
    ReleaseFigures,
    Secrets,
)
from ktsafe.stream.monitoring.metrics_table import UNKNOWN, Metric, Samples

ATTACK_FIGURES: Final = ("value", "low", "high", "control", "promise")


def _secret(
    name: str,
    text: str,
    labels: Mapping[str, tuple[str, ...]],
    samples: Callable[[Secrets], Samples],
) -> Metric:
    """Return a gauge of the last staged release, NaN where the audit does not tell."""

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
