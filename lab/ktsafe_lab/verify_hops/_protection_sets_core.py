"""Kernels of the verifier for neighbourhoods of any radius and both readings.

Whole numbers only.

They are private to `protection_sets.py`. Bounds are checked by the caller.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel
from ktsafe_lab.verify_hops._distributions_core import NeighbourhoodCounts, distributions_agree
from ktsafe_lab.verify_hops._edit_distance_core import UNKNOWN, bounded_distance
from ktsafe_lab.verify_hops._neighbourhood_core import Reach, collect, cut_out, neighbourhood
from ktsafe_lab.verify_hops._rooted_graph_core import colours, mixed

BEYOND, WITHIN, UNDECIDED = 0, 1, 2


@kernel
def profile_rows(
    reach: Reach, columns: NDArray[np.int32], begin: int, stop: int, profiles: NeighbourhoodCounts
) -> None:
    """Fill the rows begin..stop - 1 of `profiles`, zero before."""
    n = reach.indptr.shape[0] - 1
    hops = reach.extent[0]
    width = profiles.offsets[-1]
    local = np.full(n, -1, dtype=np.int32)
    members = np.empty(n, dtype=np.int32)
    for v in range(begin, stop):
        filled, inner = collect(reach, v, local, members)
        level_stop = 1
        seen = 0
        for hop in range(hops):
            # Members of level hop + 1 are the unseen neighbours of the level before, in order.
            reached = level_stop
            for i in range(seen, level_stop):
                for y in reach.indices[reach.indptr[members[i]] : reach.indptr[members[i] + 1]]:
                    reached = max(reached, int(local[y]) + 1)
            seen, level_stop = level_stop, reached
            profiles.sizes[v, hop] = level_stop
            for i in range(level_stop if hop == 0 else 0):
                for a in range(columns.shape[1]):
                    profiles.counts[v, columns[members[i], a]] += 1
            if hop:
                base = hop * width
                # Not as arrays, nor below: numba takes long to compile that.
                for x in range(base, base + width):
                    profiles.counts[v, x] = profiles.counts[v, x - width]
                for i in range(seen, level_stop):
                    for a in range(columns.shape[1]):
                        profiles.counts[v, base + columns[members[i], a]] += 1
        # A vertex beyond n - 1 hops has a higher number, so each edge is met from its near end.
        edges = 0
        for i in range(filled if reach.extent[1] else inner):
            for y in reach.indices[reach.indptr[members[i]] : reach.indptr[members[i] + 1]]:
                other = local[y]
                if other > i:
                    edges += 1
        profiles.edges[v] = edges if hops else 0
        for i in range(filled):
            local[members[i]] = -1


@kernel
def group_isomorphic(
    reach: Reach, vertices: NDArray[np.int64], bounds: NDArray[np.int64], nodes: int
) -> NDArray[np.int64]:
    """Return each vertex's earlier isomorphic neighbourhood, or itself.

    Only vertices between the same two `bounds` are compared. Hashes propose, searches decide;
    what they leave open merely becomes a location of its own.
    """
    n = reach.indptr.shape[0] - 1
    local = np.full(n, -1, dtype=np.int32)
    members = np.empty(n, dtype=np.int32)
    same_as = vertices.copy()
    for g in range(bounds.shape[0] - 1):
        size = bounds[g + 1] - bounds[g]
        signature = np.zeros(size, dtype=np.uint64)
        for i in range(size):
            indptr, indices, level = cut_out(reach, vertices[bounds[g] + i], local, members)
            colour = colours(indptr, indices, level)
            for word in colour[-1]:
                signature[i] += mixed(word)
        order = np.argsort(signature, kind="mergesort")
        begin = 0
        while begin < size:
            stop = begin + 1
            while stop < size and signature[order[stop]] == signature[order[begin]]:
                stop += 1
            for a in range(begin + 1, stop):
                i = bounds[g] + order[a]
                own = neighbourhood(reach, vertices[i], local, members)
                for b in range(begin, a):
                    j = bounds[g] + order[b]
                    if same_as[j] != vertices[j]:
                        continue
                    other = neighbourhood(reach, vertices[j], local, members)
                    if bounded_distance(own, other, 0, nodes)[1] == 0:
                        same_as[i] = vertices[j]
                        break
            begin = stop
    return same_as


@kernel
def candidate_pairs(
    profiles: NeighbourhoodCounts,
    order: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    tolerance: tuple[int, int],
    epsilon: int,
    span: tuple[int, int],
) -> NDArray[np.int64]:
    """Return the pairs that class, size and distributions leave, shape (pairs, 2).

    `order` lists vertices by class and then size; each position of `span` is compared with all
    later ones. At least one vertex of a pair is `wanted`.
    """
    pairs = np.empty((1024, 2), dtype=np.int64)
    filled = 0
    hops = profiles.sizes.shape[1]
    for i in range(span[0], span[1]):
        u = order[i]
        for j in range(i + 1, order.shape[0]):
            v = order[j]
            if profiles.classes[u] != profiles.classes[v]:
                break
            more = profiles.sizes[v, hops - 1] - profiles.sizes[u, hops - 1] if hops else 0
            if more > epsilon:
                break
            if not (wanted[u] or wanted[v]):
                continue
            if more + abs(profiles.edges[u] - profiles.edges[v]) > epsilon:
                continue
            if not distributions_agree(profiles, u, v, tolerance):
                continue
            if filled == pairs.shape[0]:
                wider = np.empty((2 * filled, 2), dtype=np.int64)
                for x in range(filled):
                    wider[x, 0], wider[x, 1] = pairs[x, 0], pairs[x, 1]
                pairs = wider
            pairs[filled, 0] = u
            pairs[filled, 1] = v
            filled += 1
    return pairs[:filled].copy()


@kernel
def decide_pairs(
    reach: Reach, pairs: NDArray[np.int64], epsilon: int, nodes: int
) -> NDArray[np.int8]:
    """Return whether each pair is within epsilon, beyond, or undecided."""
    n = reach.indptr.shape[0] - 1
    local = np.full(n, -1, dtype=np.int32)
    members = np.empty(n, dtype=np.int32)
    answers = np.empty(pairs.shape[0], dtype=np.int8)
    if pairs.shape[0] == 0:
        return answers
    last = pairs[0, 0]
    first = neighbourhood(reach, last, local, members)
    for i in range(pairs.shape[0]):
        if pairs[i, 0] != last:
            last = pairs[i, 0]
            first = neighbourhood(reach, last, local, members)
        second = neighbourhood(reach, pairs[i, 1], local, members)
        lower, upper = bounded_distance(first, second, epsilon, nodes)
        if upper != UNKNOWN:
            answers[i] = WITHIN
        else:
            answers[i] = BEYOND if lower > epsilon else UNDECIDED
    return answers
