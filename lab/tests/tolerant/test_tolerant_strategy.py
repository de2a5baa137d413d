"""Tolerant releases: safe, nearer to the truth than exact ones, as real as these."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.graph.numbering import edge_keys
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph
from ktsafe_lab.by_attribute.attribute_strategy import exact_edges
from ktsafe_lab.tolerant.search import undone
from ktsafe_lab.tolerant.tolerant_strategy import tolerant
from lab.tests.by_attribute.hubs import fast, released, with_hubs
from tests.ktsafe.anonymization.graphs import as_set, treated
from tests.ktsafe.anonymization.graphs import graphs as few_classes
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition

NOBODY = np.zeros(0, dtype=np.int32)
LONG = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def differing(graph: AttributedGraph, edges: np.ndarray) -> int:
    """Return how many edges are true or shown, but not both."""
    return len(np.setxor1d(edge_keys(graph.edges), edge_keys(edges)))


def request(graph: AttributedGraph, params: PrivacyParams, seed: int = 0) -> Request:
    """Return a request with a generator of its own."""
    return Request(graph, params, np.random.default_rng(seed))


@LONG
@given(graphs() | few_classes(), privacy_params(), st.integers(0, 2**32))
def test_undoing_keeps_everybody_safe_and_costs_less(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """By the definition nobody is unsafe; the cost is at most that of the exact release."""
    graph = treated(graph, params)
    fast = dataclasses.replace(request(graph, params, seed), options=AnonymizeOptions("fast"))
    exact = exact_edges(fast)
    edges = undone(fast, exact)
    release = released(graph, NOBODY, edges)
    assert as_set(edges) <= as_set(graph.edges) | as_set(exact)
    assert unsafe_by_definition(release, params) == []
    assert differing(graph, edges) <= differing(graph, exact)


def test_tolerance_saves_edits() -> None:
    """A denser graph costs a tenth less than in exact cohorts; the verifier agrees."""
    graph = uniform(300, 3_000, rng=np.random.default_rng(1), n_tuples=4)
    params = PrivacyParams()
    exact = exact_edges(request(graph, params))
    edges = undone(request(graph, params), exact)
    assert verify_graph(released(graph, NOBODY, edges), params).is_safe
    assert differing(graph, edges) < 0.9 * differing(graph, exact)


def test_nothing_is_undone_without_tolerance_that_cohorts_need() -> None:
    """With t and epsilon 0 stars of a protection set stay equal."""
    graph = uniform(200, 600, rng=np.random.default_rng(1), n_tuples=2)
    params = PrivacyParams(k=5, t=0, epsilon=0, alpha=1)  # type: ignore[arg-type]
    exact = exact_edges(request(graph, params))
    edges = undone(request(graph, params), exact)
    release = released(graph, NOBODY, edges)
    rows = np.column_stack((graph.qi_classes, np.zeros((200, 2), dtype=np.int64)))
    np.add.at(rows, (release.edges, 1 + graph.qi_classes[release.edges[:, ::-1]]), 1)
    assert np.unique(rows, axis=0, return_counts=True)[1].min() >= params.k


@LONG
@given(graphs() | few_classes(), privacy_params(), st.integers(0, 2**32))
def test_no_release_costs_more_than_publishing_nothing(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """However cheap inserted edges were to begin with, at most as many edges differ as ties are."""
    graph = treated(graph, params)
    plan = tolerant(request(graph, params, seed))
    assert differing(graph, plan.edges) <= graph.n_edges
    assert unsafe_by_definition(released(graph, NOBODY, plan.edges), params) == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ties_are_shown_at_the_price_of_inserted_edges(seed: int) -> None:
    """More ties are shown than if an inserted edge were as dear as a hidden tie."""
    graph = uniform(300, 3_000, rng=np.random.default_rng(seed), n_tuples=4)
    exact = exact_edges(request(graph, PrivacyParams()))
    dear = undone(request(graph, PrivacyParams()), exact)
    cheap = tolerant(request(graph, PrivacyParams())).edges
    true = edge_keys(graph.edges)
    assert np.isin(edge_keys(cheap), true).sum() > np.isin(edge_keys(dear), true).sum()


def test_cohorts_nearly_equal_by_value_show_more() -> None:
    """With two quasi-identifiers a release begins nearer to the truth than in exact cohorts."""
    graph = with_hubs(600, 30, seed=0)
    params = PrivacyParams(k=5)
    exact = undone(fast(graph, params), exact_edges(fast(graph, params)))
    plan = tolerant(fast(graph, params))
    assert verify_graph(released(graph, NOBODY, plan.edges), params).is_safe
    assert differing(graph, plan.edges) < 0.9 * differing(graph, exact)
