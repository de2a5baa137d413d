"""The location table counts what the definition counts, at the start and after moves."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.index import _table_core as core
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition


def _table(graph: AttributedGraph, params: PrivacyParams) -> tuple[WorkingGraph, LocationTable]:
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    caps = np.full(space.n_classes, 64, dtype=np.int64)
    return working, LocationTable(working, similarity_rule(space, params), caps)


@settings(max_examples=60, deadline=None)
@given(graphs(), privacy_params())
def test_table_finds_the_unsafe_vertices(graph: AttributedGraph, params: PrivacyParams) -> None:
    """Counting locations finds exactly the vertices that the definition calls unsafe."""
    _, table = _table(graph, params)
    assert table.unsafe_vertices().tolist() == unsafe_by_definition(graph, params)


@settings(max_examples=60, deadline=None)
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_lifting_and_placing_restores_every_count(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Vertices taken out and put back in another order leave the same protection sets."""
    working, table = _table(graph, params)
    g, t = working.arrays, table.arrays
    before = t.ps_size[t.of_vertex].tolist(), t.ps_sensitive[t.of_vertex].tolist()
    rng = np.random.default_rng(seed)
    movers = rng.permutation(graph.n_vertices)[: graph.n_vertices // 2]
    for v in movers:
        core.lift(t, table.rule, v, int(g.is_sensitive[v]))
    for v in rng.permutation(movers):
        core.place(t, table.rule, v, g.cls[v], g.degree[v], g.hist[v], int(g.is_sensitive[v]))
    assert before == (t.ps_size[t.of_vertex].tolist(), t.ps_sensitive[t.of_vertex].tolist())


@settings(max_examples=60, deadline=None)
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_peeling_leaves_a_set_that_is_safe_alone(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """After peeling nobody who remains is unsafe, and a safe graph loses nobody."""
    working, table = _table(graph, params)
    order = np.random.default_rng(seed).permutation(graph.n_vertices).astype(np.int32)
    was_unsafe = len(table.unsafe_vertices())
    lifted = np.concatenate(table.peel(working, order))
    assert len(table.unsafe_vertices()) == 0
    assert (len(lifted) == 0) == (was_unsafe == 0)
    assert (table.arrays.of_vertex[lifted] == core.NONE).all()
