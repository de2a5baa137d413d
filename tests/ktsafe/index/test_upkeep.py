"""The location index: updated equals rebuilt, bytes lose nothing, queries equal the naive ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.datasets.synthetic import uniform
from ktsafe.index import _similar_core as index_core
from ktsafe.index import _table_core as core
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.index.upkeep import copied, from_bytes, lift, refresh, renumber, to_bytes
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params, seen

CAP = 64
SCHEMA = Schema(("q",), "s", frozenset({"yes"}))
Flags = NDArray[np.bool_]


def _indexed(graph: AttributedGraph, params: PrivacyParams) -> tuple[WorkingGraph, LocationTable]:
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    caps = np.full(space.n_classes, CAP, dtype=np.int64)
    return working, LocationTable(working, similarity_rule(space, params), caps)


def _change(working: WorkingGraph, rng: np.random.Generator) -> tuple[NDArray[np.int32], Flags]:
    """Give some vertices another class, degree, histogram and sensitivity; say who and what was."""
    g, n = working.arrays, working.n
    changed = rng.permutation(n)[: rng.integers(0, n + 1)].astype(np.int32)
    was = g.is_sensitive[changed].copy()
    g.cls[changed] = rng.integers(0, working.space.n_classes, len(changed))
    g.is_sensitive[changed] = rng.random(len(changed)) < 0.3
    g.degree[changed] = rng.integers(0, 6, len(changed))
    for v in changed:
        for low, high in zip(working.space.offsets, working.space.offsets[1:], strict=False):
            share = np.full(high - low, 1 / (high - low))
            g.hist[v, low:high] = rng.multinomial(g.degree[v] + 1, share)
    return changed, was


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=40), privacy_params(), st.integers(0, 2**32))
def test_refreshed_equals_rebuilt(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """Vertices whose class, edges and sensitivity change leave an index like a new one."""
    working, table = _indexed(graph, params)
    rng, n = np.random.default_rng(seed), graph.n_vertices
    for _ in range(4 if n else 0):
        changed, was = _change(working, rng)
        lift(table, changed, was)
        upkeep, is_moved = refresh(table, working)
        assert is_moved[changed].all()
        assert int(is_moved.sum()) == len(changed)
        assert upkeep.computed <= len(changed)
        caps = np.full(working.space.n_classes, CAP, dtype=np.int64)
        assert seen(table) == seen(LocationTable(working, table.rule, caps))
        nothing, is_moved = refresh(table, working)
        assert nothing.computed == 0
        assert not is_moved.any()


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=40), privacy_params(), st.integers(0, 2**32))
def test_a_copy_changes_by_itself(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """It has every block in use, goes on as the original would, and leaves that as it was."""
    working, table = _indexed(graph, params)
    copy, used = copied(table), int(table.arrays.tops[index_core.BLOCKS_USED])
    for name, array in table.arrays._asdict().items():
        rows = used if name.startswith("block_") else len(array)
        other = getattr(copy.arrays, name)
        assert other.shape == array.shape
        assert np.array_equal(other[:rows], array[:rows])
        assert not np.shares_memory(other, array)
    before = seen(table)
    changed, was = _change(working, np.random.default_rng(seed))
    lift(copy, changed, was)
    refresh(copy, working)
    assert seen(table) == before
    lift(table, changed, was)
    refresh(table, working)
    assert seen(copy) == seen(table)


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=40), privacy_params(), st.integers(0, 2**32))
def test_vertices_get_new_numbers(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """Some leave, the others are numbered anew, and the index is that of who is left."""
    working, table = _indexed(graph, params)
    rng = np.random.default_rng(seed)
    stays = rng.random(graph.n_vertices) < 0.7
    order = rng.permutation(np.flatnonzero(stays)).astype(np.int32)
    position = np.full(graph.n_vertices, -1)
    position[order] = np.arange(len(order))
    edges = position[graph.edges]
    left = AttributedGraph.from_codes(
        graph.schema, graph.categories, graph.codes[order], edges[(edges >= 0).all(axis=1)]
    )
    now = WorkingGraph(left, working.space)
    now.arrays.cls[:] = working.arrays.cls[order]
    gone = np.flatnonzero(~stays).astype(np.int32)
    lift(table, gone, graph.is_sensitive[gone])
    renumber(table, order, len(order))
    now.arrays.hist[:], now.arrays.degree[:] = working.arrays.hist[order], graph.degrees[order]
    assert not refresh(table, now)[1].any()
    caps = np.full(working.space.n_classes, CAP, dtype=np.int64)
    assert seen(table) == seen(LocationTable(now, table.rule, caps))


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=40), privacy_params(), st.integers(0, 2**32))
def test_bytes_lose_nothing(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """An index read from its bytes has the same rows and order, and goes on like it."""
    working, table = _indexed(graph, params)
    rng = np.random.default_rng(seed)
    for _ in range(3 if graph.n_vertices else 0):
        lift(table, *_change(working, rng))
        refresh(table, working)
        again = from_bytes(to_bytes(table), working, table.rule)
        assert seen(again) == seen(table)
        assert to_bytes(again) == to_bytes(table)
        table = again


def test_bytes_of_another_graph_are_refused() -> None:
    """An index is read with the graph it was written with, and no other."""
    alone = [AttributedGraph.from_codes(SCHEMA, [["a"], ["no"]], [[0, 0]] * n, []) for n in (3, 4)]
    (working, table), (larger, _) = (_indexed(graph, PrivacyParams(k=2)) for graph in alone)
    saved = to_bytes(table)
    with pytest.raises(ValueError, match="another graph"):
        from_bytes(saved, larger, table.rule)
    # All three shared one location when it was written.
    working.arrays.degree[1] += 1
    with pytest.raises(ValueError, match="another graph"):
        from_bytes(saved, working, table.rule)


def _check_queries(table: LocationTable, places: NDArray[np.int64]) -> None:
    """Compare what blocks and boxes find with what pairwise comparison finds."""
    t, rule = table.arrays, table.rule
    used, width = np.flatnonzero(t.population > 0), rule.limits[index_core.WIDTH]
    for at in places:
        found = index_core.similar_locations(
            t, rule, t.cls[at], t.degree[at], t.hist[at], t.found[0]
        )
        near = used[(t.cls[used] == t.cls[at]) & (abs(t.degree[used] - t.degree[at]) <= width)]
        expected = [
            other
            for other in near
            if core.similar(rule, t.hist[at], t.degree[at] + 1, t.hist[other], t.degree[other] + 1)
        ]
        assert sorted(t.found[0, :found].tolist()) == expected


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=60), privacy_params(), st.integers(0, 2**32))
def test_queries_equal_naive_ones(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """A query finds exactly the locations that pairwise comparison finds."""
    _, table = _indexed(graph, params)
    used = np.flatnonzero(table.arrays.population > 0)
    _check_queries(table, np.random.default_rng(seed).permutation(used)[:10])


def test_queries_over_many_blocks_equal_naive_ones() -> None:
    """So does one over full blocks, also after every second vertex was lifted and placed again."""
    working, table = _indexed(
        uniform(3_000, 30_000, rng=np.random.default_rng(2), n_tuples=3), PrivacyParams()
    )
    t, g = table.arrays, working.arrays
    assert (t.block_count == index_core.LANES).sum() > 20
    rng = np.random.default_rng(3)
    _check_queries(table, rng.permutation(np.flatnonzero(t.population > 0))[:200])
    some = rng.permutation(3_000)[:1_500].astype(np.int32)
    lift(table, some, g.is_sensitive[some])
    refresh(table, working)
    _check_queries(table, rng.permutation(np.flatnonzero(t.population > 0))[:200])


def _nothing() -> tuple[WorkingGraph, core.Rule]:
    working, table = _indexed(uniform(4, 3, rng=np.random.default_rng(1)), PrivacyParams(k=2))
    return working, table.rule


def test_other_bytes_are_refused() -> None:
    """Bytes of another format, or of no index, are named as such."""
    with pytest.raises(ValueError, match="no location index"):
        from_bytes(b"something else", *_nothing())


def test_degrees_beyond_the_capacity_are_refused() -> None:
    """An update that does not fit changes nothing and says so."""
    codes = np.zeros((3, 2), dtype=np.int32)
    graph = AttributedGraph.from_codes(SCHEMA, [["a"], ["no"]], codes, np.array([[0, 1]]))
    working, table = _indexed(graph, PrivacyParams(k=2))
    before = seen(table)
    working.arrays.degree[0] = CAP + 1
    with pytest.raises(ValueError, match="capacity"):
        refresh(table, working)
    assert seen(table) == before
