"""Real people whom k real people look like: counted by the definition, and kept by every step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema
from ktsafe.audit import trace
from ktsafe.audit.privacy_figures import privacy_figures
from ktsafe.cohorts.search import cheapest_supergraph
from ktsafe.datasets.synthetic import uniform
from ktsafe.index.table import LocationTable, real_floors, similarity_rule
from ktsafe.options import Edits, Effort
from ktsafe.polish.annealing import INSERT_ONLY, WITH_DELETION, Schedule, anneal, sweep
from ktsafe.polish.trimming import trim
from ktsafe.single_release import anonymize_in_order as anonymize
from ktsafe.verify import verify_flags, verify_graph
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs


def _params(k: int) -> PrivacyParams:
    return PrivacyParams(k=k, t=Fraction(1, 5), alpha=Fraction(1, 3))


def _safe_graph(graph: AttributedGraph, k: int, seed: int) -> WorkingGraph | None:
    rng = np.random.default_rng(seed)
    return cheapest_supergraph(graph, _params(k), "fast", rng, lambda *_: None)[1]


def _with_spares(working: WorkingGraph, rng: np.random.Generator) -> None:
    """Insert edges that nobody needs, so that there is something to take back."""
    n, edges = working.n, {(min(e), max(e)) for e in working.inserted_edges.tolist()}
    taken = edges | {(min(e), max(e)) for e in working.original_edges.tolist()}
    more = {(u, v) for u, v in rng.integers(0, n, (n, 2)).tolist() if u < v} - taken
    listed = np.array(sorted(edges | more), dtype=np.int32).reshape(-1, 2)
    working.rewire(working.original_edges, working.deleted_edges, listed)


def _real_by_verifier(graph: AttributedGraph, working: WorkingGraph, k: int) -> list[int]:
    """Count the real members of each original's protection set, by the verifier's kernels."""
    codes = np.concatenate([graph.codes[:, :-1], _codes_of_inserted(graph, working)])
    is_real = (np.arange(working.n) < graph.n_vertices).reshape(-1, 1)
    edges = np.concatenate((working.original_edges, working.inserted_edges))
    _, flagged = verify_flags(codes, is_real, edges, _params(k))
    counts: list[int] = flagged[0, : graph.n_vertices].tolist()
    return counts


def _codes_of_inserted(graph: AttributedGraph, working: WorkingGraph) -> np.ndarray:
    return working.space.tuples[working.arrays.cls[graph.n_vertices : working.n]]


@settings(max_examples=40, deadline=None)
@given(graphs(n_max=14), st.sampled_from([1, 2, 3]), st.integers(0, 2**32))
def test_the_table_counts_real_members(graph: AttributedGraph, k: int, seed: int) -> None:
    """Its counts are the verifier's, and say who has fewer than the class could give."""
    working = _safe_graph(graph, k, seed)
    if working is None:
        return
    caps = np.zeros(working.space.n_classes, dtype=np.int64)
    rule = similarity_rule(working.space, _params(k))
    table = LocationTable(working, rule, caps, real_floors(working, rule))
    counts = _real_by_verifier(graph, working, k)
    at = table.arrays.of_vertex[: graph.n_vertices]
    assert table.arrays.ps_real[at].tolist() == counts
    sizes = np.bincount(graph.qi_classes, minlength=1)[graph.qi_classes]
    short = [v for v, count in enumerate(counts) if count < k <= sizes[v]]
    assert table.short_of_real().tolist() == short


@settings(max_examples=40, deadline=None)
@given(
    graphs(n_max=14),
    st.sampled_from([2, 3, 4]),
    st.sampled_from([None, INSERT_ONLY, WITH_DELETION]),
    st.integers(0, 2**32),
)
def test_no_edit_takes_real_candidates_that_are_needed(
    graph: AttributedGraph, k: int, schedule: Schedule | None, seed: int
) -> None:
    """Trimming, sweeping and annealing leave everybody k real candidates, or what there were."""
    working = _safe_graph(graph, k, seed)
    if working is None or not working.n:
        return
    rng, rule = np.random.default_rng(seed), similarity_rule(working.space, _params(k))
    _with_spares(working, rng)
    caps = np.full(working.space.n_classes, 200, dtype=np.int64)
    table = LocationTable(working, rule, caps, real_floors(working, rule))
    if len(table.unsafe_vertices()):
        return
    before = _real_by_verifier(graph, working, k)
    if schedule is not None:
        anneal(working, rule, rng, schedule, 300, lambda *_: None)
    elif seed % 2:
        sweep(working, rule, rng, 2)
    else:
        trim(working, table, rng, passes_max=2)
    sizes = np.bincount(graph.qi_classes, minlength=1)[graph.qi_classes]
    after = _real_by_verifier(graph, working, k)
    for size, was, now in zip(sizes, before, after, strict=True):
        assert now >= min(was, k) or size < k


@pytest.mark.parametrize("effort", ["fast", "balanced"])
@pytest.mark.parametrize("edits", ["insert", "insert+delete"])
def test_real_people_stand_behind_k(effort: Effort, edits: Edits) -> None:
    """Whoever shares quasi-identifiers with k real people has k real candidates.

    Also in classes too sensitive for alpha, which only inserted vertices can dilute.
    """
    rng = np.random.default_rng(3)
    plain = uniform(300, 900, rng=rng, n_tuples=3)
    codes = plain.codes.copy()
    codes[:, -1] = rng.random(300) >= np.array([0.05, 0.2, 0.6])[plain.qi_classes % 3]
    schema = Schema(plain.schema.quasi_identifiers, "s", frozenset({"yes"}))
    values = (*plain.categories[:-1], ("yes", "no"))
    graph = AttributedGraph.from_codes(schema, values, codes, plain.edges)
    params = PrivacyParams(k=5)
    options = AnonymizeOptions(effort, "tolerant", edits, over_alpha="pad")
    outcome = anonymize(graph, params, rng=rng, options=options)
    assert verify_graph(outcome.graph, params).is_safe
    figures = privacy_figures(trace(graph, outcome.graph), params)
    assert (figures.class_size >= params.k).all()
    assert int(figures.k_real.min()) >= params.k


@pytest.mark.parametrize("schedule", [INSERT_ONLY, WITH_DELETION])
def test_inserted_vertices_do_not_stand_in_for_real_ones(schedule: Schedule) -> None:
    """Where many inserted vertices dilute, annealing still takes nobody's real candidates."""
    rng = np.random.default_rng(8)
    plain = uniform(150, 300, rng=rng, n_tuples=2)
    codes = plain.codes.copy()
    codes[:, -1] = rng.random(150) < 0.5
    schema = Schema(plain.schema.quasi_identifiers, "s", frozenset({"yes"}))
    values = (*plain.categories[:-1], ("yes", "no"))
    graph = AttributedGraph.from_codes(schema, values, codes, plain.edges)
    working = _safe_graph(graph, 4, 8)
    assert working is not None
    assert working.n > graph.n_vertices + 20
    before = _real_by_verifier(graph, working, 4)
    rule = similarity_rule(working.space, _params(4))
    anneal(working, rule, rng, schedule, 20_000, lambda *_: None)
    after = _real_by_verifier(graph, working, 4)
    assert all(now >= min(was, 4) for was, now in zip(before, after, strict=True))
