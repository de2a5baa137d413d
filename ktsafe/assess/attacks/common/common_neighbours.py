"""Common neighbours of the two ends of every released edge.

True ties close triangles.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.graph import AttributedGraph

PATHS_MAX = 1 << 22
"""Paths of two edges that are counted at a time: it bounds the memory."""


def adjacency(graph: AttributedGraph) -> sparse.csr_matrix:
    """Return the adjacency matrix, int64 ones, shape (n, n)."""
    ones = np.ones(len(graph.indices), dtype=np.int64)
    shape = (graph.n_vertices, graph.n_vertices)
    return sparse.csr_matrix((ones, graph.indices, graph.indptr), shape=shape, copy=True)


def common_neighbours(graph: AttributedGraph, worth: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the common neighbours of each edge's ends, shape (m,).

    `worth`, shape (n,), is what each common neighbour counts. Default: 1. Two sums take hardly
    longer than one: of complex numbers.

    *Complexity*: O(sum of squared degrees) time; `PATHS_MAX` bounds the memory.
    """
    n = graph.n_vertices
    worth = np.ones(n) if worth is None else worth
    beside = adjacency(graph).astype(worth.dtype)
    through = beside @ sparse.diags(worth)
    paths = (beside @ graph.degrees).real
    part = (np.cumsum(paths) // PATHS_MAX).astype(np.int64) if n else np.zeros(0, dtype=np.int64)
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), n]
    sources, targets = graph.edges[:, 0], graph.edges[:, 1]
    out = np.zeros(graph.n_edges, worth.dtype)
    for begin, end in itertools.pairwise(cuts):
        first, last = np.searchsorted(sources, [begin, end])
        if first == last:
            continue
        counts = (through[begin:end] @ beside).tocsr()
        picked = counts[sources[first:last] - begin, targets[first:last]]
        out[first:last] = np.asarray(picked).reshape(-1)
    return out


def both_ways(graph: AttributedGraph, of_edge: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the worth of each entry of `graph.indices`, from that of edges."""
    n = graph.n_vertices
    source = np.repeat(np.arange(n, dtype=np.int64), graph.degrees)
    small, great = np.minimum(source, graph.indices), np.maximum(source, graph.indices)
    keys = graph.edges[:, 0].astype(np.int64) * n + graph.edges[:, 1]
    return of_edge[np.searchsorted(keys, small * n + great)]
