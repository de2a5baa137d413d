"""Small random attributed graphs, and safety as literally as its definition reads."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams, Schema
from tests.graphs import ALPHAS


@st.composite
def graphs(draw: st.DrawFn, n_max: int = 24) -> AttributedGraph:
    """Draw graphs with 0 to 3 quasi-identifiers, hubs, isolated vertices and rare tuples."""
    n = draw(st.integers(0, n_max))
    values = draw(st.lists(st.integers(1, 3), max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from([0.0, 0.05, 0.15, 0.5]))
    edges = {(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < density}
    if n > 3 and draw(st.booleans()):
        edges |= {(0, j) for j in range(1, n)}
    sensitive_rate = draw(st.sampled_from([0.0, 0.1, 0.4, 1.0]))
    columns = [rng.integers(0, count, n) for count in values]
    columns.append((rng.random(n) >= sensitive_rate).astype(int))
    schema = Schema(tuple("abc"[: len(values)]), "s", frozenset({"yes"}), expect_absent={"yes"})
    categories = [[str(x) for x in range(count)] for count in values] + [["yes", "no"]]
    return AttributedGraph.from_codes(
        schema, categories, np.column_stack(columns), np.array(sorted(edges)).reshape(-1, 2)
    )


def privacy_params() -> st.SearchStrategy[PrivacyParams]:
    """Draw parameters, extreme ones included."""
    return st.builds(
        PrivacyParams,
        k=st.sampled_from([1, 2, 3, 5, 10, 40]),
        t=st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 3), Fraction(1)]),
        alpha=st.sampled_from(ALPHAS),
        epsilon=st.integers(0, 6),
    )


def unsafe_by_definition(graph: AttributedGraph, params: PrivacyParams) -> list[int]:
    """Return the vertices that are not kt-safe, from sets and fractions alone (n = 1, walk)."""
    n, q = graph.n_vertices, graph.codes.shape[1] - 1
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for u, v in graph.edges.tolist():
        neighbours[u].add(v)
        neighbours[v].add(u)

    def shares(v: int, j: int) -> dict[int, Fraction]:
        counts = Counter(int(graph.codes[u, j]) for u in neighbours[v] | {v})
        return {x: Fraction(c, len(neighbours[v]) + 1) for x, c in counts.items()}

    def similar(u: int, v: int) -> bool:
        if tuple(graph.codes[u, :q]) != tuple(graph.codes[v, :q]):
            return False
        if 2 * abs(len(neighbours[u]) - len(neighbours[v])) > params.epsilon:
            return False
        for j in range(q):
            a, b = shares(u, j), shares(v, j)
            distance = sum((abs(a.get(x, 0) - b.get(x, 0)) for x in {*a, *b}), Fraction(0)) / 2
            if distance > params.t:
                return False
        return True

    unsafe = []
    for v in range(n):
        protection_set = [u for u in range(n) if similar(u, v)]
        sensitive = sum(bool(graph.is_sensitive[u]) for u in protection_set)
        if len(protection_set) < params.k or sensitive > params.alpha * len(protection_set):
            unsafe.append(v)
    return unsafe
