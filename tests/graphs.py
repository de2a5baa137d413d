"""Tiny named graphs and random ones, shared by the tests of the verifier and of the audit."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.verify import Verdict, verify
from tests.naive import Small, Tolerance

ALPHAS = tuple(Fraction(text) for text in ("1/50", "1/5", "1/3", "0.35", "2/5", "3/7", "2/3", "1"))
"""Of 1/n alone a share rounded up would be one rounded down."""


def paper_original() -> Small:
    """Six vertices, five edges: Figure 1 as far as Examples 1 and 2 tell it.

    Stated: v1 (0.5) knows v2, v3, v4 with 0.4, 0.5, 0.5; v4 (0.5) knows v1, v5, v6 with 0.5, 0.6,
    0.4; the salaries of v1 and v4 are 0.7 and 0.1, and v4's is the low (sensitive) one.
    Reconstructed: the others have no further edges and no sensitive salary.
    """
    return Small(
        [(5,), (4,), (5,), (5,), (6,), (4,)],
        [False, False, False, True, False, False],
        [(0, 1), (0, 2), (0, 3), (3, 4), (3, 5)],
    )


def paper_anonymized() -> Small:
    """Eight vertices, seven edges: Example 3's release of `paper_original`.

    Stated: v7 (0.6) is inserted beside v1 and v8 (0.5) beside v4. Reconstructed: neither is
    sensitive.
    """
    graph = paper_original()
    return Small(
        [*graph.quasi_identifiers, (6,), (5,)],
        [*graph.is_sensitive, False, False],
        [*graph.edges, (0, 6), (3, 7)],
    )


def stars(count: int, leaves: int) -> Small:
    """`count` disjoint stars of equal vertices; star i occupies i * (leaves + 1) onwards."""
    size = leaves + 1
    edges = [(i * size, i * size + 1 + j) for i in range(count) for j in range(leaves)]
    return Small([()] * (count * size), [False] * (count * size), edges)


def regular(count: int, degree: int, *, sensitive: int = 0) -> Small:
    """`count` equal vertices of one degree in a circle; the first `sensitive` ones are sensitive.

    An odd degree needs an even `count`.
    """
    edges = {
        (min(i, j), max(i, j))
        for i in range(count)
        for step in range(1, degree // 2 + 1)
        for j in ((i + step) % count,)
    }
    if degree % 2:
        edges |= {(i, i + count // 2) for i in range(count // 2)}
    return Small([()] * count, [i < sensitive for i in range(count)], sorted(edges))


def union(*graphs: Small) -> Small:
    """Return the disjoint union."""
    out = Small([], [], [])
    for graph in graphs:
        shift = len(out.is_sensitive)
        out.edges.extend((u + shift, v + shift) for u, v in graph.edges)
        out.quasi_identifiers.extend(graph.quasi_identifiers)
        out.is_sensitive.extend(graph.is_sensitive)
    return out


def copies(graph: Small, count: int) -> Small:
    """Return `count` disjoint copies; only the first keeps its sensitive flags."""
    plain = graph._replace(is_sensitive=[False] * len(graph.is_sensitive))
    return union(graph, *[plain] * (count - 1))


def arrays(graph: Small) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the verifier's three arrays."""
    n = len(graph.is_sensitive)
    return (
        np.array(graph.quasi_identifiers, dtype=np.int64).reshape(n, -1 if n else 0),
        np.array(graph.is_sensitive, dtype=np.bool_),
        np.array(graph.edges, dtype=np.int64).reshape(-1, 2),
    )


def attributed(graph: Small) -> AttributedGraph:
    """Return the graph with attributes a0, a1... and a sensitive attribute `s`."""
    qi, sensitive, edges = arrays(graph)
    yes = frozenset({"yes"})
    schema = Schema(tuple(f"a{j}" for j in range(qi.shape[1])), "s", yes, expect_absent=yes)
    columns = {f"a{j}": [str(x) for x in qi[:, j]] for j in range(qi.shape[1])}
    columns["s"] = ["yes" if flag else "no" for flag in sensitive]
    return AttributedGraph.from_columns(schema, columns, edges)


def params_of(tolerance: Tolerance) -> PrivacyParams:
    """Return the package's parameters."""
    return PrivacyParams(
        k=tolerance.k, t=tolerance.t, alpha=tolerance.alpha, epsilon=tolerance.epsilon
    )


def verdict_of(graph: Small, tolerance: Tolerance) -> Verdict:
    """Return the package's verdict."""
    return verify(*arrays(graph), params_of(tolerance))


@st.composite
def small_graphs(draw: st.DrawFn, max_vertices: int = 14, max_attributes: int = 3) -> Small:
    """Draw graphs from empty to complete, with isolated vertices, hubs and rare tuples."""
    n = draw(st.integers(0, max_vertices))
    q = draw(st.integers(0, max_attributes))
    n_values = draw(st.integers(1, 4))
    value = st.integers(0, n_values - 1)
    qi = [tuple(draw(value) for _ in range(q)) for _ in range(n)]
    sensitive = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    rng = random.Random(draw(st.integers(0, 2**32)))
    density = draw(st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]))
    edges = [
        e if rng.random() < 0.5 else e[::-1]
        for e in itertools.combinations(range(n), 2)
        if rng.random() < density or (e[0] == 0 and density == 0.1)
    ]
    rng.shuffle(edges)
    return Small(qi, sensitive, edges)


def tolerances() -> st.SearchStrategy[Tolerance]:
    """Draw parameters with every extreme."""
    return st.builds(
        Tolerance,
        k=st.integers(1, 6),
        t=st.sampled_from([Fraction(0), Fraction(1)])
        | st.fractions(min_value=0, max_value=1, max_denominator=40),
        alpha=st.just(Fraction(1))
        | st.fractions(min_value=Fraction(1, 50), max_value=1, max_denominator=50),
        epsilon=st.integers(0, 12),
    )
