"""The working graph with deleted edges: counted as from scratch, whatever happened before."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working import _graph_core as core
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs


def _is_exact(working: WorkingGraph) -> bool:
    """Whether degrees, histograms and the edge set are those of the edge lists."""
    g, n = working.arrays, working.n
    edges = np.concatenate((working.original_edges, working.inserted_edges)).tolist()
    hist = np.zeros_like(g.hist[:n])
    for v in range(n):
        hist[v, g.columns[g.cls[v]]] += 1
    for u, v in edges:
        hist[u, g.columns[g.cls[v]]] += 1
        hist[v, g.columns[g.cls[u]]] += 1
    present = {(min(e), max(e)) for e in edges}
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return (
        len(present) == len(edges)
        and np.array_equal(g.hist[:n], hist)
        and g.degree[:n].tolist() == np.bincount(np.ravel(edges).astype(int), minlength=n).tolist()
        and [core.has_edge(g, u, v) for u, v in pairs] == [pair in present for pair in pairs]
    )


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=14), st.integers(0, 2**32))
def test_rewiring_counts_from_scratch(graph: AttributedGraph, seed: int) -> None:
    """After edges were deleted and inserted, everything is as counted; edits go on from there."""
    rng = np.random.default_rng(seed)
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    working.add_vertices(np.unique(graph.qi_classes)[:2].astype(np.int32))
    n = working.n
    present = {(min(e), max(e)) for e in graph.edges.tolist()}
    absent = [(u, v) for u in range(n) for v in range(u + 1, n) if (u, v) not in present]
    chosen = [e for e in absent if rng.random() < 0.3]
    inserted = np.array(chosen, dtype=np.int32).reshape(-1, 2)
    kept = rng.random(graph.n_edges) < 0.6
    working.rewire(graph.edges[kept], graph.edges[~kept], inserted)
    assert _is_exact(working)
    assert working.cost == n - graph.n_vertices + len(inserted) + int((~kept).sum())
    working.reserve_edges(len(absent))
    for u, v in absent:
        if (u, v) not in chosen:
            core.insert_edge(working.arrays, u, v)
    for _ in range(len(chosen)):
        core.withdraw_edge(working.arrays, 0)
    assert _is_exact(working)
    isolated = np.zeros(n, dtype=np.bool_)
    isolated[graph.n_vertices :] = working.arrays.degree[graph.n_vertices : n] == 0
    working.remove_vertices(isolated)
    assert _is_exact(working)
