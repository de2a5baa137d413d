"""Candidate sets are those of the definition, with and without pivots and kt-tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.paper import _growing_core as growing_core
from ktsafe_lab.paper import _kt_tree_as_published_core as core
from ktsafe_lab.paper._kt_tree_as_published_core import KtTree
from ktsafe_lab.paper._pivots_core import pruned_pairs
from ktsafe_lab.paper.candidate_set import initial_candidates
from ktsafe_lab.paper.kt_tree_as_published import build_kt_tree
from ktsafe_lab.paper.pivots import select_pivots
from ktsafe_lab.paper.subgraph import ExpandedSubgraph
from ktsafe_lab.paper.vertex_generation import Setting, empty_subgraph
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace
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


@settings(deadline=None)
@given(*[st.integers(0, 50)] * 3, st.integers(0, 20))
def test_the_lemma_never_rules_out_a_candidate(degree_1, degree_2, pivot, epsilon) -> None:
    """Stars obey the triangle inequality both ways, as insertions and deletions both count."""
    if pruned_pairs(np.array([degree_1, degree_2]), np.array([pivot]), epsilon):
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


def visited(tree: KtTree, cls: int, degree: int, epsilon: int, *, intervals: bool) -> list[int]:
    """Return the nodes that a descent for a vertex enters, found without the kernel."""
    nodes, entered = [0], []
    while nodes:
        node = nodes.pop()
        low, high = tree.interval[node]
        distance = 2 * abs(degree - tree.pivot_degree[node])
        if intervals and (distance - high > epsilon or low - distance > epsilon):
            continue
        if np.all(tree.bits[node] & tree.class_bits[cls]):
            entered.append(node)
            nodes += np.flatnonzero(tree.parent == node).tolist()
    return entered


@pytest.mark.parametrize("with_degree", [True, False])
def test_intervals_spare_inner_nodes_and_no_leaf(with_degree: bool) -> None:
    """With one leaf for each quasi-identifier, intervals rule out no candidate and no leaf more.

    A descent enters the leaf of the vertex's own quasi-identifier with and without them, and no
    other one, so a hash of quasi-identifiers would do as well. Inner nodes, whose bits say
    little, are spared by them where quasi-identifiers go with the degree.
    """
    rng = np.random.default_rng(4)
    n, n_classes, epsilon = 600, 60, 5
    classes = np.append(np.arange(n_classes), rng.integers(0, n_classes, n - n_classes))
    degrees = classes + rng.integers(0, 3, n) if with_degree else rng.integers(0, n_classes, n)
    values = rng.permutation(n_classes)
    tuples = np.column_stack((values % 8, values // 8)).astype(np.int32)
    pivots = rng.choice(degrees, 10, replace=False)
    tree = build_kt_tree(tuples, classes.astype(np.int32), degrees, pivots, n)
    entered = {True: 0, False: 0}
    for cls, degree in zip(classes.tolist(), degrees.tolist(), strict=True):
        for intervals in (True, False):
            nodes = visited(tree, cls, degree, epsilon, intervals=intervals)
            entered[intervals] += len(nodes)
            leaves = [node for node in nodes if tree.leaf_class[node] >= 0]
            assert leaves == [tree.leaf_of[cls]]
    if with_degree:
        assert entered[True] < 0.75 * entered[False]


@settings(max_examples=40, deadline=None)
@given(small_graphs(), st.integers(0, 8))
def test_candidates_are_the_same_with_intervals_switched_off(small, epsilon) -> None:
    """The kernel finds the same candidates if every interval holds every distance."""
    graph = attributed(small)
    pivots = np.array([0, 2], dtype=np.int64)
    setting = Setting.of_graph(graph, PrivacyParams(epsilon=epsilon), pivot_degrees=pivots)
    n = graph.n_vertices
    g = empty_subgraph(setting, n, graph.n_edges)
    growing_core.load(g, graph.qi_classes, graph.edges)
    found = np.zeros(4 * n + 16, dtype=np.int64)
    tree = build_kt_tree(setting.space.tuples, graph.qi_classes, graph.degrees, pivots, n)
    off = tree._replace(interval=np.tile(np.array([0, 2**60]), (len(tree.parent), 1)))
    for v in range(n):
        first, second = (
            found[: core.tree_candidates(each, g, setting.rule, v, found)].tolist()
            for each in (tree, off)
        )
        assert first == second
