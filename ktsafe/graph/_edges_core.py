"""The adjacency of a list of edges, by counting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel


@kernel
def adjacency(
    n: int, u: NDArray[np.int32], v: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], bool]:
    """Return `indptr`, ascending `indices`, and whether no edge is given twice.

    Edges are (u, v), both from 0 to n - 1 and unequal.

    1. Count the smaller and the greater neighbours of each vertex.
    2. Write the greater end of each edge beside the others of its smaller end.
    3. Vertex by vertex, write it to its greater neighbours: they meet it in order.
    4. Vertex by vertex, write it to its smaller neighbours, which are known in order now.

    Where edges ascend as (smaller, greater) what step 2 leaves is what step 4 would make of it.

    Complexity
    ----------
    O(n + m).
    """
    m = u.shape[0]
    n_smaller, n_greater = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    for e in range(m):
        n_greater[min(u[e], v[e])] += 1
        n_smaller[max(u[e], v[e])] += 1
    ascends = True
    for e in range(m):
        if u[e] > v[e] or (e and (u[e - 1] > u[e] or (u[e - 1] == u[e] and v[e - 1] > v[e]))):
            ascends = False
            break
    indptr, greater = np.zeros(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for x in range(n):
        greater[x] = indptr[x] + n_smaller[x]
        indptr[x + 1] = greater[x] + n_greater[x]
    indices = np.empty(2 * m, dtype=np.int32)
    place = greater.copy()
    for e in range(m):
        smaller = min(u[e], v[e])
        indices[place[smaller]] = max(u[e], v[e])
        place[smaller] += 1
    place[:] = indptr[:-1]
    for x in range(n):
        for i in range(greater[x], indptr[x + 1]):
            other = indices[i]
            indices[place[other]] = x
            place[other] += 1
    if not ascends:
        place[:] = greater
        for x in range(n):
            for i in range(indptr[x], greater[x]):
                other = indices[i]
                indices[place[other]] = x
                place[other] += 1
    is_simple = True
    for x in range(n):
        for i in range(greater[x] + 1, indptr[x + 1]):
            if indices[i - 1] == indices[i]:
                is_simple = False
    return indptr, indices, is_simple
