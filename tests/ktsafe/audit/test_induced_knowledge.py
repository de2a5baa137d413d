"""Candidates under induced knowledge, beside brute force over all injections."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, Schema
from ktsafe.audit import trace
from ktsafe.audit.induced_knowledge import induced_knowledge
from tests.ktsafe.small_graphs import graphs


def neighbours(graph: AttributedGraph, v: int) -> list[int]:
    return graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()


def is_contained(true: AttributedGraph, x: int, released: AttributedGraph, u: int) -> bool:
    """Try every injection of x's true neighbours into u's released ones."""
    small, large = neighbours(true, x), neighbours(released, u)
    ties = [
        (a, b)
        for a, b in itertools.combinations(range(len(small)), 2)
        if small[b] in neighbours(true, small[a])
    ]
    for image in itertools.permutations(large, len(small)):
        labels = all(
            (true.codes[a, :-1] == released.codes[b, :-1]).all()
            for a, b in zip(small, image, strict=True)
        )
        if labels and all(image[b] in neighbours(released, image[a]) for a, b in ties):
            return True
    return False


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=7), st.integers(0, 2**32))
def test_candidates_are_those_of_brute_force(graph: AttributedGraph, seed: int) -> None:
    """On supergraphs; with a tiny budget nothing wrong is claimed."""
    rng = np.random.default_rng(seed)
    n = graph.n_vertices
    pairs = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.2]
    edges = {*map(tuple, graph.edges.tolist()), *pairs}
    released = AttributedGraph.from_codes(
        graph.schema, graph.categories, graph.codes, np.array(sorted(edges)).reshape(-1, 2)
    )
    traced = trace(graph, released)
    found = induced_knowledge(traced)
    assert found.asked.tolist() == list(range(n))
    truth = [
        sum(
            (graph.codes[v, :-1] == graph.codes[u, :-1]).all()
            and is_contained(graph, v, released, u)
            for u in range(n)
        )
        for v in range(n)
    ]
    assert found.certain.tolist() == truth
    assert not found.undecided.any()
    assert all(count >= 1 for count in truth)
    hasty = induced_knowledge(traced, steps_max=1)
    assert np.all(hasty.certain <= found.certain)
    assert np.all(hasty.certain + hasty.undecided >= found.certain)


def test_triangles_tell_people_apart_whom_stars_do_not() -> None:
    """Two friends who know each other, or do not: 7 candidates by stars, 3 by triangles."""
    schema = Schema((), "s", frozenset({"yes"}))
    edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (5, 6), (3, 6)]
    graph = AttributedGraph.from_codes(
        schema, [["no"]], np.zeros((7, 1), dtype=int), np.array(edges)
    )
    found = induced_knowledge(trace(graph, graph))
    assert found.certain.tolist() == [3, 3, 3, 7, 7, 7, 7]
    assert found.to_mapping(4)["below_k"] == 3
