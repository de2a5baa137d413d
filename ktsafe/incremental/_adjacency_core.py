"""The kernel that puts edge lists into compressed adjacency, in linear time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, fastmath=False, nogil=True)
def _scatter(
    edges: NDArray[np.int32], top: NDArray[np.int64], neighbours: NDArray[np.int32]
) -> None:
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        neighbours[top[u]] = v
        top[u] += 1
        neighbours[top[v]] = u
        top[v] += 1


@njit(cache=True, fastmath=False, nogil=True)
def compressed(
    n: int, true: NDArray[np.int32], inserted: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], bool]:
    """Return `indptr` and `indices`, neighbours ascending, of two edge lists among n vertices.

    The last says whether they are a simple graph: no edge twice, none from a vertex to itself.
    """
    indptr = np.zeros(n + 1, dtype=np.int64)
    for edges in (true, inserted):
        for i in range(len(edges)):
            indptr[edges[i, 0] + 1] += 1
            indptr[edges[i, 1] + 1] += 1
    for v in range(n):
        indptr[v + 1] += indptr[v]
    top = indptr[:-1].copy()
    anyhow = np.empty(indptr[-1], dtype=np.int32)
    _scatter(true, top, anyhow)
    _scatter(inserted, top, anyhow)
    # Handing every vertex to its neighbours, in ascending order, leaves each list ascending.
    top[:] = indptr[:-1]
    indices = np.empty(indptr[-1], dtype=np.int32)
    is_simple = True
    for u in range(n):
        for i in range(indptr[u], indptr[u + 1]):
            v = anyhow[i]
            is_twice = top[v] > indptr[v] and indices[top[v] - 1] == u
            is_simple = is_simple and not is_twice and u != v
            indices[top[v]] = u
            top[v] += 1
    return indptr, indices, is_simple
