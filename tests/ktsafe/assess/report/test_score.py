"""The score of a release and its parts."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import asdict, replace

from ktsafe import AttributedGraph, Schema
from ktsafe.assess.report.score import READS, READS_OVER_TIME, REMEDIES, score
from ktsafe.assess.utility import utility_figures
from ktsafe.audit import Traced, trace, usefulness
from ktsafe.audit.changes_by_age import (
    AgedFigures,
    AgedTiesFigures,
    Changed,
    TiesOfAge,
    ToldFreshness,
)
from ktsafe.audit.release_audit import Size, Sizes
from ktsafe.graph.synthetic import uniform
from ktsafe.stream.files.audit_model import Audit, Utility
from tests.ktsafe.assess.report.examples import figures, graph, told


def audit_of(traced: Traced, utility: Utility) -> Audit:
    """Return the audit of a release as far as the score reads it."""
    audit = convert(figures(), Audit)
    return replace(audit, usefulness=usefulness(traced), utility=utility)


def test_the_truth_itself_has_the_full_score() -> None:
    """Released as it is, a graph has 1 in every part but communities, which differ by run."""
    true = graph()
    traced = trace(true, true, np.arange(true.n_vertices))
    measured = utility_figures(traced, rng=np.random.default_rng(0))
    communities = replace(measured.communities, ami=measured.communities.ami_again)
    measured = replace(measured, communities=communities)
    found, told = score(audit_of(traced, measured))
    assert {part.name: part.score for part in told} == dict.fromkeys(READS, 1.0)
    assert found == 1.0


def test_a_release_without_ties_is_good_for_nothing_but_people() -> None:
    """Everybody alone agrees well with small communities; that is no merit, nor is any distance."""
    true = graph()
    bare = AttributedGraph.from_codes(true.schema, true.categories, true.codes, [])
    traced = trace(true, bare, np.arange(true.n_vertices))
    measured = utility_figures(traced, rng=np.random.default_rng(0))
    found, told = score(audit_of(traced, measured))
    parts = {part.name: part.score for part in told}
    wanted = ("Ties", "Degrees", "Distances", "Clustering", "Communities")
    assert {parts[name] for name in wanted} == {0.0}
    assert (parts["People"], parts["Attributes"]) == (1.0, 1.0)
    assert found == 0.0


NETWORKS = {
    "uniform": lambda rng: uniform(400, 4000, rng=rng, n_tuples=4),
    "sparse": lambda rng: uniform(600, 1800, rng=rng, n_tuples=4),
    "dense": lambda rng: uniform(150, 4000, rng=rng, n_tuples=3),
    "planted": lambda _: planted(8, 40, 0.3, 0.01),
    "circles": lambda _: planted(30, 12, 0.7, 0.01),
}


def planted(groups: int, size: int, inside: float, across: float) -> AttributedGraph:
    """Return a graph of communities whose people have three values at random."""
    graph = nx.planted_partition_graph(groups, size, inside, across, seed=1)
    values = np.random.default_rng(1).integers(0, 3, graph.number_of_nodes())
    schema = Schema(("kind",), "state", frozenset({"ill"}), expect_absent={"ill"})
    columns = {"kind": [f"kind{value}" for value in values], "state": ["well"] * len(values)}
    return AttributedGraph.from_columns(schema, columns, list(graph.edges))


def score_of_share(true: AttributedGraph, share: float) -> float:
    """Return the score of a release that shows a random share of the ties, and no others."""
    order = np.random.default_rng(3).permutation(true.n_edges)
    kept = true.edges[np.sort(order[: round(share * true.n_edges)])]
    shown = AttributedGraph.from_codes(true.schema, true.categories, true.codes, kept)
    traced = trace(true, shown, np.arange(true.n_vertices))
    measured = utility_figures(traced, rng=np.random.default_rng(0))
    found, _ = score(audit_of(traced, measured))
    assert found is not None
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_the_score_rises_with_the_share_of_ties(name: str) -> None:
    """No ties score 0, a hundredth of them at most .1; each further tenth scores more."""
    true = NETWORKS[name](np.random.default_rng(2))
    assert score_of_share(true, 0) == 0
    assert score_of_share(true, 0.01) <= 0.1
    scores = [score_of_share(true, tenths / 10) for tenths in range(11)]
    assert scores == sorted(scores)


def test_a_part_that_is_not_known_leaves_no_score() -> None:
    """A mean of fewer parts would be another score."""
    audit = figures()
    assert score(convert(audit, Audit))[0] is not None
    found, parts = score(replace(convert(audit, Audit), utility=None))
    assert found is None
    assert [part.name for part in parts if part.score is not None] == ["Ties", "People"]


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0, 1),
    st.floats(0, 100),
    st.none() | st.floats(0, 20),
    st.none() | st.floats(0, 20),
)
def test_every_part_lies_between_nothing_and_the_truth(f1, moved, hops, more_hops) -> None:
    """Whatever the figures, parts and score are from 0 to 1; no score exceeds People."""
    audit = figures()
    audit["usefulness"]["edges"]["f1"] = f1
    audit["utility"]["degree_emd"] = moved
    audit["utility"]["paths"]["mean_hops"] = {"original": hops, "released": more_hops}
    found, told = score(convert(audit, Audit))
    parts = {part.name: part.score for part in told}
    assert all(part is None or 0 <= part <= 1 for part in parts.values())
    if None in parts.values():
        assert found is None
    else:
        assert 0 <= found <= parts["People"] + 1e-6


def year(ties: list[set[int]], shown: list[set[int]]) -> list[Audit]:
    """Return audits of releases whose ties, true and shown, are numbers; counted by sets."""
    audits: list[Audit] = []
    for i, (true, released) in enumerate(zip(ties, shown, strict=True)):
        began = true - ties[0]
        ended = {tie for j in range(i) for tie in (ties[j] & shown[j]) - true}
        nothing, audit = TiesOfAge(0, None, None, AgedTiesFigures(0, None, None)), told().audit
        by_age = (
            {"recent": aged({tie for tie in ended if tie % 2}, released)},
            {"recent": aged({tie for tie in ended if not tie % 2}, released)},
        )
        ties_of_age = {"recent": replace(nothing, **asdict(aged(began, released)))}
        changed = Changed(0, 0, 0, None)
        latest = audit.usefulness.edges
        fresh = ToldFreshness(ties_of_age, *by_age, {}, {}, changed, latest)
        size = Sizes(Size(0, len(true)), Size(0, len(released)))
        audits.append(replace(audit, size=size, freshness=fresh))
    return audits


def aged(some: set[int], released: set[int]) -> AgedFigures:
    """Return how many there are and the share of them that is shown."""
    return AgedFigures(len(some), len(some & released) / len(some) if some else None)


def over_time(history: list[Audit]) -> dict[str, float]:
    """Return the parts over time."""
    found, parts = score(told().audit, history)
    scores = {part.name: part.score for part in parts if part.score is not None}
    limits = [scores[name] for name in ("People", "Attributes")]
    ties = [scores[name] for name in scores.keys() - {"People", "Attributes"}]
    assert found == pytest.approx(np.mean(ties) * np.prod(limits), abs=1e-5)
    return {name: value for name, value in scores.items() if name in READS_OVER_TIME}


def test_parts_over_time_are_those_of_sets_of_ties() -> None:
    """Of 40 new ties 10 are shown, of 20 ended ones 5 still: .25 times .75; 15 for 20 more: .75."""
    true = [set(range(100)), set(range(20, 140))]
    late = set(range(15, 20)) | set(range(20, 90)) | set(range(100, 110)) | set(range(200, 230))
    assert over_time(year(true, [true[0], late])) == {"Trend": 0.75, "Freshness": 0.1875}
    assert over_time(year(true, true)) == {"Trend": 1.0, "Freshness": 1.0}


@given(*[st.sets(st.integers(0, 30), min_size=1)] * 4)
def test_parts_over_time_equal_a_count_of_sets(first, then, shown, shown_then) -> None:
    """Whatever is true and shown: both changes, and what is shown of new and ended ties."""
    true, released = len(then) - len(first), len(shown_then) - len(shown)
    expected = {}
    if true and 100 * abs(true) >= len(first):
        low, high = sorted((abs(true), abs(released)))
        expected["Trend"] = low / high if true * released > 0 else 0.0
    if new := then - first:
        ended = (first & shown) - then
        still = len(ended & shown_then) / len(ended) if ended else 0.0
        expected["Freshness"] = len(new & shown_then) / len(new) * (1 - still)
    assert over_time(year([first, then], [shown, shown_then])) == pytest.approx(expected, abs=1e-6)


def test_the_other_sign_and_no_edges_are_worth_nothing() -> None:
    """Fewer ties where there are more, and nothing at all, have 0 in both parts."""
    true = [set(range(100)), set(range(140))]
    assert over_time(year(true, [true[0], set(range(90))])) == {"Trend": 0.0, "Freshness": 0.0}
    assert over_time(year(true, [set(), set()])) == {"Trend": 0.0, "Freshness": 0.0}


def test_where_nothing_is_followed_there_are_no_parts_over_time() -> None:
    """A single release, and a sequence whose ties hardly change, keep the parts of one release."""
    ties = set(range(1000))
    assert over_time(year([ties], [ties])) == {}
    assert over_time(year([ties, ties], [ties, ties])) == {}


def test_each_low_part_says_what_to_do() -> None:
    """Every part has a remedy; it is told of low parts that were measured, and of no others."""
    assert set(REMEDIES) == {*READS, *READS_OVER_TIME}
    poor = replace(convert(figures(), Audit), utility=None)
    worth = poor.usefulness
    edges, vertices = replace(worth.edges, f1=0.3), replace(worth.vertices, f1=0.95)
    poor = replace(poor, usefulness=replace(worth, edges=edges, vertices=vertices))
    found = {part.name: part.do for part in score(poor)[1]}
    assert {name for name, do in found.items() if do} == {"Ties"}
