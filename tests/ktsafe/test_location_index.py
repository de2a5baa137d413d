"""The location index: updated equals rebuilt, bytes lose nothing, queries equal the naive ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe import _location_index_core as index_core
from ktsafe import _locations_core as core
from ktsafe.datasets.synthetic import uniform
from ktsafe.location_index import from_bytes, to_bytes, update
from ktsafe.locations import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params

CAP = 64


def _indexed(graph: AttributedGraph, params: PrivacyParams) -> tuple[WorkingGraph, LocationTable]:
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    caps = np.full(space.n_classes, CAP, dtype=np.int64)
    return working, LocationTable(working, similarity_rule(space, params), caps)


def _seen(table: LocationTable) -> list[tuple[int, ...]]:
    """Return class, degree, histogram and counts of the location of every vertex."""
    t = table.arrays
    at = t.of_vertex[: table.n]
    counts = (t.cls, t.degree, t.population, t.sensitive, t.ps_size, t.ps_sensitive)
    parts = [column[at].reshape(-1, 1) for column in counts] + [t.hist[at]]
    return [tuple(row) for row in np.hstack(parts).tolist()]


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=40), privacy_params(), st.integers(0, 2**32))
def test_updated_equals_rebuilt(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """Vertices whose class, edges and sensitivity change leave an index like a new one."""
    working, table = _indexed(graph, params)
    rng, n, g = np.random.default_rng(seed), graph.n_vertices, working.arrays
    for _ in range(4 if n else 0):
        changed = rng.permutation(n)[: rng.integers(0, n + 1)].astype(np.int32)
        was = g.is_sensitive[changed].copy()
        g.cls[changed] = rng.integers(0, working.space.n_classes, len(changed))
        g.is_sensitive[changed] = rng.random(len(changed)) < 0.3
        g.degree[changed] = rng.integers(0, 6, len(changed))
        for v in changed:
            for low, high in zip(working.space.offsets, working.space.offsets[1:], strict=False):
                share = np.full(high - low, 1 / (high - low))
                g.hist[v, low:high] = rng.multinomial(g.degree[v] + 1, share)
        state = (g.cls[changed], g.degree[changed], g.hist[changed], g.is_sensitive[changed])
        update(table, changed, state, was)
        caps = np.full(working.space.n_classes, CAP, dtype=np.int64)
        assert _seen(table) == _seen(LocationTable(working, table.rule, caps))


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=40), privacy_params())
def test_bytes_lose_nothing(graph: AttributedGraph, params: PrivacyParams) -> None:
    """An index read from its bytes equals it, and goes on like it."""
    working, table = _indexed(graph, params)
    again = from_bytes(to_bytes(table))
    assert _seen(again) == _seen(table)
    g = working.arrays
    some = np.arange(0, graph.n_vertices, 2, dtype=np.int32)
    for each in (table, again):
        for v in some:
            core.lift(each.arrays, each.rule, v, int(g.is_sensitive[v]))
        state = (g.cls[some], g.degree[some], g.hist[some], g.is_sensitive[some])
        update(each, some[::-1], tuple(part[::-1] for part in state), g.is_sensitive[some][::-1])
    assert _seen(again) == _seen(table)


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
    state = (g.cls[some], g.degree[some], g.hist[some], g.is_sensitive[some])
    update(table, some, state, g.is_sensitive[some])
    _check_queries(table, rng.permutation(np.flatnonzero(t.population > 0))[:200])


def test_other_bytes_are_refused() -> None:
    """Bytes of another format, or of no index, are named as such."""
    with pytest.raises(ValueError, match="no location index"):
        from_bytes(b"something else")


def test_degrees_beyond_the_capacity_are_refused() -> None:
    """An update that does not fit changes nothing and says so."""
    schema = Schema(("q",), "s", frozenset({"yes"}))
    codes = np.zeros((3, 2), dtype=np.int32)
    graph = AttributedGraph.from_codes(schema, [["a"], ["no"]], codes, np.array([[0, 1]]))
    working, table = _indexed(graph, PrivacyParams(k=2))
    g, before = working.arrays, _seen(table)
    one = np.zeros(1, dtype=np.int32)
    state = (g.cls[one], np.array([CAP + 1], dtype=np.int32), g.hist[one], g.is_sensitive[one])
    with pytest.raises(ValueError, match="capacity"):
        update(table, one, state, g.is_sensitive[one])
    assert _seen(table) == before
