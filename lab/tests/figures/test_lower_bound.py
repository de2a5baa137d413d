"""The lower bound never exceeds what some safe release costs, and is not trivial."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.audit import cost_parts, trace
from ktsafe_lab.figures.lower_bound import (
    blocks_bound,
    cost_over_bound,
    crowded_hubs_bound,
    insertion_lower_bound,
)
from lab.tests.figures import naive_costs
from tests.graphs import (
    attributed,
    paper_anonymized,
    paper_original,
    params_of,
    regular,
    small_graphs,
    stars,
    tolerances,
    union,
)
from tests.naive import Small, Tolerance


def descending(degrees: list[int]) -> np.ndarray:
    return np.array(sorted(degrees, reverse=True), dtype=np.int64)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 2))
@settings(deadline=None, max_examples=120)
def test_blocks_never_exceed_the_cheapest_lifts(degrees: list[int], k: int, slack: int) -> None:
    """Half the cheapest lifts of a class, all targets tried, is at least the block bound."""
    cheapest = naive_costs.cheapest_lifts(degrees, k, slack, inserted_max=k)
    assert blocks_bound([descending(degrees)], k, slack) <= -(-cheapest // 2)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 3))
@settings(deadline=None, max_examples=80)
def test_blocks_are_exact_without_slack(degrees: list[int], k: int) -> None:
    """With epsilon = 0 the blocks are the groups of k-degree anonymity: the bound is attained."""
    cheapest = naive_costs.cheapest_lifts(degrees, k, 0, inserted_max=k)
    assert blocks_bound([descending(degrees)], k, 0) == -(-cheapest // 2)


@given(small_graphs(max_vertices=5, max_attributes=1), tolerances())
@settings(deadline=None, max_examples=40)
def test_never_exceeds_the_cheapest_insertion(graph: Small, tolerance: Tolerance) -> None:
    """On tiny graphs no inserted vertices and edges that make all PS large are below the bound."""
    tolerance = tolerance._replace(k=min(tolerance.k, 3))
    cheapest = naive_costs.cheapest_insertions(graph, tolerance, edges_max=4, vertices_max=1)
    bound = insertion_lower_bound(attributed(graph), params_of(tolerance))
    assert cheapest is None or bound <= cheapest


@given(small_graphs(max_vertices=12), tolerances())
@settings(deadline=None)
def test_never_exceeds_disjoint_copies(graph: Small, tolerance: Tolerance) -> None:
    """K copies have large enough protection sets, and cost (k - 1)(|V| + |E|)."""
    copies = (tolerance.k - 1) * (len(graph.is_sensitive) + len(graph.edges))
    assert insertion_lower_bound(attributed(graph), params_of(tolerance)) <= copies


@given(
    st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=30), max_size=4),
    st.integers(1, 6),
    st.integers(0, 4),
)
def test_both_bounds_cover_the_hub_bound(classes: list[list[int]], k: int, slack: int) -> None:
    """Half of what k - 1 others lack to reach each class's top hub is a floor of both bounds."""
    ends = 0
    for degrees in map(descending, classes):
        top = np.zeros(k, dtype=np.int64)
        top[: len(degrees)] = degrees[:k]
        ends += int(np.maximum(0, top[0] - slack - top).sum()) + 2 * max(0, k - len(degrees))
    hub = -(-ends // 2)
    sequences = [descending(degrees) for degrees in classes]
    assert blocks_bound(sequences, k, slack) >= hub
    assert crowded_hubs_bound(sequences, k, slack) >= hub


def test_hubs_cannot_spend_their_edges_on_each_other() -> None:
    """One hub of degree 100 and k = 3: two others need 98 edges each and share at most one."""
    hub = descending([100] + [1] * 100)
    assert crowded_hubs_bound([hub], 3, 1) == 98 + 98 - 1
    assert blocks_bound([hub], 3, 1) == 98


def test_second_hubs_count_too() -> None:
    """Two far-apart levels in one class both need company; the hub bound saw only the first."""
    degrees = descending([50, 50, 50, 20, 12, 11, 0, 0, 0])
    assert blocks_bound([degrees], 3, 0) == 9
    assert crowded_hubs_bound([degrees], 3, 0) == 0


@pytest.mark.parametrize("graph", [regular(10, 3), stars(10, 4), Small([], [], [])])
def test_safe_graphs_cost_nothing(graph: Small) -> None:
    """Where every vertex has ten equals the bound is 0."""
    tolerance = Tolerance(10, Fraction(0), Fraction(1, 5), 0)
    assert insertion_lower_bound(attributed(graph), params_of(tolerance)) == 0


def test_small_classes_need_inserted_vertices() -> None:
    """Nine isolated vertices and one that has a neighbour of its own kind: counted by hand."""
    tolerance = Tolerance(4, Fraction(1), Fraction(1), 0)
    lonely = Small([(1,)], [False], [])
    graph = union(Small([(0,)] * 4, [False] * 4, []), lonely)
    assert insertion_lower_bound(attributed(graph), params_of(tolerance)) == 3


def test_huge_k_skips_the_blocks() -> None:
    """Work that would take too long is left out; the other bound remains."""
    degrees = descending([5] * 30)
    assert blocks_bound([degrees], 100_000, 0) == 0
    assert crowded_hubs_bound([degrees], 100_000, 0) > 99_000


def over_bound(traced, params) -> dict:
    """Return the bound of a release, and its cost over it."""
    return cost_over_bound(traced, params, cost_parts(traced, params))


def test_the_paper_example_costs_no_less_than_the_bound() -> None:
    """It costs 4."""
    traced = trace(attributed(paper_original()), attributed(paper_anonymized()))
    params = params_of(Tolerance(2, Fraction(0), Fraction(1, 2), 0))
    assert over_bound(traced, params)["lower_bound"] <= 4


def test_withheld_people_and_their_edges_count() -> None:
    """Where nothing is inserted the bound is what was withheld, and is attained."""
    schema = Schema(("a",), "s", frozenset({"y"}), expect_absent={"y", "a", "s"})
    columns = {"a": ["x", "x", "rare", "x"], "s": ["n"] * 4}
    graph = AttributedGraph.from_columns(schema, columns, [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)])
    params = PrivacyParams(k=3, alpha=1)  # type: ignore[arg-type]
    made = anonymize(graph, params, rng=np.random.default_rng(0), options=AnonymizeOptions())
    traced = trace(graph, made.graph, made.origin)
    assert over_bound(traced, params) == {"lower_bound": 3, "times_lower_bound": 1.0}
    beyond = PrivacyParams(k=3, alpha=1, n_hops=2)  # type: ignore[arg-type]
    assert set(over_bound(traced, beyond).values()) == {None}


def test_releases_that_hide_edges_have_no_ratio() -> None:
    """The bound does not hold for them."""
    original = Small([(0,)] * 4, [False] * 4, [(0, 1), (1, 2), (2, 3)])
    released = Small([(0,)] * 4, [False] * 4, [(0, 2), (2, 1), (0, 3)])
    traced = trace(attributed(original), attributed(released), np.array([2, -1, 1, 0]))
    params = params_of(Tolerance(2, Fraction(0), Fraction(1, 2), 0))
    assert over_bound(traced, params)["times_lower_bound"] is None
