"""Estimates of worth: they follow what releases are worth."""

from __future__ import annotations

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema
from ktsafe.anonymization.anonymization import exact_release
from ktsafe.anonymization.request import Request
from ktsafe.assess.generalization.quick_release import estimated_worth
from ktsafe.graph.synthetic import uniform


def test_an_estimate_is_near_what_a_release_is_worth() -> None:
    """Of graphs with few and many classes, and for small and great k, in the same order."""
    pairs = []
    for n_tuples in (1, 3, 8):
        graph = uniform(300, 1500, rng=np.random.default_rng(n_tuples), n_tuples=n_tuples)
        for k in (3, 8):
            estimate, people = estimated_worth(graph, PrivacyParams(k=k))
            assert people == 1.0
            rng, options = np.random.default_rng(0), AnonymizeOptions(effort="fast")
            release = exact_release(Request(graph, PrivacyParams(k=k), rng, options))
            ties = {tuple(tie) for tie in np.sort(graph.edges, axis=1).tolist()}
            shown = {tuple(tie) for tie in np.sort(release.edges, axis=1).tolist()}
            pairs.append((estimate, 2 * len(ties & shown) / (len(ties) + len(shown))))
    estimates, f1 = np.array(pairs).T
    assert np.corrcoef(estimates, f1)[0, 1] > 0.95
    assert np.abs(estimates - f1).max() < 0.15


def test_people_of_small_classes_are_not_shown() -> None:
    """Nor are their ties; others are shown whole where all members have as many."""
    schema = Schema(("club",), "health", frozenset({"x"})).expecting_nothing()
    columns = {"club": ["a"] * 6 + ["b"] * 2, "health": ["y"] * 8}
    ring = [(v, (v + 1) % 6) for v in range(6)]
    graph = AttributedGraph.from_columns(schema, columns, [*ring, (0, 6), (6, 7)])
    assert estimated_worth(graph, PrivacyParams(k=3)) == (6 / 8, 6 / 8)
