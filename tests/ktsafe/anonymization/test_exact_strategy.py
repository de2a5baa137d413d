"""Releases in exact cohorts."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.anonymization import pair_edges, rewiring
from ktsafe.anonymization.anonymization import exact_release
from ktsafe.anonymization.request import Request
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph
from tests.ktsafe.anonymization.graphs import as_set, graph_of, graphs, rows, treated

PARAMS = st.sampled_from(
    [
        PrivacyParams(k=3, alpha="3/7"),
        PrivacyParams(k=5, alpha="1/5", t=0, epsilon=0),
        PrivacyParams(k=2, alpha="2/5", t="1/10"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(graphs(), PARAMS, st.integers(0, 9))
def test_members_of_a_cohort_have_equal_rows(graph, params, seed):
    """Cohorts partition the vertices; members agree in class and in their neighbours' classes."""
    graph = treated(graph, params)
    release = exact_release(Request(graph, params, np.random.default_rng(seed)))
    kinds, is_ill = graph.qi_classes.tolist(), graph.is_sensitive.tolist()
    cohort = release.cohorts.of_vertex.tolist()
    assert len(cohort) == len(kinds)
    counted = rows(len(kinds), kinds, as_set(release.edges))
    for c in set(cohort):
        members = [v for v in range(len(kinds)) if cohort[v] == c]
        assert len(members) == release.cohorts.sizes[c]
        assert len(members) >= params.k
        assert sum(is_ill[v] for v in members) <= params.alpha * len(members)
        assert {kinds[v] for v in members} == {release.cohorts.class_of[c]}
        assert all(counted[v] == counted[members[0]] for v in members)


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_that_costs_more_than_nothing_is_cleared_whole(monkeypatch, seed):
    """Members of cohorts stay equal where prices were such that nearly every edge paid."""

    def cheap(_request, pairs, _classes, _aim):
        return [dataclasses.replace(pair, price=0.01) for pair in pairs]

    monkeypatch.setattr(pair_edges, "aimed", cheap)
    graph = uniform(60, 60, rng=np.random.default_rng(seed), n_tuples=3)
    release = exact_release(Request(graph, PrivacyParams(k=10), np.random.default_rng(seed)))
    cohort = release.cohorts.of_vertex.tolist()
    counted = rows(60, graph.qi_classes.tolist(), as_set(release.edges))
    assert len({(c, tuple(sorted(counted[v].items()))) for v, c in enumerate(cohort)}) == len(
        set(cohort)
    )
    assert len(as_set(release.edges) ^ as_set(graph.edges)) <= graph.n_edges


@settings(max_examples=60, deadline=None)
@given(graphs(), PARAMS, st.integers(0, 9))
def test_edges_cost_no_more_than_none(graph, params, seed):
    """Hidden ties and inserted edges are together at most as many as the ties."""
    graph = treated(graph, params)
    release = exact_release(Request(graph, params, np.random.default_rng(seed)))
    ties = as_set(graph.edges)
    assert len(ties ^ as_set(release.edges)) <= len(ties)


@settings(max_examples=40, deadline=None)
@given(graphs(), PARAMS, st.sampled_from(["suppress", "withhold"]))
def test_releases_pass_the_strict_verifier(graph, params, rare_qi):
    """Whatever is done to rare people, what is released is kt-safe."""
    options = AnonymizeOptions(rare_qi=rare_qi)
    outcome = anonymize(graph, params, rng=np.random.default_rng(0), options=options)
    assert verify_graph(outcome.graph, params).n_unsafe == 0


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_an_executor_changes_no_byte(workers, monkeypatch):
    """Parts solved side by side give the release of one thread."""
    graph = uniform(600, 3000, rng=np.random.default_rng(3), n_tuples=6)
    params = PrivacyParams(k=5)
    monkeypatch.setattr(rewiring, "PART_MIN", 100)
    with ThreadPoolExecutor(workers) as executor:
        one, other = (
            exact_release(Request(graph, params, np.random.default_rng(4), executor=each))
            for each in (None, executor)
        )
    assert np.array_equal(one.edges, other.edges)
    assert np.array_equal(one.cohorts.of_vertex, other.cohorts.of_vertex)


def test_a_regular_structure_costs_nothing():
    """Where classes are large and everybody's row is the same, all ties are shown."""
    n = 40
    ring = [(v, (v + 1) % n) for v in range(n)]
    graph = graph_of([0] * n, [False] * n, ring)
    release = exact_release(Request(graph, PrivacyParams(k=10), np.random.default_rng(0)))
    assert as_set(release.edges) == as_set(graph.edges)


def test_a_hub_does_not_inflate_a_release():
    """One person who knows everybody brings no vertex, and edges for at most half of all ties."""
    n = 2000
    graph = graph_of([0] * n, [False] * n, [(0, v) for v in range(1, n)])
    options, rng = AnonymizeOptions("fast"), np.random.default_rng(0)
    released = anonymize(graph, PrivacyParams(), rng=rng, options=options).graph
    assert released.n_vertices == n
    assert released.n_edges <= n // 2


def test_an_empty_graph_stays_empty():
    """Nobody is released where there is nobody."""
    graph = uniform(10, 0, rng=np.random.default_rng(0)).subgraph(np.zeros(0, dtype=np.int64))
    release = exact_release(Request(graph, PrivacyParams(), np.random.default_rng(0)))
    assert len(release.edges) == 0
