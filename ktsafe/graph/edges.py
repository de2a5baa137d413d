"""Lists of edges, shape (m, 2): numbering, adjacency, and intersection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

EDGES_AT_ONCE = 4_000_000
"""Edges of a large graph that are looked at together: all would take as much room as the graph."""


def edge_keys(edges: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return a number for each edge, shape (m, 2).

    Smaller << 32 | greater, whatever its direction.

    Numbers ascend as edges do that are given as (smaller, greater).
    """
    u, v = edges.reshape(-1, 2).T
    keys: NDArray[np.int64] = np.minimum(u, v).astype(np.int64)
    keys <<= 32
    keys |= np.maximum(u, v).astype(np.int64, copy=False)
    return keys


def edge_ends(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ends of edges that `edge_keys` gave numbers, shape (m, 2)."""
    return np.column_stack((keys >> 32, keys & 0xFFFFFFFF))


def renumbered(
    number: NDArray[np.signedinteger], edges: NDArray[np.integer]
) -> NDArray[np.signedinteger]:
    """Return edges by other numbers of their ends, without lost ends.

    Parameters
    ----------
    number:
        Shape (n,): of each end, below 0 for none.

    Examples
    --------
    >>> renumbered(np.array([7, -1, 5]), np.array([[0, 1], [2, 0]])).tolist()
    [[5, 7]]
    """
    found, n = np.empty((len(edges), 2), dtype=number.dtype), 0
    for first in range(0, len(edges), EDGES_AT_ONCE):
        ends = number[edges[first : first + EDGES_AT_ONCE]]
        # One of two numbers is below 0 if all bits of both together are.
        ends = ends[(ends[:, 0] | ends[:, 1]) >= 0]
        found[n : n + len(ends)] = ends
        n += len(ends)
    return found[:n]


def n_common_edges(edges: NDArray[np.integer], others: NDArray[np.integer]) -> int:
    """Return the number of edges in both of two lists, (m, 2).

    Each is counted once, in any direction.

    Examples
    --------
    >>> n_common_edges(np.array([[0, 1], [2, 1]]), np.array([[1, 2], [0, 2], [1, 0]]))
    2
    """
    n = 1 + int(max(edges.max(initial=-1), others.max(initial=-1)))
    known, found = _upper(n, edges), 0
    for first in range(0, len(others), EDGES_AT_ONCE):
        found += known.multiply(_upper(n, others[first : first + EDGES_AT_ONCE])).nnz
    return int(found)


def _upper(n: int, edges: NDArray[np.integer]) -> csr_array:
    """Return the upper half of the adjacency matrix of edges.

    How often each is given.
    """
    # Who only reads feeds has no graph to make, and a fifth of a second less to wait.
    from scipy.sparse import csr_array  # noqa: PLC0415

    u, v = edges.T.astype(np.int32)
    ends = np.minimum(u, v), np.maximum(u, v)
    return csr_array((np.ones(len(edges), dtype=np.int8), ends), shape=(n, n))


def adjacency(n: int, edges: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the compressed adjacency of an undirected edge list, neighbours ascending."""
    if len(edges) and (edges.min() < 0 or edges.max() >= n):
        msg = "An edge names a vertex that does not exist."
        raise InvalidGraph(msg)
    if np.any(edges[:, 0] == edges[:, 1]):
        msg = "A vertex has an edge to itself."
        raise InvalidGraph(msg, hint="Remove it: a tie joins two people.")
    half = _upper(n, edges)
    both = half + half.T
    # What is given twice is added up.
    if both.nnz < 2 * len(edges):
        msg = "An edge is given twice."
        raise InvalidGraph(msg)
    return both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False)
