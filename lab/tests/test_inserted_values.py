"""Inserted vertices show sensitive values where there is room."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.strategies import LabRelease, Plan, everybody, with_inserted
from ktsafe_lab.verify_hops import verify_graph
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition


def with_groups_filled(graph: AttributedGraph, params: PrivacyParams) -> LabRelease:
    """Return a release of everybody whose groups are filled with inserted vertices."""
    options = AnonymizeOptions("fast")
    return everybody(Request(graph, params, np.random.default_rng(1), options), "aligned")


def copies_of(graph: AttributedGraph, count: int) -> Plan:
    """Return a plan that adds `count` copies of every vertex, without their edges."""
    return Plan(np.tile(graph.qi_classes, count), graph.edges)


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=12), privacy_params(), st.integers(1, 4), st.integers(0, 2**32))
def test_nobody_who_was_safe_becomes_unsafe(
    graph: AttributedGraph, params: PrivacyParams, count: int, seed: int
) -> None:
    """Turning vertices sensitive never breaks a protection set, whatever was planned."""
    plan = copies_of(graph, count)
    released = with_inserted(graph, plan, params, np.random.default_rng(seed))
    harmless = released.codes.copy()
    texts = released.categories[-1]
    harmless[graph.n_vertices :, -1] = texts.index("no")
    before = AttributedGraph.from_codes(
        released.schema, released.categories, harmless, released.edges
    )
    assert unsafe_by_definition(released, params) == unsafe_by_definition(before, params)
    assert np.array_equal(released.codes[: graph.n_vertices], graph.codes)
    assert np.array_equal(released.codes[:, :-1], before.codes[:, :-1])


def test_the_share_among_inserted_vertices_is_that_among_real_ones() -> None:
    """With room for all, a sensitive value does not tell who is real."""
    graph = uniform(600, 600, rng=np.random.default_rng(3))
    share = graph.is_sensitive.mean()
    assert 0 < share < 0.5
    params = PrivacyParams(alpha=1)  # type: ignore[arg-type]
    released = with_inserted(graph, copies_of(graph, 1), params, np.random.default_rng(0))
    inserted = released.is_sensitive[graph.n_vertices :].mean()
    assert abs(inserted - share) < 0.02


def test_a_real_release_has_sensitive_inserted_vertices_and_is_safe() -> None:
    """The strict verifier passes what comes of it."""
    graph = uniform(500, 1_500, n_tuples=30, rng=np.random.default_rng(2))
    params = PrivacyParams(k=20)
    outcome = with_groups_filled(graph, params)
    inserted = outcome.origin < 0
    assert inserted.sum() > 5
    assert outcome.graph.is_sensitive[inserted].any()
    assert verify_graph(outcome.graph, params).is_safe


def test_orbits_bear_what_alpha_allows() -> None:
    """Under a certificate each orbit stays within alpha, which every protection set then does."""
    graph = uniform(60, 120, rng=np.random.default_rng(2))
    params = PrivacyParams(k=5, n_hops=2, alpha=0.4)  # type: ignore[arg-type]
    outcome = with_groups_filled(graph, params)
    assert outcome.shift is not None
    assert outcome.graph.is_sensitive[outcome.origin < 0].any()
    assert verify_graph(outcome.graph, params).is_safe
