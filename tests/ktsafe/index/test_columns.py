"""The table of annealing counts what the definition counts, at the start and after moves."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.index import _columns_core as core
from ktsafe.index.columns import bands_of, packed
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params


def _counts(bands: core.Bands) -> list[tuple[int, int, int]]:
    """Return size, sensitive and real members of every vertex's protection set."""
    at = bands.of_vertex
    counts = (bands.ps_size[at], bands.ps_sensitive[at], bands.ps_real[at])
    return list(zip(*(count.tolist() for count in counts), strict=True))


def _expected(working: WorkingGraph, params: PrivacyParams) -> list[tuple[int, int, int]]:
    rule = similarity_rule(working.space, params)
    caps = np.zeros(working.space.n_classes, dtype=np.int64)
    t = LocationTable(working, rule, caps).arrays
    at = t.of_vertex[: working.n]
    counts = (t.ps_size[at], t.ps_sensitive[at], t.ps_real[at])
    return list(zip(*(count.tolist() for count in counts), strict=True))


@settings(max_examples=60, deadline=None)
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_moves_keep_every_count_exact(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Filled, after edge toggles, and packed: the table equals the location table built anew."""
    rng = np.random.default_rng(seed)
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    rule = similarity_rule(space, params)
    bands = bands_of(working, rule)
    assert bands is not None
    assert _counts(bands) == _expected(working, params)
    edges = {(min(e), max(e)) for e in graph.edges.tolist()}
    for _ in range(12 if graph.n_vertices > 1 else 0):
        u, v = sorted(rng.choice(graph.n_vertices, 2, replace=False).tolist())
        edges ^= {(u, v)}
        listed = np.array(sorted(edges), dtype=np.int32).reshape(-1, 2)
        working.rewire(listed, listed[:0], listed[:0])
        g = working.arrays
        for w in (u, v):
            size, sensitive = int(g.degree[w]) + 1, int(g.is_sensitive[w])
            if size >= bands.first[g.cls[w] + 1] - bands.first[g.cls[w]]:
                return
            core.lift(bands, w, sensitive)
            row = np.ascontiguousarray(g.hist[w, : space.n_columns])
            core.place(bands, w, g.cls[w], size, row, sensitive)
        bands = packed(bands)
        assert _counts(bands) == _expected(working, params)


@settings(max_examples=60, deadline=None)
@given(graphs(n_max=16), st.sampled_from([2, 3, 5]), st.integers(0, 2**32))
def test_a_move_is_safe_iff_nobody_is_unsafe_after_it(
    graph: AttributedGraph, k: int, seed: int
) -> None:
    """The trial answers as moving and counting anew would, where all were safe before."""
    params = PrivacyParams(k=k, t="1/3", alpha="1/2")
    rng = np.random.default_rng(seed)
    space = QuasiIdentifierSpace.of_graph(graph)
    bands = bands_of(WorkingGraph(graph, space), similarity_rule(space, params))
    assert bands is not None
    safe = all(core.suffices(bands, *counts[:2]) for counts in _counts(bands))
    if not (safe and graph.n_vertices):
        return
    for v in rng.permutation(graph.n_vertices)[:4]:
        at, sensitive = bands.of_vertex[v], int(graph.is_sensitive[v])
        old, size = bands.hist[at].copy(), int(bands.size[at])
        row = old.copy()
        for column in space.columns[rng.integers(space.n_classes)]:
            row[column] += 1
        possible = core.move_is_safe(bands, v, sensitive, size + 1, row)
        core.lift(bands, v, sensitive)
        core.place(bands, v, graph.qi_classes[v], size + 1, row, sensitive)
        after = all(core.suffices(bands, *counts[:2]) for counts in _counts(bands))
        core.lift(bands, v, sensitive)
        core.place(bands, v, graph.qi_classes[v], size, old, sensitive)
        assert possible == after
