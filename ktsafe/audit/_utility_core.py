"""Kernels of the utility figures: triangles, distances between pairs, moves between communities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels import inner_kernel, kernel


@kernel
def triangles(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return in how many triangles each vertex is, int64, shape (n,).

    Each triangle is found once, from its first vertex in the order of degrees: no vertex has more
    than sqrt(2m) neighbours after itself in that order, so hubs cost no more than others.
    """
    n = indptr.shape[0] - 1
    found = np.zeros(n, dtype=np.int64)
    is_neighbour = np.zeros(n, dtype=np.bool_)
    later, start = _later_neighbours(indptr, indices)
    for v in range(n):
        for i in range(start[v], start[v + 1]):
            is_neighbour[later[i]] = True
        for i in range(start[v], start[v + 1]):
            u = later[i]
            for j in range(start[u], start[u + 1]):
                w = later[j]
                if is_neighbour[w]:
                    found[v] += 1
                    found[u] += 1
                    found[w] += 1
        for i in range(start[v], start[v + 1]):
            is_neighbour[later[i]] = False
    return found


@inner_kernel
def _later_neighbours(
    indptr: NDArray[np.int64], indices: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return each vertex's neighbours of greater (degree, number), and where they start."""
    n = indptr.shape[0] - 1
    later = np.empty(indices.shape[0] // 2, dtype=np.int32)
    start = np.zeros(n + 1, dtype=np.int64)
    filled = 0
    for v in range(n):
        degree = indptr[v + 1] - indptr[v]
        for i in range(indptr[v], indptr[v + 1]):
            u = indices[i]
            other = indptr[u + 1] - indptr[u]
            if other > degree or (other == degree and u > v):
                later[filled] = u
                filled += 1
        start[v + 1] = filled
    return later, start


@kernel
def distances(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the hops from each source to its targets, -1 where there is no path.

    `targets` is (sources, targets each). A search ends with its last target found.
    """
    n = indptr.shape[0] - 1
    found = np.full(targets.shape, -1, dtype=np.int64)
    depth = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int32)
    wanted = np.zeros(n, dtype=np.int64)
    for s in range(sources.shape[0]):
        open_targets = 0
        for target in targets[s]:
            open_targets += wanted[target] == 0
            wanted[target] = 1
        queue[0] = sources[s]
        depth[sources[s]] = 0
        open_targets -= wanted[sources[s]]
        head, tail = 0, 1
        while head < tail and open_targets > 0:
            v = queue[head]
            head += 1
            for i in range(indptr[v], indptr[v + 1]):
                u = indices[i]
                if depth[u] < 0:
                    depth[u] = depth[v] + 1
                    open_targets -= wanted[u]
                    queue[tail] = u
                    tail += 1
        for j in range(targets.shape[1]):
            found[s, j] = depth[targets[s, j]]
        for target in targets[s]:
            wanted[target] = 0
        for i in range(tail):
            depth[queue[i]] = -1
    return found


@kernel
def move_vertices(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    passes_max: int,
) -> NDArray[np.int64]:
    """Return the communities that Louvain's local moves reach, named by vertices, shape (n,).

    Every vertex starts alone and moves, in `order`, to the neighbouring community that gains most
    modularity, until a pass moves less than one vertex in a hundred. A loop's weight counts
    twice, as in a symmetric matrix of a merged graph.

    Source: Blondel et al., "Fast unfolding of communities in large networks", phase 1.
    """
    n = indptr.shape[0] - 1
    strength = np.zeros(n, dtype=np.float64)
    for v in range(n):
        for i in range(indptr[v], indptr[v + 1]):
            strength[v] += weights[i]
    whole = max(strength.sum(), 1.0)
    community = np.arange(n)
    total = strength.copy()
    towards = np.zeros(n, dtype=np.float64)
    for _ in range(passes_max):
        moves = 0
        for v in order:
            own = community[v]
            total[own] -= strength[v]
            for i in range(indptr[v], indptr[v + 1]):
                if indices[i] != v:
                    towards[community[indices[i]]] += weights[i]
            best = own
            gain_best = towards[own] - strength[v] * total[own] / whole
            for i in range(indptr[v], indptr[v + 1]):
                other = community[indices[i]]
                gain = towards[other] - strength[v] * total[other] / whole
                # Rounding must not make two equal communities swap a vertex for ever.
                if gain > gain_best + 1e-9:
                    best, gain_best = other, gain
            for i in range(indptr[v], indptr[v + 1]):
                towards[community[indices[i]]] = 0.0
            total[best] += strength[v]
            moves += best != own
            community[v] = best
        if 100 * moves <= n:
            break
    return community
