"""Kernels of the bounded graph edit distance of rooted graphs.

Exact whole numbers, no floats.

Every edit inserts or deletes one vertex or one edge and costs 1; the roots are each other's image.
A pair of vertices that would be deleted here and inserted there costs no more when it is matched
instead. So some best edit path matches every vertex of the smaller graph, and

    distance = |V2| - |V1| + |E1| + |E2| - 2 * (edges that the matching preserves),

whose parity is that of |V2| - |V1| + |E1| + |E2|. Bounds are checked by the caller.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np

from ktsafe.kernels.compiler import inner_kernel, kernel
from ktsafe_lab.verify_hops._partial_matching_core import (
    Matching,
    match,
    matching_bound,
    new_matching,
    unmatch,
    unmatched_bound,
)
from ktsafe_lab.verify_hops._rooted_graph_core import ROUNDS, Rooted

UNKNOWN = -1
"""An upper bound that was not found."""

STRONG_DEPTH_MAX = 64
"""Matched vertices up to which the dearer bound is worth its time: it prunes whole branches."""


@inner_kernel
def size_bound(first: Rooted, second: Rooted) -> int:
    """Return the difference in vertices plus that in edges.

    A lower bound of the distance.
    """
    vertices = abs(first.level.shape[0] - second.level.shape[0])
    return vertices + abs(first.indices.shape[0] // 2 - second.indices.shape[0] // 2)


@inner_kernel
def degree_bound(first: Rooted, second: Rooted) -> int:
    """Return a lower bound by sorted degrees, root edges apart.

    Roots are matched, so their degrees differ by as many edits. Every other edit of an edge
    changes two of the other degrees (edges to the root left out) by 1, and sorting minimizes the
    sum of differences over all matchings; a deleted vertex counts as one of degree 0.
    """
    n = max(first.level.shape[0], second.level.shape[0])
    degrees = np.zeros((2, n), dtype=np.int64)
    for side in range(2):
        graph = first if side == 0 else second
        for v in range(1, graph.level.shape[0]):
            degrees[side, v] = graph.indptr[v + 1] - graph.indptr[v]
        for v in graph.indices[: graph.indptr[1]]:
            degrees[side, v] -= 1
        degrees[side].sort()
    total = np.int64(0)
    for v in range(n):
        total += abs(degrees[0, v] - degrees[1, v])
    vertices = abs(first.level.shape[0] - second.level.shape[0])
    return vertices + abs(first.indptr[1] - second.indptr[1]) + (total + 1) // 2


@inner_kernel
def same_colours(first: Rooted, second: Rooted) -> bool:
    """Return whether the finest colours agree as multisets.

    They do at distance 0.
    """
    if first.level.shape[0] != second.level.shape[0]:
        return False
    one = np.sort(first.colour[ROUNDS])
    two = np.sort(second.colour[ROUNDS])
    return np.array_equal(one, two)


@inner_kernel
def agreement(first: Rooted, second: Rooted, u: int, w: int) -> int:
    """Return the rounds for which colours of u and w agree.

    From 0 to ROUNDS + 1.
    """
    r = 0
    while r <= ROUNDS and first.colour[r, u] == second.colour[r, w]:
        r += 1
    return r


@inner_kernel
def next_candidate(
    first: Rooted, second: Rooted, state: Matching, u: int, room: int, last: int
) -> int:
    """Return the best candidate's key above `last` for u, -1 if none.

    `room` is the limit less the vertices to be inserted. The key orders by the edits that show at
    once, then by colours that differ, then by number: key % |V2| is the candidate. Of twins only
    the lowest is tried, for they are interchangeable.
    """
    n_2 = second.level.shape[0]
    state.stamp[0] += 1
    stamp = state.stamp[0]
    touched = 0
    for x in first.indices[first.indptr[u] : first.indptr[u + 1]]:
        z = state.image[x]
        if z < 0:
            continue
        for y in second.indices[second.indptr[z] : second.indptr[z + 1]]:
            if state.origin[y] >= 0:
                continue
            if state.mark[y] != stamp:
                state.mark[y] = stamp
                state.shared[y] = 0
                state.touched[touched] = y
                touched += 1
            state.shared[y] += 1
    placed = np.int64(state.placed_1[u])
    rest = first.indptr[u + 1] - first.indptr[u] - placed
    # Without a shared neighbour all matched neighbours of u are edits.
    only_touched = state.sums[0] + placed > room
    best = np.int64(-1)
    for i in range(touched if only_touched else n_2):
        w = np.int64(state.touched[i]) if only_touched else np.int64(i)
        if state.origin[w] >= 0 or (second.twin[w] >= 0 and state.origin[second.twin[w]] < 0):
            continue
        shared = np.int64(state.shared[w]) if state.mark[w] == stamp else np.int64(0)
        edits = placed + state.placed_2[w] - 2 * shared
        apart = abs(rest - (second.indptr[w + 1] - second.indptr[w] - state.placed_2[w]))
        if state.sums[0] + edits > room or state.sums[0] + state.sums[1] + apart > room:
            continue
        key = (edits + apart) * (ROUNDS + 2) + ROUNDS + 1 - agreement(first, second, u, w)
        key = key * n_2 + w
        if key > last and (best < 0 or key < best):
            best = key
    return best


@kernel
def search(
    first: Rooted, second: Rooted, limit: int, nodes: int, strong: bool
) -> tuple[int, int, int]:
    """Look depth first for a matching of distance at most `limit`.

    |V1| <= |V2|.

    `strong` says whether the dearer bound is asked, too.

    Returns
    -------
    tuple
        Whether the search was exhausted or successful (else `nodes` ran out), the distance found
        or `UNKNOWN`, and the nodes that are left.
    """
    n_1 = first.level.shape[0]
    n_2 = second.level.shape[0]
    room = limit - (n_2 - n_1)
    state = new_matching(first, second)
    last = np.full(n_1 + 1, -1, dtype=np.int64)
    match(first, second, state, 0, 0)
    if matching_bound(first, second, state) > limit:
        return 1, UNKNOWN, nodes
    depth = 1
    while depth >= 1:
        if depth == n_1:
            return 1, matching_bound(first, second, state), nodes
        u = first.order[depth]
        key = next_candidate(first, second, state, u, room, last[depth])
        if key < 0:
            last[depth] = -1
            depth -= 1
            if depth >= 1:
                unmatch(first, second, state, first.order[depth])
            continue
        if nodes <= 0:
            return 0, UNKNOWN, 0
        nodes -= 1
        last[depth] = key
        match(first, second, state, u, key % n_2)
        bound = matching_bound(first, second, state)
        if bound <= limit and strong and depth <= STRONG_DEPTH_MAX:
            bound = unmatched_bound(first, second, state)
        if bound <= limit:
            depth += 1
        else:
            unmatch(first, second, state, u)
    return 1, UNKNOWN, nodes


@kernel
def bounded_distance(first: Rooted, second: Rooted, limit: int, nodes: int) -> tuple[int, int]:
    """Return bounds of the distance, as far as `limit` asks.

    The distance is within the limit iff the upper bound is; beyond it iff the lower bound is;
    otherwise undecided. The upper bound may be `UNKNOWN`.
    """
    if first.level.shape[0] > second.level.shape[0]:
        first, second = second, first
    lower = size_bound(first, second)
    if lower > limit:
        return lower, UNKNOWN
    parity = lower & 1
    lower = max(lower, degree_bound(first, second))
    if lower == 0 and not same_colours(first, second):
        lower = 1
    lower += (lower & 1) != parity
    if lower > limit:
        return lower, UNKNOWN
    # 1. A cheap dive: most similar pairs are found similar without ever going back far.
    top = limit - ((limit & 1) != parity)
    dive = min(nodes, 2 * first.level.shape[0] + 64)
    done, upper, left = search(first, second, top, dive, False)
    nodes -= dive - left
    if done:
        return (lower, upper) if upper != UNKNOWN else (top + 2, UNKNOWN)
    # 2. Deepening: a small distance is found under a small limit, where little else fits.
    for bound in range(lower, top + 1, 2):
        share = nodes if bound == top else nodes // 2
        done, upper, left = search(first, second, bound, share, True)
        nodes -= share - left
        if upper != UNKNOWN:
            return lower, upper
        if done:
            # An exhausted limit rules out the smaller ones, too, even those that were given up.
            lower = bound + 2
    return lower, UNKNOWN
