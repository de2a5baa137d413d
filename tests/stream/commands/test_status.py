"""What `ktsafe status` prints of a service's report."""

from __future__ import annotations

import msgspec

from ktsafe.stream.commands.running import lines_of
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
from ktsafe.stream.monitoring.diagnosis import Report


def release(secrets: Secrets | None, statistics: StatisticsBudget | None = None) -> ReleaseFigures:
    """Return a release as the running service sends it."""
    return ReleaseFigures(
        release_id="r1",
        nominal_us=0,
        vertices=12,
        edges=34,
        is_published=True,
        secrets=secrets,
        statistics=statistics,
    )


def text_of(*releases: ReleaseFigures, **told: object) -> str:
    """Return what is printed of a service with these releases."""
    feed = {"records": 0, "applied": 0, "ignored": 0, "dead_letters": {}, "attributes_dropped": 0}
    others = {
        "version": "",
        "state": "ready",
        "at_s": 0,
        "started_s": 0,
        "guarantee": "",
        "params": {},
    }
    others |= {"building": "", "published": 0, "withheld": {}, "slots_skipped": 0, "problems": []}
    others |= {"feed": {**feed, "lag": None, "per_second": None, "trend": []}, "true_graph": None}
    whole = {**others, "secrets_shown": True, "releases": msgspec.to_builtins(releases), **told}
    return "\n".join(lines_of(msgspec.convert(whole, Report), {}))


def test_the_budget_of_statistics_stands_beside_the_size() -> None:
    """What the last file cost, the year, and what is left; nothing where there is no budget."""
    text = text_of(release(None, StatisticsBudget(350_000, 10**6, 0)))
    assert "statistics: epsilon 0.35, epsilon 1 of a year spent, 0 left" in text
    text = text_of(release(None))
    assert "statistics" not in text


def test_usefulness_stands_beside_the_size() -> None:
    """Each release says what it is worth where the audit tells, and nothing where it does not."""
    told = release(Secrets({}, {}, {}, {}, {"edge_f1": 0.625, "edge_cost_share": 0.75}))
    text = text_of(told)
    assert "r1: 12 vertices, 34 edges" in text
    assert "F1 0.62, cost 0.75 of the ties" in text
    for secrets in (None, Secrets({}, {}, {}, {})):
        text = text_of(release(secrets))
        assert "F1" not in text


def test_safety_stands_beside_the_size() -> None:
    """Fewest candidates, people among them, and the attack that comes nearest to its promise."""
    candidates = {"sequence": CandidateFigures(10, 0, 0.0), "real": CandidateFigures(7, 1_234, 0.2)}
    attacks = {
        "one_hop": Attacked(0.05, 0.04, 0.06, 0.01, 0.1),
        "changes": Attacked(0.09, 0.01, 0.2, 0.01, 0.1),
        "membership_of_ties": Attacked(0.9, 0.8, 0.95, 0.5, None),
    }
    told = release(Secrets({}, {}, candidates, {}, {}, attacks))
    text = text_of(told)
    assert "people 7; 1,234 people with fewer than k of them; fewest candidates 10" in text
    assert "changes finds 0.090, bound 0.100" in text
    told = release(Secrets({}, {}, {}, {}))
    text = text_of(told)
    assert "candidates" not in text


def test_freshness_and_the_mean_of_all_releases_are_told() -> None:
    """How far the release follows stands beside it; the worth of the sequence is its mean."""
    by_age = {name: dict.fromkeys(FRESHNESS_AGES) for name in FRESHNESS}
    by_age |= {
        "ties_shown": dict.fromkeys(FRESHNESS_AGES, 0.4),
        "ties_ratio": dict.fromkeys(FRESHNESS_AGES, 0.8),
        "ended_shown": dict.fromkeys(FRESHNESS_AGES, 0.125),
    }
    found = FreshnessFigures(by_age, {"came": 1_200, "gone": 90, "came_true": 700})
    worths = [
        {"edge_f1": f1, "edge_cost_share": 1 - f1, "edge_f1_latest": 0.7} for f1 in (0.5, 0.75)
    ]
    releases = [release(Secrets({}, {}, {}, {}, worth, {}, found)) for worth in worths]
    text = text_of(*releases)
    assert "40.0% of new ties shown (0.80 of older ones), 12.5% of ended ones still" in text
    assert "1,200 edges came, 90 went" in text
    assert "F1 0.62 (worst 0.50), cost 0.38 (worst 0.50), F1 of the latest graph 0.70" in text
    text = text_of(releases[0])
    assert "mean of" not in text


def test_withheld_releases_are_told_by_reason() -> None:
    """The owner's floor shows where the operator looks first."""
    text = text_of(withheld={"below_min_f1": 2})
    assert "withheld  2 below_min_f1; the last release stands" in text
