"""Protection sets are counted exactly, whoever moves."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe_lab.tolerant import _locations_core as core
from ktsafe_lab.tolerant.locations import located
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition

NOBODY = np.zeros(0, dtype=np.int32)


@settings(max_examples=60, deadline=None)
@given(graphs(), privacy_params())
def test_unsafe_vertices_are_those_of_the_definition(
    graph: AttributedGraph, params: PrivacyParams
) -> None:
    """A vertex is unsafe where its location is, and nowhere else."""
    at, _, _ = located(graph, graph.edges, params)
    size, sensitive, _ = at.in_set[at.of_vertex].T
    alpha = params.alpha
    unsafe = (size < params.k) | (sensitive * alpha.denominator > alpha.numerator * size)
    assert np.flatnonzero(unsafe).tolist() == unsafe_by_definition(graph, params)
    assert at.unsafe[0] == len(set(at.of_vertex[unsafe].tolist()))


@settings(max_examples=40, deadline=None)
@given(graphs(), graphs(), privacy_params(), st.integers(0, 2**32))
def test_moves_end_where_counting_anew_does(
    graph: AttributedGraph, other: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Vertices that move one by one, in any order, have the sets of whoever begins there."""
    n = graph.n_vertices
    edges = other.edges[(other.edges < n).all(axis=1)]
    at, vertices, rule = located(graph, graph.edges, params)
    there, _, _ = located(graph, edges, params)
    at.floor[:] = 0
    for v in np.random.default_rng(seed).permutation(n):
        core.leave(at, vertices, rule, v)
        core.arrive(at, vertices, rule, v, core.row_of(there, v))
    for one, two in ((at.in_set, there.in_set), (at.here, there.here)):
        assert np.array_equal(one[at.of_vertex], two[there.of_vertex])
    assert at.here[:, 0].sum() == n
    assert at.unsafe[0] == there.unsafe[0]
