"""Random attributed graphs, and counting without any of the engine's code."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.anonymization.request import DEFAULTS, prepare

SCHEMA = Schema(("kind",), "state", frozenset({"ill"}), expect_absent={"ill"})


def graph_of(kinds, is_ill, edges):
    """Return a graph with one quasi-identifier."""
    columns = {
        "kind": [f"kind{kind}" for kind in kinds],
        "state": ["ill" if ill else "well" for ill in is_ill],
    }
    return AttributedGraph.from_columns(SCHEMA, columns, np.array(edges).reshape(-1, 2))


@st.composite
def graphs(draw, n_max=60):
    """Draw a graph of up to three kinds of vertices, some of them ill, with any density."""
    n = draw(st.integers(1, n_max))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.9]))
    kinds = rng.integers(0, draw(st.integers(1, 3)), n)
    is_ill = rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.4]))
    u, v = np.triu_indices(n, 1)
    chosen = rng.random(len(u)) < share * rng.random(n)[u]
    return graph_of(kinds, is_ill, np.column_stack((u[chosen], v[chosen])))


def rows(n, kinds, edges):
    """Return the neighbours of each vertex by kind, counted one by one."""
    counted = [Counter() for _ in range(n)]
    for u, v in edges:
        counted[u][kinds[v]] += 1
        counted[v][kinds[u]] += 1
    return counted


def as_set(edges):
    """Return the edges as a set of pairs; repeated ones and loops are refused."""
    pairs = [(min(u, v), max(u, v)) for u, v in np.asarray(edges).tolist()]
    assert len(set(pairs)) == len(pairs)
    assert all(u != v for u, v in pairs)
    return set(pairs)


def treated(graph: AttributedGraph, params: PrivacyParams) -> AttributedGraph:
    """Return a graph whose classes can be cohorts: what strategies get to see."""
    return prepare(graph, params, DEFAULTS, np.random.default_rng(0)).graph
