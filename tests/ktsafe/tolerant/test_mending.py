"""Releases that are nearly safe are mended: safe by the definition, and little changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.exact.exact_strategy import undisguised
from ktsafe.graph import edge_keys
from ktsafe.tolerant import mending
from ktsafe.tolerant.mending import mended
from ktsafe.tolerant.nearly_exact import nearly_exact
from tests.ktsafe.exact.graphs import as_set
from tests.ktsafe.exact.graphs import graphs as few_classes
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition
from tests.ktsafe.tolerant.graphs import fast, with_hubs

LONG = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOBODY = np.zeros(0, dtype=np.int32)
PARAMS = PrivacyParams(k=5)


def with_edges(graph: AttributedGraph, edges: np.ndarray) -> AttributedGraph:
    """Return the people with other edges."""
    return AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, edges)


@LONG
@given(graphs() | few_classes(), privacy_params(), st.integers(0, 2**32))
def test_what_is_mended_is_safe(graph: AttributedGraph, params: PrivacyParams, seed: int) -> None:
    """By the definition nobody is unsafe, or there is no release; edges are simple."""
    assume(graph.n_vertices and graph.codes.shape[1] > 1)
    request = fast(graph, params, seed)
    edges, cohort = nearly_exact(request, NOBODY, np.arange(graph.n_vertices))
    after = mended(request, NOBODY, edges, cohort)
    if after is not None:
        as_set(after)
        assert unsafe_by_definition(with_edges(graph, after), params) == []


def test_little_is_changed() -> None:
    """Ten edges that are missing cost at most ten others each."""
    graph = with_hubs(300, 8, seed=0)
    exact = undisguised(fast(graph, PARAMS))
    rng = np.random.default_rng(1)
    edges = exact.edges[np.sort(rng.permutation(len(exact.edges))[10:])]
    assert unsafe_by_definition(with_edges(graph, edges), PARAMS)
    after = mended(fast(graph, PARAMS), NOBODY, edges, exact.cohorts.of_vertex)
    assert after is not None
    assert unsafe_by_definition(with_edges(graph, after), PARAMS) == []
    assert len(np.setxor1d(edge_keys(after), edge_keys(edges))) <= 100


def test_safe_releases_stay_as_they_are() -> None:
    """Where nobody is unsafe no edge changes."""
    graph = with_hubs(300, 20, seed=0)
    exact = undisguised(fast(graph, PARAMS))
    after = mended(fast(graph, PARAMS), NOBODY, exact.edges, exact.cohorts.of_vertex)
    assert after is not None
    assert as_set(after) == as_set(exact.edges)


def test_cohorts_that_find_no_way_are_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """If nobody comes home, cohorts lose their edges one after another, until all are safe."""
    monkeypatch.setattr(mending, "HEATS", ())
    monkeypatch.setattr(mending, "PHASES", 1000)
    graph = with_hubs(300, 8, seed=0)
    exact = undisguised(fast(graph, PARAMS))
    edges = exact.edges[5:]
    assert unsafe_by_definition(with_edges(graph, edges), PARAMS)
    after = mended(fast(graph, PARAMS), NOBODY, edges, exact.cohorts.of_vertex)
    assert after is not None
    assert as_set(after) < as_set(edges)
    assert unsafe_by_definition(with_edges(graph, after), PARAMS) == []


def test_hopeless_releases_are_not_mended() -> None:
    """The truth, where most people are unsafe, is no release to begin with."""
    graph = with_hubs(300, 20, seed=0)
    cohort = undisguised(fast(graph, PARAMS)).cohorts.of_vertex
    assert mended(fast(graph, PARAMS), NOBODY, graph.edges, cohort) is None
