"""A random graph for examples and tests: uniform degrees, a few quasi-identifiers.

It is the first of the paper's three kinds of synthetic graph; the laboratory has the others
(`ktsafe_lab.synthetic_degrees`).

The order of draws settles the graphs that tests and benchmarks compare. It may be slow; it must
stay without loops and repetitions.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph, Schema

N_VALUES = 5
N_QUASI_IDENTIFIERS = 3

SYNTHETIC_SCHEMA = Schema(("a1", "a2", "a3"), "a4", frozenset({"0"}))
"""Schema of the generated graphs: value 0 of `a4` is the sensitive one."""


def uniform(
    n_vertices: int,
    n_edges: int,
    *,
    rng: np.random.Generator,
    n_tuples: int = 10,
    sensitive_share: float = 0.1,
) -> AttributedGraph:
    """Return a graph with uniform degrees from 0 to twice their mean.

    Parameters
    ----------
    n_vertices, n_edges:
        Size; the edges may fill at most half of all pairs.
    rng:
        Source of all randomness.
    n_tuples:
        Different quasi-identifiers, 1 to 125.
    sensitive_share:
        Probability of a sensitive value, 0 to 1.

    Raises
    ------
    InvalidGraph
        If the edges or tuples asked for do not fit.

    Examples
    --------
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0))
    >>> graph.n_vertices, graph.n_edges
    (100, 300)
    """
    mean = mean_degree(n_vertices, n_edges)
    degrees = rng.integers(0, round(2 * mean) + 1, n_vertices)
    return drawn_graph(degrees, np.ones(N_VALUES), n_edges, n_tuples, sensitive_share, rng)


def mean_degree(n_vertices: int, n_edges: int) -> float:
    """Return the mean degree.

    Raise if the edges would fill more than half of all pairs.
    """
    if n_vertices < 0 or n_edges < 0 or 4 * n_edges > n_vertices * (n_vertices - 1):
        raise InvalidGraph("The edges asked for would fill more than half of all pairs.")
    return 2 * n_edges / max(n_vertices, 1)


def drawn_graph(
    degrees: NDArray[np.int64],
    weights: NDArray[np.float64],
    n_edges: int,
    n_tuples: int,
    sensitive_share: float,
    rng: np.random.Generator,
) -> AttributedGraph:
    """Join attributes by `weights` and a random graph of these degrees."""
    n = len(degrees)
    everything = np.array(list(itertools.product(range(N_VALUES), repeat=N_QUASI_IDENTIFIERS)))
    if not 1 <= n_tuples <= len(everything):
        raise InvalidGraph(f"There can be 1 to {len(everything)} quasi-identifiers.")
    tuples = everything[np.sort(rng.choice(len(everything), n_tuples, replace=False))]
    share = weights[tuples].prod(axis=1)
    codes = np.empty((n, N_QUASI_IDENTIFIERS + 1), dtype=np.int32)
    codes[:, :-1] = tuples[rng.choice(n_tuples, n, p=share / share.sum())]
    ordinary = rng.integers(1, N_VALUES, n)
    codes[:, -1] = np.where(rng.random(n) < sensitive_share, 0, ordinary)
    categories = [[str(x) for x in range(N_VALUES)]] * (N_QUASI_IDENTIFIERS + 1)
    edges = _edges(degrees, n_edges, rng)
    return AttributedGraph.from_codes(SYNTHETIC_SCHEMA, categories, codes, edges)


def _edges(degrees: NDArray[np.int64], n_edges: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return exactly `n_edges` edges of a configuration model without loops and repetitions.

    What pairing the stubs leaves short is drawn again from the stubs, and, should hubs have no
    partner left, at last from all pairs.
    """
    n = len(degrees)
    stubs = rng.permutation(np.repeat(np.arange(n), degrees))
    keys = _keys(stubs[: len(stubs) // 2 * 2].reshape(-1, 2), n)
    attempts = 0
    while len(keys) < n_edges:
        missing = n_edges - len(keys)
        pool = stubs if attempts < 20 and len(stubs) else np.arange(n)
        drawn = pool[rng.integers(0, len(pool), (2 * missing + 16, 2))]
        keys = _distinct(np.concatenate((keys, _keys(drawn, n))))
        attempts += 1
    if len(keys) > n_edges:
        keys = rng.choice(keys, n_edges, replace=False, shuffle=False)
    return np.column_stack((keys // n, keys % n)) if n else np.zeros((0, 2), dtype=np.int64)


def _keys(pairs: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return each proper pair once as a number."""
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    return _distinct((low * n + high)[low < high])


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct keys, ascending; sorting beats numpy's hashing at these sizes."""
    ordered = np.sort(keys)
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]
