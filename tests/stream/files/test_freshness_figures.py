"""Freshness and worth over time, as operators are told."""

from __future__ import annotations

from ktsafe.assess.releases.worth import describe_life, over_releases
from ktsafe.stream.files.release_figures import (
    FRESHNESS,
    FRESHNESS_AGES,
    FreshnessFigures,
    freshness_in_words,
    freshness_of,
    over_time_in_words,
    worth_over_time,
)
from tests.ktsafe.assess.report.examples import told


def test_audits_that_do_not_tell_have_no_figures() -> None:
    """Audits of single releases and of former versions cost a line, nothing else."""
    audit = told().audit
    assert freshness_of(audit) is None
    f1 = round(audit.usefulness.edges.f1, 6)
    rows = over_releases([audit])
    assert rows.worth["edge_f1"] == {"mean": f1, "worst": f1}
    assert f"{f1:.2f}" in describe_life(rows)


def test_nothing_is_said_where_nothing_changed() -> None:
    """Without changes there is no line, and shares of nothing are no zeros."""
    nothing = {name: dict.fromkeys(FRESHNESS_AGES) for name in FRESHNESS}
    found = FreshnessFigures(nothing, {"came": 0, "gone": 0, "came_true": 0})
    assert freshness_in_words(found) == ""


def test_the_worst_of_a_cost_is_the_greatest() -> None:
    """Of a share that should be high it is the least; releases that do not tell are passed over."""
    releases = [
        {"edge_f1": 0.5, "edge_cost_share": 0.25},
        {"edge_f1": None, "edge_cost_share": None},
        {"edge_f1": 1.0, "edge_cost_share": 0.75},
    ]
    found = worth_over_time(releases)
    assert found["edge_f1"] == {"mean": 0.75, "worst": 0.5}
    assert found["edge_cost_share"] == {"mean": 0.5, "worst": 0.75}
    words = "mean of 2 releases: F1 0.75 (worst 0.50), cost 0.50 (worst 0.75)"
    assert over_time_in_words(releases) == words
    assert over_time_in_words(releases[:2]) == ""
