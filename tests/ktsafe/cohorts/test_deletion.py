"""Releases that may delete edges: safe for every input, never dearer, nothing else changed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, InvalidParams, PrivacyParams
from ktsafe.audit import cost_parts, trace
from ktsafe.audit.utility import degree_emd
from ktsafe.cohorts.deletion import thinned
from ktsafe.datasets.synthetic import uniform
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.single_release import AnonymizeOptions
from ktsafe.single_release import anonymize_in_order as anonymize
from ktsafe.verify import verify_graph
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition

OPTIONS = st.sampled_from(
    [
        AnonymizeOptions(effort, "tolerant", rare_qi="pad", over_alpha="pad")
        for effort in ("fast", "balanced")
    ]
)


def _cost(graph: AttributedGraph, released: AttributedGraph) -> int:
    """Return |V delta V'| + |E delta E'|, originals first in both."""
    one, two = (
        {(min(e), max(e)) for e in edges.tolist()} for edges in (graph.edges, released.edges)
    )
    return released.n_vertices - graph.n_vertices + len(one ^ two)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(n_max=18), privacy_params(), OPTIONS, st.integers(0, 2**32))
def test_every_release_is_safe_and_never_dearer_than_insertion(
    graph: AttributedGraph, params: PrivacyParams, options: AnonymizeOptions, seed: int
) -> None:
    """Nobody is unsafe; vertices stay; with the same seed insertion alone costs no less."""
    insertion = dataclasses.replace(options, edits="insert")
    outcomes = [
        anonymize(graph, params, rng=np.random.default_rng(seed), options=o)
        for o in (insertion, options)
    ]
    released, n = outcomes[1].graph, graph.n_vertices
    assert unsafe_by_definition(released, params) == []
    assert [released.values(v) for v in range(n)] == [graph.values(v) for v in range(n)]
    edges = [(min(e), max(e)) for e in released.edges.tolist()]
    assert len(set(edges)) == len(edges)
    assert all(u < v for u, v in edges)
    costs = [_cost(graph, outcome.graph) for outcome in outcomes]
    assert costs[1] <= costs[0]
    parts = cost_parts(trace(graph, released), params)
    assert parts["total"] == costs[1]
    # The bound is one of insertion only: no ratio where anything was deleted.
    assert parts["deleted_edges"] == 0 or parts["times_lower_bound"] is None


def test_deletion_saves_and_keeps_degrees() -> None:
    """Beside hubs deletion costs much less and changes degrees less; the same seed repeats."""
    rng = np.random.default_rng(5)
    flat = uniform(300, 900, rng=rng)
    hubs = [(hub, v) for hub in range(6) for v in range(10, 300) if rng.random() < 0.3]
    edges = sorted({(min(e), max(e)) for e in [*flat.edges.tolist(), *hubs]})
    graph = AttributedGraph.from_codes(flat.schema, flat.categories, flat.codes, np.array(edges))
    params = PrivacyParams(k=5)
    inserted, deleted, again = (
        anonymize(
            graph,
            params,
            rng=np.random.default_rng(0),
            options=AnonymizeOptions("fast", "tolerant", edits),
        ).graph
        for edits in ("insert", "insert+delete", "insert+delete")
    )
    assert verify_graph(deleted, params).n_unsafe == 0
    assert cost_parts(trace(graph, deleted), params)["deleted_edges"] > 0
    assert _cost(graph, deleted) < 0.9 * _cost(graph, inserted)
    assert degree_emd(graph, deleted) < degree_emd(graph, inserted)
    assert np.array_equal(deleted.edges, again.edges)


@settings(max_examples=30, deadline=None)
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_thinning_cuts_down_to_the_middle_of_a_group(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Nobody stays above the middle of his group; each deleted edge had an end that was."""
    kept = thinned(graph, params, np.random.default_rng(seed))
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    caps = np.zeros(space.n_classes, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(graph.n_vertices).astype(np.int32)
    unsafe, _ = LocationTable(working, similarity_rule(space, params), caps).peel(working, order)
    true_degree = graph.degrees.tolist()
    cap = dict.fromkeys(range(graph.n_vertices), graph.n_vertices)
    for c in range(space.n_classes):
        members = [v for v in unsafe.tolist() if graph.qi_classes[v] == c]
        members.sort(key=lambda v: -true_degree[v])
        for first in range(0, len(members), params.group_size_min):
            group = members[first : first + params.group_size_min]
            middle = group[min(params.group_size_min // 2, len(group) - 1)]
            cap.update(dict.fromkeys(group, true_degree[middle]))
    degree = np.bincount(graph.edges[kept].reshape(-1), minlength=graph.n_vertices).tolist()
    assert all(degree[v] <= cap[v] for v in range(graph.n_vertices))
    assert all(any(true_degree[v] > cap[v] for v in e) for e in graph.edges[~kept].tolist())


@pytest.mark.parametrize("strategy", ["exact", "aligned", "none"])
def test_a_choice_that_does_nothing_is_refused(strategy) -> None:
    """Only strategy `tolerant` can do without hidden ties."""
    with pytest.raises(InvalidParams, match="tolerant"):
        AnonymizeOptions(strategy=strategy, edits="insert")
