"""Cohorts equal attribute by attribute: safe without tolerance, and nearer to the truth."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.verify import verify_graph
from ktsafe_lab.by_attribute import attribute_strategy
from ktsafe_lab.by_attribute.attribute_strategy import (
    attribute,
    by_attribute,
    edits,
    exact_edges,
    f1,
)
from ktsafe_lab.strategies import anonymize
from lab.tests.by_attribute.hubs import fast, released, with_hubs
from tests.ktsafe.anonymization.graphs import as_set, graph_of, treated
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition

LONG = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOBODY = np.zeros(0, dtype=np.int32)


@LONG
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_releases_are_safe_without_tolerance(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """By the definition with t and epsilon 0 nobody is unsafe, at the cost of no edge at most."""
    graph = treated(graph, params)
    plan = attribute(fast(graph, params, seed))
    as_set(plan.edges)
    strict = dataclasses.replace(params, t=Fraction(0), epsilon=0)
    assert unsafe_by_definition(released(graph, NOBODY, plan.edges), strict) == []
    assert edits(graph, plan.edges) <= graph.n_edges


@LONG
@given(graphs(n_max=16), privacy_params(), st.integers(0, 2**32))
def test_so_are_those_that_no_exact_one_replaces(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """With no edge everybody is equal."""
    graph = treated(graph, params)
    edges = by_attribute(fast(graph, params, seed))
    if edges is None:
        return
    as_set(edges)
    strict = dataclasses.replace(params, t=Fraction(0), epsilon=0, alpha=Fraction(1))
    assert unsafe_by_definition(released(graph, NOBODY, edges), strict) == []


def test_more_is_shown_than_by_tuple() -> None:
    """Of 600 people in nine kinds, with twenty neighbours each, for a seventh less cost."""
    graph = with_hubs(600, 20, seed=0)
    params = PrivacyParams(k=5, t=0, epsilon=0)  # type: ignore[arg-type]
    by_tuple = exact_edges(fast(graph, params))
    plan = attribute(fast(graph, params))
    assert verify_graph(released(graph, NOBODY, plan.edges), params).is_safe
    assert f1(graph, plan.edges) > f1(graph, by_tuple) + 0.04
    assert edits(graph, plan.edges) < 6 / 7 * edits(graph, by_tuple)


@LONG
@given(graphs(), st.integers(0, 2**32))
def test_f1_is_that_of_ties(graph: AttributedGraph, seed: int) -> None:
    """As counted edge by edge, in a graph that has some ties and lacks others."""
    if graph.n_vertices < 3 or not graph.n_edges:
        return
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(graph.n_vertices, 1)).astype(np.int32)
    some = pairs[rng.random(len(pairs)) < rng.random()]
    truth, shown = as_set(graph.edges), as_set(some)
    assert f1(graph, some) == pytest.approx(
        2 * len(truth & shown) / (len(truth) + len(shown)), abs=1e-12
    )


def test_one_attribute_is_left_to_exact_cohorts() -> None:
    """A value is a tuple then; and without ties there is nothing to plan."""
    params = PrivacyParams(k=5)
    one = graph_of([0, 0, 1, 1] * 20, [False] * 80, [(u, u + 1) for u in range(79)])
    assert by_attribute(fast(one, params)) is None
    graph = with_hubs(100, 10, seed=0)
    without = AttributedGraph.from_codes(
        graph.schema, graph.categories, graph.codes, graph.edges[:0]
    )
    assert by_attribute(fast(without, params)) is None


def test_too_many_kinds_are_left_to_exact_cohorts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where targets would take too much memory the release is that of exact cohorts."""
    graph = with_hubs(300, 20, seed=0)
    params = PrivacyParams(k=5)
    assert by_attribute(fast(graph, params)) is not None
    monkeypatch.setattr(attribute_strategy, "CELLS_MAX", 400)
    assert by_attribute(fast(graph, params)) is None
    plan = attribute(fast(graph, params))
    assert differing_rows(graph, plan.edges, params.k) == 0


def differing_rows(graph: AttributedGraph, edges: np.ndarray, k: int) -> int:
    """Count the people with fewer than k of their kind with equal counts of every kind."""
    rows = np.column_stack((graph.qi_classes, np.zeros((graph.n_vertices, 9), dtype=np.int64)))
    np.add.at(rows, (edges, 1 + graph.qi_classes[edges[:, ::-1]]), 1)
    _, kind, number = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return int((number[kind.reshape(-1)] < k).sum())


def test_the_same_seed_gives_the_same_release() -> None:
    """And another one another release."""
    graph = with_hubs(200, 20, seed=0)
    made = [anonymize(fast(graph, PrivacyParams(), seed), "attribute") for seed in (0, 0, 1)]
    edges = [as_set(each.graph.edges) for each in made]
    assert edges[0] == edges[1] != edges[2]
