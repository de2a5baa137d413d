"""Likeness: inserted edges exchange ends, and nothing else changes."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.anonymization import _rewiring_core as core
from ktsafe.anonymization import rewiring
from ktsafe.anonymization.request import Request
from ktsafe.anonymization.rewiring import parts_of, rewired
from tests.ktsafe.anonymization.graphs import as_set, graph_of, graphs, rows


@settings(max_examples=50, deadline=None)
@given(graphs(), st.integers(0, 2**32), st.sampled_from([1, 10, 2000]))
def test_rows_and_ties_stay(graph, seed, part_min):
    """Every vertex keeps its neighbours of each class; shown ties stay; edges stay simple."""
    n, rng = graph.n_vertices, np.random.default_rng(seed)
    u, v = np.triu_indices(n, 1)
    chosen = rng.random(len(u)) < 0.2
    edges = np.column_stack((u[chosen], v[chosen])).astype(np.int32)
    kinds = graph.qi_classes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewiring, "PART_MIN", part_min)
        after = rewired(Request(graph, PrivacyParams(), rng), edges)
    assert len(as_set(after)) == len(after) == len(edges)
    assert rows(n, kinds, as_set(after)) == rows(n, kinds, as_set(edges))
    ties = as_set(graph.edges)
    assert as_set(edges) & ties <= as_set(after)


def test_a_release_closes_triangles_like_its_truth():
    """Cliques and strangers: closeness and degree assortativity come near to those of the truth."""
    n, rng = 240, np.random.default_rng(1)
    ties = {(u, v) for u in range(n) for v in range(u + 1, n) if u // 12 == v // 12}
    while len(ties) < 1800:
        u, v = sorted(rng.integers(0, n, 2).tolist())
        if u != v:
            ties.add((u, v))
    graph = graph_of([0] * n, [False] * n, sorted(ties))
    shown = [e for e in sorted(ties) if rng.random() < 0.6]
    inserted = set()
    while len(inserted) < len(ties) - len(shown):
        u, v = sorted(rng.integers(0, n, 2).tolist())
        if u != v and (u, v) not in ties:
            inserted.add((u, v))
    edges = np.array(shown + sorted(inserted), dtype=np.int32)

    def off(released):
        """By how much transitivity and assortativity differ from the truth."""
        true, made = nx.Graph(sorted(ties)), nx.Graph(released.tolist())
        return (
            abs(nx.transitivity(made) - nx.transitivity(true)),
            abs(
                nx.degree_assortativity_coefficient(made)
                - nx.degree_assortativity_coefficient(true)
            ),
        )

    after = rewired(Request(graph, PrivacyParams(), rng), edges)
    assert off(after)[0] < off(edges)[0] / 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewiring, "PULL", 0.0)
        unmixed = rewired(Request(graph, PrivacyParams(), np.random.default_rng(1)), edges)
    assert off(after)[1] < off(unmixed)[1]


def test_mixing_is_degree_assortativity():
    """What is lacking is the difference of the coefficients, as networkx counts them."""
    rng = np.random.default_rng(0)
    true, made = (nx.gnp_random_graph(60, 0.2, seed=seed) for seed in (1, 2))
    truth, edges = (np.array(each.edges, dtype=np.int32) for each in (true, made))
    fixed, ends = np.split(edges[rng.permutation(len(edges))], [100])
    degree = np.bincount(edges.reshape(-1), minlength=60)
    lacks = rewiring._Mixing(degree, truth, fixed).lacks(ends)
    expected = [nx.degree_assortativity_coefficient(each) for each in (true, made)]
    assert lacks == pytest.approx(expected[0] - expected[1])


@given(graphs(), st.integers(1, 30))
def test_no_pair_of_classes_is_in_two_parts(graph, part_min):
    """Edges of the same two classes are in one part, and parts are numbered from 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewiring, "PART_MIN", part_min)
        part = parts_of(graph.qi_classes, graph.edges).tolist() if graph.n_edges else []
    of_pair = {}
    for (u, v), number in zip(graph.edges.tolist(), part, strict=True):
        pair = tuple(sorted(graph.qi_classes[[u, v]].tolist()))
        assert of_pair.setdefault(pair, number) == number
    assert set(part) == set(range(len(set(part))))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_edges_are_listed_by_their_ends(pairs):
    """By each vertex its edges in order, those first that begin with it."""
    edges = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    first, far = core.by_vertex(edges, 6, False)
    _, number = core.by_vertex(edges, 6, True)
    told = [
        [(v, e) for v, e in zip(far[a:b].tolist(), number[a:b].tolist(), strict=True)]
        for a, b in itertools.pairwise(first.tolist())
    ]
    assert told == [
        [(v, e) for e, (u, v) in enumerate(pairs) if u == w]
        + [(u, e) for e, (u, v) in enumerate(pairs) if v == w]
        for w in range(6)
    ]


@given(graphs(), st.integers(0, 2**32))
def test_neighbours_are_put_in_the_order_of_their_classes(graph, seed):
    """Each vertex keeps its neighbours; their classes ascend."""
    classes = graph.qi_classes
    edges = np.random.default_rng(seed).permutation(graph.edges)
    first, far = core.by_vertex(edges, graph.n_vertices, False)
    near = core.by_class(first, far, np.argsort(classes, kind="stable"))
    for a, b in itertools.pairwise(first.tolist()):
        assert sorted(far[a:b].tolist()) == sorted(near[a:b].tolist())
        assert (np.diff(classes[near[a:b]]) >= 0).all()


def test_an_exchange_is_found_among_many_classes():
    """Where few neighbours' neighbours have the wanted class, inserted edges find them at once."""
    n_groups, rng = 40, np.random.default_rng(0)
    # Groups of one person of each of five classes who all know each other; classes 0 and 1 lack.
    kinds = [v % 5 for v in range(5 * n_groups)]
    ties = [(5 * g + a, 5 * g + b) for g in range(n_groups) for a in range(5) for b in range(a)]
    shown = [(u, v) for u, v in ties if {u % 5, v % 5} != {0, 1}]
    other = np.roll(np.arange(n_groups), 1).tolist()
    inserted = [(5 * g, 5 * h + 1) for g, h in enumerate(other)]
    graph = graph_of(kinds, [False] * len(kinds), shown)
    edges = np.array(shown + inserted, dtype=np.int32)
    after = rewired(Request(graph, PrivacyParams(), rng), edges)
    within = sum(u // 5 == v // 5 for u, v in as_set(after) - as_set(shown))
    assert within > n_groups / 2
