"""Networks with hubs and two quasi-identifiers, whose tuples are many and values few."""

from __future__ import annotations

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema
from ktsafe.anonymization.request import Request

DEFAULT_PARAMS = PrivacyParams()
SCHEMA = Schema(("region", "work"), "state", frozenset({"ill"}), expect_absent={"ill"})


def with_hubs(n: int, degree: int, seed: int) -> AttributedGraph:
    """Return a network in which some have many times as many neighbours as others."""
    rng = np.random.default_rng(seed)
    columns = {
        "region": [f"region{x}" for x in rng.integers(0, 3, n)],
        "work": [f"work{x}" for x in rng.integers(0, 3, n)],
        "state": ["ill" if x < 0.05 else "well" for x in rng.random(n)],
    }
    weight = rng.pareto(2, n) + 0.5
    ends = rng.choice(n, size=(2 * n * degree, 2), p=weight / weight.sum())
    ties = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    few = rng.permutation(len(ties))[: n * degree // 2]
    return AttributedGraph.from_columns(SCHEMA, columns, ties[few])


def fast(graph: AttributedGraph, params: PrivacyParams = DEFAULT_PARAMS, seed: int = 0) -> Request:
    """Return a request with a generator of its own."""
    return Request(graph, params, np.random.default_rng(seed), AnonymizeOptions("fast"))


def released(graph: AttributedGraph, inserted: np.ndarray, edges: np.ndarray) -> AttributedGraph:
    """Return a release; inserted vertices are not sensitive."""
    example = np.unique(graph.qi_classes, return_index=True)[1]
    rows = graph.codes[example[inserted]]
    rows[:, -1] = len(graph.categories[-1])
    categories = (*graph.categories[:-1], (*graph.categories[-1], "harmless"))
    codes = np.concatenate((graph.codes, rows))
    return AttributedGraph.from_codes(graph.schema, categories, codes, edges)
