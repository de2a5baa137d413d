"""Serving wants: every edge serves what both ends accept, and nobody is led into a dead end."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.cohorts import _wants_core as core
from ktsafe.cohorts.choose import choose_targets
from ktsafe.cohorts.companions import add_companions, companions_cost
from ktsafe.cohorts.matching import match_wants
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.polish.trimming import trim
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params

NOBODY = np.zeros(0, dtype=np.int32)


def _prepared(
    graph: AttributedGraph, params: PrivacyParams, rng: np.random.Generator
) -> tuple[WorkingGraph, LocationTable, core.Wants]:
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    caps = np.full(space.n_classes, 500, dtype=np.int64)
    table = LocationTable(working, similarity_rule(space, params), caps)
    lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
    wants = choose_targets(working, table, lifted, NOBODY, params, rng, swaps_per_vertex=5)
    return working, table, wants


@settings(max_examples=50, deadline=None)
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_matching_serves_wants_one_for_one(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Wants stay consistent: stubs are what base and freedom still ask for, none negative."""
    rng = np.random.default_rng(seed)
    working, _, wants = _prepared(graph, params, rng)
    match_wants(working, wants, rng)
    offsets = working.target_space.offsets
    assert (wants.stubs >= 0).all()
    assert (wants.free >= 0).all()
    for j in range(len(offsets) - 1):
        asked = np.maximum(wants.residual[:, offsets[j] : offsets[j + 1]], 0).sum(axis=1)
        assert (asked + wants.free[:, j] == wants.stubs).all()


@settings(max_examples=50, deadline=None)
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_working_graph_stays_exact(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Degrees and histograms kept along the way equal those counted from the edges."""
    rng = np.random.default_rng(seed)
    working, _, wants = _prepared(graph, params, rng)
    match_wants(working, wants, rng)
    edges = np.concatenate((working.original_edges, working.inserted_edges))
    assert len({(min(u, v), max(u, v)) for u, v in edges.tolist()}) == len(edges)
    g, n = working.arrays, working.n
    assert np.array_equal(g.degree[:n], np.bincount(edges.reshape(-1), minlength=n))
    joint = working.joint_histograms(np.arange(n, dtype=np.int32))
    columns = g.columns
    expected = np.zeros_like(g.hist[:n])
    for j in range(columns.shape[1]):
        np.add.at(expected.T, columns[:, j], joint.T)
        expected[np.arange(n), columns[g.cls[:n], j]] += 1
    assert np.array_equal(g.hist[:n], expected)


def test_taking_avoids_wants_that_nobody_can_serve() -> None:
    """With tuples (0,0), (1,1) and (0,1), one who wants both values of each keeps a way out."""
    wants = core.Wants(
        np.zeros(1, dtype=np.int32),
        np.ones((1, 4), dtype=np.int32),
        np.zeros((1, 2), dtype=np.int32),
        np.full(1, 2, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.bool_),
        np.array([[0, 2], [1, 3], [0, 3]], dtype=np.int64),
    )
    assert core.can_go_on(wants, 0)
    # Taking (0,1) would leave (1,0), which nobody has.
    assert not core.take_wisely(wants, 0, 2)
    assert wants.stubs[0] == 2
    assert core.take_wisely(wants, 0, 0)
    assert core.accepts(wants, 0, 1, True)


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=12), privacy_params(), st.integers(0, 2**32))
def test_companions_make_everyone_large_enough(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """After companions nobody, inserted ones included, has too small a protection set.

    They cost what `companions_cost` says.
    """
    space = QuasiIdentifierSpace.of_graph(graph)
    working, rule = WorkingGraph(graph, space), similarity_rule(space, params)
    caps = np.full(space.n_classes, 500, dtype=np.int64)
    table = LocationTable(working, rule, caps)
    unsafe = table.unsafe_vertices()
    price = companions_cost(working, table, unsafe, params)
    add_companions(working, table, unsafe, params)
    assert working.cost == price
    after = LocationTable(working, rule, caps).arrays
    assert (after.ps_size[after.of_vertex] >= params.k).all()


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=12), st.integers(0, 2**32))
def test_trimming_keeps_all_safe_and_counts_exact(graph: AttributedGraph, seed: int) -> None:
    """Trimming a safe graph leaves it safe by a fresh count, and never adds."""
    params = PrivacyParams(k=3)
    rng = np.random.default_rng(seed)
    space = QuasiIdentifierSpace.of_graph(graph)
    working, rule = WorkingGraph(graph, space), similarity_rule(space, params)
    caps = np.full(space.n_classes, 500, dtype=np.int64)
    for _ in range(8):
        table = LocationTable(working, rule, caps)
        unsafe = table.unsafe_vertices()
        if not len(unsafe):
            before = working.cost
            trim(working, table, rng, passes_max=3)
            assert working.cost <= before
            assert len(LocationTable(working, rule, caps).unsafe_vertices()) == 0
            return
        add_companions(working, table, unsafe, params)
