"""Kernels of partitioning: clustering around centres, and the estimate of Eq. 3."""

# mypy: disable-error-code="no-any-return,return-value"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel


@kernel
def cluster(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    inside: NDArray[np.bool_],
    centres: NDArray[np.int64],
    capacity: int,
) -> NDArray[np.int32]:
    """Return the centre, by number, that each vertex is nearest to.

    -1 outside and unreached.

    Breadth first from all centres at once, so a tie goes to the centre of the lower number. A
    cluster of `capacity` vertices takes no more, but its vertices are passed through.
    """
    n, count = len(inside), len(centres)
    part = np.full(n, -1, dtype=np.int32)
    seen = np.full(n, -1, dtype=np.int32)
    sizes = np.zeros(count, dtype=np.int64)
    queue = np.empty(n, dtype=np.int32)
    head, tail = 0, 0
    for c in range(count):
        v = centres[c]
        part[v], seen[v] = c, c
        sizes[c] += 1
        queue[tail] = v
        tail += 1
    while head < tail:
        v = queue[head]
        head += 1
        c = seen[v]
        if sizes[c] >= capacity:
            continue
        for x in range(indptr[v], indptr[v + 1]):
            u = indices[x]
            if inside[u] and part[u] < 0 and sizes[c] < capacity:
                part[u], seen[u] = c, c
                sizes[c] += 1
                queue[tail] = u
                tail += 1
    return part


@kernel
def estimate(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    part: NDArray[np.int32],
    parts: int,
    cost_of_degree: NDArray[np.float64],
    merging_cost_of_degree: NDArray[np.float64],
) -> float:
    """Return Eq. 3 for n = 1.

    Every vertex and halo vertex at the cost of its nearest sample.
    """
    total = 0.0
    seen = np.zeros(parts, dtype=np.int64)
    touched = np.empty(parts, dtype=np.int64)
    last = len(cost_of_degree) - 1
    for v in range(len(part)):
        degree = indptr[v + 1] - indptr[v]
        total += cost_of_degree[min(degree, last)]
        count = 0
        for x in range(indptr[v], indptr[v + 1]):
            p = part[indices[x]]
            if p != part[v]:
                if seen[p] == 0:
                    touched[count] = p
                    count += 1
                seen[p] += 1
        for x in range(count):
            # In part p, v is a halo vertex that sees only p's own vertices.
            p = touched[x]
            total += cost_of_degree[min(seen[p], last)]
            total += merging_cost_of_degree[min(degree, last)]
            seen[p] = 0
    return total
