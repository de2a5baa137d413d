"""Estimates of cost: they follow what releases cost."""

from __future__ import annotations

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema
from ktsafe.datasets.synthetic import uniform
from ktsafe.exact.estimate import estimated_shares
from ktsafe.exact.exact_strategy import exact_release
from ktsafe.strategies import Request


def test_an_estimate_is_near_what_a_release_costs() -> None:
    """Of graphs with few and many classes, and for small and great k, in the same order."""
    pairs = []
    for n_tuples in (1, 3, 8):
        graph = uniform(300, 1500, rng=np.random.default_rng(n_tuples), n_tuples=n_tuples)
        for k in (3, 8):
            estimate, people = estimated_shares(graph, PrivacyParams(k=k))
            assert people == 1.0
            rng, options = np.random.default_rng(0), AnonymizeOptions(aim="cost")
            release = exact_release(Request(graph, PrivacyParams(k=k), rng, options))
            ties = {tuple(tie) for tie in np.sort(graph.edges, axis=1).tolist()}
            shown = {tuple(tie) for tie in np.sort(release.edges, axis=1).tolist()}
            pairs.append((estimate, len(ties ^ shown) / len(ties)))
    estimates, costs = np.array(pairs).T
    assert np.corrcoef(estimates, costs)[0, 1] > 0.95
    assert np.abs(estimates - costs).max() < 0.25


def test_people_of_small_classes_are_not_shown() -> None:
    """Their ties are hidden, which is what they cost."""
    schema = Schema(("club",), "health", frozenset({"x"})).expecting_nothing()
    columns = {"club": ["a"] * 6 + ["b"] * 2, "health": ["y"] * 8}
    ring = [(v, (v + 1) % 6) for v in range(6)]
    graph = AttributedGraph.from_columns(schema, columns, [*ring, (0, 6), (6, 7)])
    assert estimated_shares(graph, PrivacyParams(k=3)) == (2 / 8, 6 / 8)
