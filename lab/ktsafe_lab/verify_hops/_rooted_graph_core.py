"""Kernels that prepare rooted graphs for the bounded edit distance.

Levels, colours, twins, order.

They are private to the verifier. Bounds are checked by the caller.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

ROUNDS = 3
"""Rounds of colour refinement that order the candidates of a vertex."""

FAR = 1 << 30
"""Level of a vertex that the root does not reach."""


class Rooted(NamedTuple):
    """A rooted graph on vertices 0..n-1; vertex 0 is the root.

    `level` is the distance from the root. `colour[r]` are the hashes after r rounds of refinement.
    `twin[v]` is the next lower vertex with the same neighbours (v and it aside), or -1. `order`
    begins with the root and goes on with the vertex of most neighbours before it.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    level: NDArray[np.int32]
    colour: NDArray[np.uint64]
    twin: NDArray[np.int32]
    order: NDArray[np.int32]


@inner_kernel
def mixed(word: int) -> int:
    """Return a well mixed function of 64 bits."""
    z = np.uint64(word) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def levels_of(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return every vertex's distance from vertex 0.

    `FAR` for those out of reach.
    """
    n = indptr.shape[0] - 1
    level = np.full(n, FAR, dtype=np.int32)
    queue = np.empty(n, dtype=np.int32)
    level[0] = 0
    queue[0] = 0
    filled = 1
    head = 0
    while head < filled:
        x = queue[head]
        head += 1
        for y in indices[indptr[x] : indptr[x + 1]]:
            if level[y] == FAR:
                level[y] = level[x] + 1
                queue[filled] = y
                filled += 1
    return level


@inner_kernel
def colours(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """Return the colours after 0..`ROUNDS` rounds; isomorphic rooted graphs get equal ones."""
    n = level.shape[0]
    colour = np.empty((ROUNDS + 1, n), dtype=np.uint64)
    for v in range(n):
        colour[0, v] = mixed(level[v])
    for r in range(ROUNDS):
        for v in range(n):
            total = np.uint64(0)
            for w in indices[indptr[v] : indptr[v + 1]]:
                total += mixed(colour[r, w])
            colour[r + 1, v] = mixed(colour[r, v] * np.uint64(3) + total)
    return colour


@inner_kernel
def same_neighbours(indptr: NDArray[np.int64], indices: NDArray[np.int32], u: int, v: int) -> bool:
    """Return whether u and v have equal other neighbours; rows ascend."""
    if indptr[u + 1] - indptr[u] != indptr[v + 1] - indptr[v]:
        return False
    x = indptr[u]
    y = indptr[v]
    while x < indptr[u + 1] or y < indptr[v + 1]:
        if x < indptr[u + 1] and indices[x] == v:
            x += 1
        elif y < indptr[v + 1] and indices[y] == u:
            y += 1
        elif x == indptr[u + 1] or y == indptr[v + 1] or indices[x] != indices[y]:
            return False
        else:
            x += 1
            y += 1
    return True


@inner_kernel
def twins(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return each vertex's next lower twin, or -1; the root has none.

    Sums of hashes only propose twins; their neighbours are compared.
    """
    n = indptr.shape[0] - 1
    twin = np.full(n, -1, dtype=np.int32)
    key = np.empty(n, dtype=np.uint64)
    for closed in range(2):
        for v in range(n):
            key[v] = mixed(v) if closed else np.uint64(0)
            for w in indices[indptr[v] : indptr[v + 1]]:
                key[v] += mixed(w)
        order = np.argsort(key, kind="mergesort")
        for i in range(1, n):
            u = order[i - 1]
            v = order[i]
            # Equal keys keep their order, so u < v.
            if key[u] == key[v] and u > 0 and same_neighbours(indptr, indices, u, v):
                twin[v] = u
    return twin


@inner_kernel
def anchored_order(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Order the vertices.

    The root, then that of most neighbours before it, then of most at all.

    The more matched neighbours a vertex has, the fewer images it can have.
    """
    n = indptr.shape[0] - 1
    order = np.zeros(n, dtype=np.int32)
    rank = np.zeros(n, dtype=np.int64)
    for v in range(n):
        rank[v] = indptr[v + 1] - indptr[v]
    current = 0
    for p in range(n):
        order[p] = current
        rank[current] = -1
        for w in indices[indptr[current] : indptr[current + 1]]:
            if rank[w] >= 0:
                rank[w] += n + 1
        best = np.int64(-1)
        for v in range(n):
            if rank[v] > best:
                best = rank[v]
                current = v
    return order


@kernel
def prepared(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32]
) -> Rooted:
    """Return the rooted graph with everything the search needs.

    Rows of `indices` ascend.
    """
    return Rooted(
        indptr,
        indices,
        level,
        colours(indptr, indices, level),
        twins(indptr, indices),
        anchored_order(indptr, indices),
    )
