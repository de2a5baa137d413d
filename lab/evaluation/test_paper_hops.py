"""The paper's strategies for any n: distances by all maps, and whoever was queued is safe."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.paper.subgraph import ExpandedSubgraph
from ktsafe_lab.verify_hops import verify_graph
from lab.evaluation.paper_edit_distance import Rooted, are_within
from lab.evaluation.paper_hops import Hopped, anonymized, parts_by_hops, release_by_hops
from lab.tests import naive_hops

GRAPH = uniform(40, 60, rng=np.random.default_rng(0), n_tuples=3)


@st.composite
def neighbourhoods(draw) -> Rooted:
    """Draw a connected graph of at most six vertices."""
    n = draw(st.integers(1, 6))
    parents = [draw(st.integers(0, v - 1)) for v in range(1, n)]
    others = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=4))
    pairs = [*zip(parents, range(1, n), strict=True), *others]
    near: list[set[int]] = [set() for _ in range(n)]
    for a, b in pairs:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    return tuple(map(frozenset, near))


def as_naive(graph: Rooted) -> tuple[list[int], naive_hops.Edges]:
    """Return a neighbourhood as the oracle has it."""
    edges = {frozenset((a, b)) for a, near in enumerate(graph) for b in near}
    return list(range(len(graph))), edges


@settings(max_examples=150, deadline=None)
@given(neighbourhoods(), neighbourhoods())
def test_distances_are_those_of_all_maps(one, two) -> None:
    """Every limit is answered as trying all maps answers it, both ways."""
    distance = naive_hops.edit_distance(as_naive(one), as_naive(two))
    for limit in range(7):
        assert are_within(one, two, limit) == are_within(two, one, limit) == (distance <= limit)


def test_what_takes_too_long_stays_undecided() -> None:
    """No answer is made up."""
    star = (frozenset({1, 2}), frozenset({0}), frozenset({0}))
    assert are_within(star, star, 0, nodes_max=1) is None


@pytest.mark.parametrize("n", [1, 2, 3])
def test_without_parts_whoever_was_queued_is_safe(n) -> None:
    """All originals are, by the strict verifier; all their ties and values are kept."""
    params = PrivacyParams(4, "0.2", "1/2", 3, n)
    made = release_by_hops(GRAPH, params, np.random.default_rng(0), gamma=0, s=2)
    originals = made.origin[: GRAPH.n_vertices]
    assert originals.tolist() == list(range(GRAPH.n_vertices))
    assert not verify_graph(made.graph, params).is_unsafe[: GRAPH.n_vertices].any()
    inside = made.graph.edges[(made.graph.edges < GRAPH.n_vertices).all(axis=1)]
    assert inside.tolist() == GRAPH.edges.tolist()


@pytest.mark.parametrize("n", [1, 2])
def test_parts_show_all_that_their_own_vertices_see(n) -> None:
    """Each vertex is in one part, with its whole neighbourhood."""
    params = PrivacyParams(4, n_hops=n)
    parts = parts_by_hops(GRAPH, params, np.random.default_rng(0), gamma=10, s=2)
    owned = np.concatenate([part.origin[: part.n_owned] for part in parts])
    assert sorted(owned.tolist()) == list(range(GRAPH.n_vertices))
    for part in parts:
        there = {frozenset(edge) for edge in part.origin[part.edges].tolist()}
        near = set(part.origin[: part.n_owned].tolist())
        for _ in range(n):
            seen = {frozenset(edge) for edge in GRAPH.edges.tolist() if near & set(edge)}
            near = near.union(*seen)
        assert there == seen


def test_changes_reach_n_minus_1_hops() -> None:
    """On a path that a fake continues, those who see it are changed."""
    params = PrivacyParams(2)
    path = ExpandedSubgraph(np.arange(4), 4, np.array([[0, 1], [1, 2], [2, 3]]))
    found = anonymized(GRAPH, params, path)
    inserted = {"inserted": np.array([0]), "inserted_edges": np.array([[3, 4]])}
    for hops, expected in ((1, [3]), (2, [2, 3]), (3, [1, 2, 3])):
        made = Hopped(found.origin, 4, path.edges, spent=found.spent, hops=hops, **inserted)
        assert np.flatnonzero(made.is_changed).tolist() == expected
