"""Small releases with their truth, for the attacks to be tried on."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ktsafe import AttributedGraph, Schema
from ktsafe.assess.attacks import Case

SCHEMA = Schema(("a", "b"), "s", frozenset({"yes"}))
CATEGORIES = [["0", "1"], ["x", "y", "z"], ["yes", "no"]]


def random_graph(
    n: int, m: int, rng: np.random.Generator, *, community: int = 0
) -> AttributedGraph:
    """Return a graph of six quasi-identifier tuples; ties join people of one community, if any."""
    codes = np.column_stack([rng.integers(0, len(texts), n) for texts in CATEGORIES])
    pairs = rng.integers(0, n, (m, 2))
    if community:
        pairs[:, 1] = pairs[:, 0] // community * community + rng.integers(0, community, m)
    return graph_of(codes, np.minimum(pairs, n - 1))


def graph_of(codes: np.ndarray, pairs: np.ndarray) -> AttributedGraph:
    """Return the graph on the distinct proper ones of some pairs."""
    pairs = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1)
    proper = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return AttributedGraph.from_codes(SCHEMA, CATEGORIES, codes, proper)


def noisy(
    original: AttributedGraph,
    rng: np.random.Generator,
    *,
    kept: float = 0.8,
    added: int = 10,
    inserted: int = 2,
    withheld: int = 1,
) -> Case:
    """Return a release with ties hidden and added, vertices inserted and withheld, in any order."""
    n = original.n_vertices
    order = np.concatenate((np.arange(n)[withheld:], np.full(inserted, -1)))
    rng.shuffle(order)
    place = np.full(n, -1, dtype=np.int64)
    place[order[order >= 0]] = np.flatnonzero(order >= 0)
    codes = np.where(
        (order >= 0)[:, None], original.codes[order], [[rng.integers(0, 2), 0, 1]] * len(order)
    )
    ties = place[original.edges[rng.random(original.n_edges) < kept]].reshape(-1, 2)
    more = rng.integers(0, max(len(order), 1), (added if len(order) else 0, 2))
    pairs = np.concatenate((ties[(ties >= 0).all(axis=1)], more))
    return Case(original, graph_of(codes, pairs), order)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw small releases with their truth."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 14))
    original = random_graph(n, draw(st.integers(0, 30)), rng)
    return noisy(
        original,
        rng,
        kept=draw(st.sampled_from([0.0, 0.5, 0.9, 1.0])),
        added=draw(st.integers(0, 12)),
        inserted=draw(st.integers(0, 3)),
        withheld=draw(st.integers(0, 1)),
    )
