"""Inserted edges are drawn to people who are close, at no cost to anybody."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.cohorts.search import cheapest_supergraph
from ktsafe.datasets.synthetic import uniform
from ktsafe.index.table import LocationTable, real_floors, similarity_rule
from ktsafe.polish.closeness import draw_closer
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params


def _safe_graph(graph: AttributedGraph, params: PrivacyParams, seed: int) -> WorkingGraph | None:
    rng = np.random.default_rng(seed)
    return cheapest_supergraph(graph, params, "fast", rng, lambda *_: None)[1]


def _pairs(edges: np.ndarray) -> list[tuple[int, int]]:
    return [(min(e), max(e)) for e in edges.tolist()]


def _closing(graph: AttributedGraph, working: WorkingGraph) -> int:
    """Count the inserted edges whose ends have a true neighbour in common."""
    neighbours: list[set[int]] = [set() for _ in range(working.n)]
    for u, v in graph.edges.tolist():
        neighbours[u].add(v)
        neighbours[v].add(u)
    return sum(bool(neighbours[u] & neighbours[v]) for u, v in working.inserted_edges.tolist())


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=16), privacy_params(), st.integers(0, 2**32))
def test_drawing_closer_costs_nothing(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """All stay safe, nobody falls short of real ones, the graph stays simple and as dear."""
    working = _safe_graph(graph, params, seed)
    if working is None:
        return
    rule, caps = similarity_rule(working.space, params), np.zeros(working.space.n_classes, int)
    floors = real_floors(working, rule)
    short = len(LocationTable(working, rule, caps, floors).short_of_real())
    cost, closing, original = working.cost, _closing(graph, working), _pairs(graph.edges)
    draw_closer(working, graph, params, np.random.default_rng(seed), 2)
    table = LocationTable(working, rule, caps, floors)
    assert table.unsafe_vertices().tolist() == []
    assert len(table.short_of_real()) <= short
    assert working.cost == cost
    assert _pairs(working.original_edges) == original
    inserted = _pairs(working.inserted_edges)
    assert len({*inserted, *original}) == len(inserted) + len(original)
    assert all(u != v for u, v in inserted)
    assert _closing(graph, working) >= closing


def test_more_inserted_edges_close_true_triangles() -> None:
    """Where vertices have a choice, it is made; the same seed makes it again."""
    params = PrivacyParams(k=5)
    graph = uniform(300, 900, rng=np.random.default_rng(1), n_tuples=3)
    ends = []
    for _ in range(2):
        working = _safe_graph(graph, params, 1)
        assert working is not None
        before = _closing(graph, working)
        draw_closer(working, graph, params, np.random.default_rng(1), 3)
        assert _closing(graph, working) > before
        ends.append(_pairs(working.inserted_edges))
    assert ends[0] == ends[1]
