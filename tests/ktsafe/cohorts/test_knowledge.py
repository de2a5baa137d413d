"""`knowledge = true`: enough candidates for whoever knows the true neighbours, on any input."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe.anonymize import anonymize_in_order as anonymize
from ktsafe.audit import trace
from ktsafe.audit.privacy_figures import privacy_figures
from ktsafe.cohorts.knowledge import KnownCandidates
from ktsafe.cohorts.search import cheapest_supergraph
from ktsafe.datasets.synthetic import zipf
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition

TRUE = AnonymizeOptions(effort="fast", knowledge="true")


Tuples = Counter[tuple[str, ...]]


def neighbour_tuples(graph: AttributedGraph) -> list[Tuples]:
    """Count the neighbours of every vertex by their quasi-identifiers."""
    found: list[Tuples] = [Counter() for _ in range(graph.n_vertices)]
    for u, v in graph.edges.tolist():
        found[u][quasi_identifiers(graph, v)] += 1
        found[v][quasi_identifiers(graph, u)] += 1
    return found


def quasi_identifiers(graph: AttributedGraph, v: int) -> tuple[str, ...]:
    """Return the texts by which an attacker recognizes v."""
    values = graph.values(v)
    return tuple(values[name] for name in graph.schema.quasi_identifiers)


def are_similar(own: tuple[str, ...], a: Tuples, b: Tuples, params: PrivacyParams) -> bool:
    """Whether two stars around vertices of equal quasi-identifiers are, by the definition."""
    if 2 * abs(a.total() - b.total()) > params.epsilon:
        return False
    for j, value in enumerate(own):
        first, second = (Counter([value, *(x[j] for x in ties.elements())]) for ties in (a, b))
        distance = sum(
            abs(Fraction(first[x], first.total()) - Fraction(second[x], second.total()))
            for x in first | second
        )
        if distance > 2 * params.t:
            return False
    return True


def known_by_definition(
    graph: AttributedGraph, released: AttributedGraph, params: PrivacyParams
) -> list[int]:
    """Count for each original who in PS(v) has neighbours that include v's true ones."""
    true, ties = neighbour_tuples(graph), neighbour_tuples(released)
    own = [quasi_identifiers(released, u) for u in range(released.n_vertices)]
    return [
        sum(
            own[u] == own[v]
            and true[v] <= ties[u]
            and are_similar(own[v], ties[u], ties[v], params)
            for u in range(released.n_vertices)
        )
        for v in range(graph.n_vertices)
    ]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(n_max=12), privacy_params(), st.integers(0, 2**32))
def test_everybody_has_k_candidates_who_contain_the_truth(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Whatever the input, the release is safe and k_known >= k inside every protection set."""
    outcome = anonymize(graph, params, rng=np.random.default_rng(seed), options=TRUE)
    assert unsafe_by_definition(outcome.graph, params) == []
    known = known_by_definition(graph, outcome.graph, params)
    assert all(count >= params.k for count in known)
    figures = privacy_figures(trace(graph, outcome.graph), params)
    assert figures.k_known_ps.tolist() == known


def test_the_definition_alone_does_not_give_it() -> None:
    """Without the option somebody falls short on a graph with tolerance, so that it does work."""
    graph = zipf(400, 2_000, rng=np.random.default_rng(1))
    params = PrivacyParams()
    least = {}
    for knowledge in ("released", "true"):
        options = AnonymizeOptions(effort="fast", knowledge=knowledge)  # type: ignore[arg-type]
        outcome = anonymize(graph, params, rng=np.random.default_rng(0), options=options)
        least[knowledge] = privacy_figures(trace(graph, outcome.graph), params).k_known_ps.min()
    assert least["released"] < params.k <= least["true"]


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=14), st.sampled_from([1, 2, 3]), st.integers(0, 2**32))
def test_counts_of_candidates_follow_every_withdrawal(
    graph: AttributedGraph, k: int, seed: int
) -> None:
    """What trimming counts is what the definition counts; nobody falls below k."""
    params = PrivacyParams(k=k, t=Fraction(1, 5), alpha=Fraction(1))
    rng = np.random.default_rng(seed)
    space = QuasiIdentifierSpace.of_graph(graph)
    rule = similarity_rule(space, params)
    known = KnownCandidates(WorkingGraph(graph, space, by_tuple=True))
    _, working = cheapest_supergraph(graph, params, "fast", rng, lambda *_: None, knowledge="true")
    if working is None:
        return
    caps = np.full(space.n_classes, 200, dtype=np.int64)
    table = LocationTable(working, rule, caps)
    counts = known.counts(table)
    released = _as_graph(graph, working)
    assert counts.tolist() == known_by_definition(graph, released, params)
    assert (counts >= k).all()
    _with_spares(working, rng)
    table = LocationTable(working, rule, caps)
    if len(table.unsafe_vertices()) or (known.counts(table) < k).any():
        return
    known.trim(working, table, rng, passes_max=2)
    counts = known.counts(LocationTable(working, rule, caps))
    assert counts.tolist() == known_by_definition(graph, _as_graph(graph, working), params)
    assert (counts >= k).all()


def _with_spares(working: WorkingGraph, rng: np.random.Generator) -> None:
    """Insert edges that nobody asked for, so that there is something to take back."""
    inserted = {(min(e), max(e)) for e in working.inserted_edges.tolist()}
    original = {(min(e), max(e)) for e in working.original_edges.tolist()}
    pairs = rng.integers(0, max(working.n, 1), (working.n, 2)).tolist()
    listed = sorted(inserted | ({(u, v) for u, v in pairs if u < v} - original))
    edges = np.array(listed, dtype=np.int32).reshape(-1, 2)
    working.rewire(working.original_edges, working.deleted_edges, edges)


def _as_graph(graph: AttributedGraph, working: WorkingGraph) -> AttributedGraph:
    """Return a working graph with inserted vertices that show some value."""
    tuples = working.space.tuples[working.arrays.cls[graph.n_vertices : working.n]]
    rows = np.column_stack((tuples, np.zeros(len(tuples), dtype=np.int32)))
    codes = np.concatenate((graph.codes, rows.astype(np.int32)))
    edges = np.concatenate((working.original_edges, working.inserted_edges))
    return AttributedGraph.from_codes(graph.schema, graph.categories, codes, edges)
