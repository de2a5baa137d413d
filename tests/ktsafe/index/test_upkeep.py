"""The location table: updated equals rebuilt, and queries equal the naive ones."""

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
from ktsafe.index.upkeep import refresh
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params, seen

CAP = 64
SCHEMA = Schema(("q",), "s", frozenset({"yes"}))


def _indexed(graph: AttributedGraph, params: PrivacyParams) -> tuple[WorkingGraph, LocationTable]:
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    caps = np.full(space.n_classes, CAP, dtype=np.int64)
    return working, LocationTable(working, similarity_rule(space, params), caps)


def _change(working: WorkingGraph, rng: np.random.Generator) -> None:
    """Give some vertices another class, degree and histogram."""
    g, n = working.arrays, working.n
    changed = rng.permutation(n)[: rng.integers(0, n + 1)].astype(np.int32)
    g.cls[changed] = rng.integers(0, working.space.n_classes, len(changed))
    g.degree[changed] = rng.integers(0, 6, len(changed))
    for v in changed:
        for low, high in zip(working.space.offsets, working.space.offsets[1:], strict=False):
            share = np.full(high - low, 1 / (high - low))
            g.hist[v, low:high] = rng.multinomial(g.degree[v] + 1, share)


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=40), privacy_params(), st.integers(0, 2**32))
def test_refreshed_equals_rebuilt(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """Vertices whose class and edges change leave an index like a new one."""
    working, table = _indexed(graph, params)
    rng, n = np.random.default_rng(seed), graph.n_vertices
    for _ in range(4 if n else 0):
        _change(working, rng)
        refresh(table, working)
        caps = np.full(working.space.n_classes, CAP, dtype=np.int64)
        assert seen(table) == seen(LocationTable(working, table.rule, caps))


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
    for v in some.tolist():
        core.lift(t, table.rule, v, int(g.is_sensitive[v]))
    refresh(table, working)
    _check_queries(table, rng.permutation(np.flatnonzero(t.population > 0))[:200])


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
