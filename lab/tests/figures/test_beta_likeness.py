"""Beta-likeness of releases, against the definition in fractions."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.figures.beta_likeness import beta_figures
from tests.ktsafe.small_graphs import graphs

PARAMS = PrivacyParams(k=3, alpha=1, t="1/4", epsilon=4)


def naive_least_beta(graph: AttributedGraph, params: PrivacyParams) -> list[float]:
    """Return the least beta of every vertex, by comparing all pairs value by value."""
    n = graph.n_vertices
    around = [{v} for v in range(n)]
    for u, v in graph.edges.tolist():
        around[u].add(v)
        around[v].add(u)
    values = [tuple(row) for row in graph.codes[:, :-1].tolist()]
    least = []
    for v in range(n):
        betas = []
        for u in range(n):
            if values[u] != values[v]:
                continue
            if 2 * abs(len(around[u]) - len(around[v])) > params.epsilon:
                continue
            worst, alike = Fraction(0), True
            for j in range(len(values[v])):
                changes = []
                for x in range(len(graph.categories[j])):
                    p, q = (
                        Fraction(sum(values[w][j] == x for w in around[z]), len(around[z]))
                        for z in (u, v)
                    )
                    changes.append(abs(p - q))
                    if p != q:
                        worst = max(worst, abs(p - q) / min(p, q) if min(p, q) else Fraction(10**9))
                alike &= sum(changes) <= 2 * params.t
            if alike:
                betas.append(float(worst) if worst < 10**9 else np.inf)
        least.append(sorted(betas)[params.k - 1] if len(betas) >= params.k else np.inf)
    return least


@settings(max_examples=40, deadline=None)
@given(graph=graphs(n_max=12))
def test_figures_are_those_of_the_definition(graph: AttributedGraph) -> None:
    """Median, maximum and the number above t agree with the naive count."""
    found = beta_figures(graph, PARAMS)
    assert found is not None
    least = naive_least_beta(graph, PARAMS)
    assert found["vertices_above_t"] == sum(b > float(PARAMS.t) for b in least)
    if least:
        for name, value in (("max", max(least)), ("median", float(np.median(least)))):
            expected = pytest.approx(value, abs=1e-5) if np.isfinite(value) else None
            assert found[name] == expected


def test_equal_neighbourhoods_need_no_beta() -> None:
    """At t = 0 protection sets are of equal shares, and beta is 0."""
    graph = uniform(120, 200, n_tuples=2, rng=np.random.default_rng(0))
    params = PrivacyParams(k=4, t=0, epsilon=0)
    released = anonymize(graph, params, rng=np.random.default_rng(1)).graph
    assert beta_figures(released, params) == {"median": 0.0, "max": 0.0, "vertices_above_t": 0}


def test_a_value_that_one_side_lacks_makes_it_infinite() -> None:
    """Who alone has a neighbour of some kind is alike nobody, whatever beta; t may not see it."""
    schema = Schema(("a",), "s", frozenset())
    codes = [[0, 0]] * 12 + [[1, 0]]
    edges = [[u, u + 6] for u in range(6)] + [[0, v] for v in (1, 2, 3, 4, 5, 12)]
    graph = AttributedGraph.from_codes(schema, [["x", "y"], ["-"]], codes, edges)
    params = PrivacyParams(k=2, alpha=1, t="1/2", epsilon=20)
    figures = beta_figures(graph, params)
    assert figures is not None
    assert figures["max"] is None
    assert figures["vertices_above_t"] >= 1


def test_other_neighbourhoods_are_not_measured() -> None:
    """Two hops have no such figure."""
    graph = uniform(40, 50, n_tuples=2, rng=np.random.default_rng(0))
    assert beta_figures(graph, dataclasses.replace(PARAMS, n_hops=2)) is None
