"""Candidate sets are those of the definition, with and without pivots and kt-tree."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.datasets import uniform
from ktsafe.paper.candidate_set import initial_candidates
from ktsafe.paper.kt_tree_as_published import build_kt_tree
from ktsafe.paper.pivots import is_pruned, select_pivots
from ktsafe.paper.subgraph import ExpandedSubgraph
from ktsafe.paper.vertex_generation import Setting
from ktsafe.quasi_identifier_space import QuasiIdentifierSpace
from tests.graphs import attributed, small_graphs


@settings(max_examples=40, deadline=None)
@given(small_graphs(), st.integers(0, 8), st.lists(st.integers(0, 12), max_size=5))
def test_candidates_are_those_of_the_definition(small, epsilon, pivots) -> None:
    """v.CS holds whoever has v's QI and a star within epsilon; any pivots give the same sets."""
    graph = attributed(small)
    params = PrivacyParams(epsilon=epsilon)
    whole = ExpandedSubgraph.whole(graph)
    degrees = graph.degrees
    expected = [
        [
            u
            for u in range(graph.n_vertices)
            if graph.qi_classes[u] == graph.qi_classes[v]
            and 2 * abs(degrees[u] - degrees[v]) <= epsilon
        ]
        for v in range(graph.n_vertices)
    ]
    for chosen in (None, np.array(pivots, dtype=np.int64)):
        setting = Setting.of_graph(graph, params, pivot_degrees=chosen)
        assert [found.tolist() for found in initial_candidates(whole, setting)] == expected


@given(*[st.integers(0, 50)] * 3, st.integers(0, 20))
def test_the_lemma_never_rules_out_a_candidate(degree_1, degree_2, pivot, epsilon) -> None:
    """Stars obey the triangle inequality both ways, as insertions and deletions both count."""
    one, two = 2 * abs(degree_1 - pivot), 2 * abs(degree_2 - pivot)
    if is_pruned(one, two, epsilon):
        assert 2 * abs(degree_1 - degree_2) > epsilon


def test_an_insertion_only_distance_would_break_the_lemma() -> None:
    """With insertions alone a larger star is infinitely far from a smaller one, not back."""

    def insertions(degree_1: int, degree_2: int) -> float:
        return 2 * (degree_2 - degree_1) if degree_2 >= degree_1 else float("inf")

    first, second, pivot = 3, 4, 3
    assert insertions(first, second) <= 5
    assert abs(insertions(first, pivot) - insertions(second, pivot)) > 5


def test_selection_prunes_at_least_as_much_with_more_iterations() -> None:
    """The selected pivots are the best seen, and distinct vertices."""
    graph = uniform(120, 600, rng=np.random.default_rng(0))
    params = PrivacyParams()

    def pruned(chosen: np.ndarray) -> int:
        table = 2 * np.abs(graph.degrees[:, np.newaxis] - graph.degrees[chosen])
        gaps = np.abs(table[:, np.newaxis] - table[np.newaxis]).max(axis=2)
        return int((gaps > params.epsilon).sum())

    found = [
        select_pivots(
            graph, params, np.random.default_rng(1), pivots=2, sample_size=120, iterations=n
        )
        for n in (1, 40)
    ]
    assert len(set(found[1].tolist())) == 2
    assert pruned(found[1]) >= pruned(found[0])


def test_the_tree_stores_what_its_vertices_hash_to() -> None:
    """Every node's bits and interval cover its leaves; the root covers all; children partition."""
    graph = uniform(150, 400, rng=np.random.default_rng(3), n_tuples=20)
    space = QuasiIdentifierSpace.of_graph(graph)
    pivots = np.array([1, 4, 8, 12, 2, 3, 9, 7, 6, 5], dtype=np.int64)
    tree = build_kt_tree(space.tuples, graph.qi_classes, graph.degrees, pivots, 150)
    leaves = np.flatnonzero(tree.leaf_class >= 0)
    assert sorted(tree.leaf_class[leaves]) == list(range(20))
    assert np.count_nonzero(tree.parent < 0) == 1
    for v in range(graph.n_vertices):
        node = tree.leaf_of[graph.qi_classes[v]]
        steps = 0
        while node >= 0:
            distance = 2 * abs(graph.degrees[v] - tree.pivot_degree[node])
            assert tree.interval[node, 0] <= distance <= tree.interval[node, 1]
            own = tree.class_bits[graph.qi_classes[v]]
            assert np.all(own & tree.bits[node] == own)
            node = tree.parent[node]
            steps += 1
        assert steps == 4  # leaf, 10 pivots, 3 supernodes, root


def test_intervals_never_prune_beyond_the_quasi_identifier() -> None:
    """With one leaf per QI bits alone admit a vertex's own leaf only, and its interval holds it.

    So at the leaves no interval excludes what the quasi-identifier would have let in.
    """
    graph = uniform(150, 400, rng=np.random.default_rng(4), n_tuples=20)
    space = QuasiIdentifierSpace.of_graph(graph)
    pivots = np.array([0, 5, 10], dtype=np.int64)
    tree = build_kt_tree(space.tuples, graph.qi_classes, graph.degrees, pivots, 150)
    leaves = np.flatnonzero(tree.leaf_class >= 0)
    for v in range(graph.n_vertices):
        own = tree.class_bits[graph.qi_classes[v]]
        admitted = leaves[np.all(tree.bits[leaves] & own == own, axis=1)]
        assert admitted.tolist() == [tree.leaf_of[graph.qi_classes[v]]]
        distance = 2 * abs(graph.degrees[v] - tree.pivot_degree[admitted[0]])
        low, high = tree.interval[admitted[0]]
        assert low <= distance <= high
