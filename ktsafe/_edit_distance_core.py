"""Kernels of the bounded graph edit distance of rooted graphs: exact whole numbers, no floats.

Every edit inserts or deletes one vertex or one edge and costs 1; the roots are each other's image.
A pair of vertices that would be deleted here and inserted there costs no more when it is matched
instead. So some best edit path matches every vertex of the smaller graph, and

    distance = |V2| - |V1| + |E1| + |E2| - 2 * (edges that the matching preserves),

whose parity is that of |V2| - |V1| + |E1| + |E2|. Bounds are checked by the caller.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe._rooted_graph_core import ROUNDS, Rooted, mixed

UNKNOWN = -1
"""An upper bound that was not found."""

STRONG_DEPTH_MAX = 64
"""Matched vertices up to which the dearer bound is worth its time: it prunes whole branches."""


class Matching(NamedTuple):
    """A partial matching of a smaller graph 1 into a graph 2, and what its bound is made of.

    `placed_1[u]` counts the matched neighbours of u; `surplus[u]`, for a matched u, is how many
    more unmatched neighbours it has than its image. `sums` = (edges between matched vertices that
    are not preserved, sum of |surplus|, edges between unmatched vertices of graph 1, of graph 2).
    `met_1[u]` is a hash of the matched neighbours of u, `met_2[w]` of those of w by what they are
    the images of: equal sets have equal hashes.
    """

    image: NDArray[np.int32]
    origin: NDArray[np.int32]
    placed_1: NDArray[np.int32]
    placed_2: NDArray[np.int32]
    surplus: NDArray[np.int32]
    mark: NDArray[np.int64]
    shared: NDArray[np.int32]
    touched: NDArray[np.int32]
    sums: NDArray[np.int64]
    stamp: NDArray[np.int64]
    met_1: NDArray[np.uint64]
    met_2: NDArray[np.uint64]


@njit(cache=True, fastmath=False, nogil=True)
def size_bound(first: Rooted, second: Rooted) -> int:
    """Return the difference in vertices plus that in edges: a lower bound of the distance."""
    vertices = abs(first.level.shape[0] - second.level.shape[0])
    return vertices + abs(first.indices.shape[0] // 2 - second.indices.shape[0] // 2)


@njit(cache=True, fastmath=False, nogil=True)
def degree_bound(first: Rooted, second: Rooted) -> int:
    """Return a lower bound of the distance from sorted degrees, the root's edges told apart.

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


@njit(cache=True, fastmath=False, nogil=True)
def same_colours(first: Rooted, second: Rooted) -> bool:
    """Return whether the finest colours agree as multisets, as they do at distance 0."""
    if first.level.shape[0] != second.level.shape[0]:
        return False
    one = np.sort(first.colour[ROUNDS])
    two = np.sort(second.colour[ROUNDS])
    return np.array_equal(one, two)


@njit(cache=True, fastmath=False, nogil=True)
def new_matching(first: Rooted, second: Rooted) -> Matching:
    """Return the empty matching."""
    n_1 = first.level.shape[0]
    n_2 = second.level.shape[0]
    return Matching(
        np.full(n_1, -1, dtype=np.int32),
        np.full(n_2, -1, dtype=np.int32),
        np.zeros(n_1, dtype=np.int32),
        np.zeros(n_2, dtype=np.int32),
        np.zeros(n_1, dtype=np.int32),
        np.zeros(max(n_1, n_2), dtype=np.int64),
        np.zeros(n_2, dtype=np.int32),
        np.zeros(n_2, dtype=np.int32),
        np.array([0, 0, first.indices.shape[0] // 2, second.indices.shape[0] // 2], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(n_1, dtype=np.uint64),
        np.zeros(n_2, dtype=np.uint64),
    )


@njit(cache=True, fastmath=False, nogil=True)
def change_surplus(state: Matching, u: int, step: int) -> None:
    """Add `step` to the surplus of a matched vertex."""
    state.sums[1] -= abs(state.surplus[u])
    state.surplus[u] += step
    state.sums[1] += abs(state.surplus[u])


@njit(cache=True, fastmath=False, nogil=True)
def match(first: Rooted, second: Rooted, state: Matching, u: int, w: int) -> None:
    """Match u with w."""
    state.stamp[0] += 1
    stamp = state.stamp[0]
    common = 0
    word = mixed(u)
    for x in first.indices[first.indptr[u] : first.indptr[u + 1]]:
        if state.image[x] >= 0:
            state.mark[x] = stamp
            change_surplus(state, x, -1)
        state.placed_1[x] += 1
        state.met_1[x] += word
    for y in second.indices[second.indptr[w] : second.indptr[w + 1]]:
        x = state.origin[y]
        if x >= 0:
            common += state.mark[x] == stamp
            change_surplus(state, x, 1)
        state.placed_2[y] += 1
        state.met_2[y] += word
    rest_1 = first.indptr[u + 1] - first.indptr[u] - state.placed_1[u]
    rest_2 = second.indptr[w + 1] - second.indptr[w] - state.placed_2[w]
    state.image[u] = w
    state.origin[w] = u
    state.surplus[u] = rest_1 - rest_2
    state.sums[0] += state.placed_1[u] + state.placed_2[w] - 2 * common
    state.sums[1] += abs(rest_1 - rest_2)
    state.sums[2] -= rest_1
    state.sums[3] -= rest_2


@njit(cache=True, fastmath=False, nogil=True)
def unmatch(first: Rooted, second: Rooted, state: Matching, u: int) -> None:
    """Undo the latest match, that of u."""
    w = state.image[u]
    state.image[u] = -1
    state.origin[w] = -1
    rest_1 = first.indptr[u + 1] - first.indptr[u] - state.placed_1[u]
    rest_2 = second.indptr[w + 1] - second.indptr[w] - state.placed_2[w]
    state.sums[1] -= abs(rest_1 - rest_2)
    state.sums[2] += rest_1
    state.sums[3] += rest_2
    state.stamp[0] += 1
    stamp = state.stamp[0]
    common = 0
    word = mixed(u)
    for x in first.indices[first.indptr[u] : first.indptr[u + 1]]:
        if state.image[x] >= 0:
            state.mark[x] = stamp
            change_surplus(state, x, 1)
        state.placed_1[x] -= 1
        state.met_1[x] -= word
    for y in second.indices[second.indptr[w] : second.indptr[w + 1]]:
        x = state.origin[y]
        if x >= 0:
            common += state.mark[x] == stamp
            change_surplus(state, x, -1)
        state.placed_2[y] -= 1
        state.met_2[y] -= word
    state.sums[0] -= state.placed_1[u] + state.placed_2[w] - 2 * common


@njit(cache=True, fastmath=False, nogil=True)
def matching_bound(first: Rooted, second: Rooted, state: Matching) -> int:
    """Return a lower bound of the distance by any completion of the matching; exact at its end.

    The edges at a matched vertex that lead to unmatched ones differ in number by its surplus;
    each is counted at its one matched end, the edges between unmatched vertices as a whole.
    """
    vertices = second.level.shape[0] - first.level.shape[0]
    sums = state.sums
    return vertices + sums[0] + sums[1] + abs(sums[2] - sums[3])


@njit(cache=True, fastmath=False, nogil=True)
def unmatched(
    graph: Rooted, partner: NDArray[np.int32], placed: NDArray[np.int32], met: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    """Describe the vertices without a partner, in three sorted arrays.

    Returns
    -------
    tuple
        Hashes of their matched neighbours; of these and the number of unmatched ones; that number.
        A vertex without any such neighbour has the hash 0.
    """
    chosen = np.flatnonzero(partner < 0)
    near = np.empty(chosen.shape[0], dtype=np.uint64)
    both = np.empty(chosen.shape[0], dtype=np.uint64)
    rest = np.empty(chosen.shape[0], dtype=np.int64)
    for i in range(chosen.shape[0]):
        v = chosen[i]
        near[i] = met[v]
        both[i] = met[v]
        rest[i] = graph.indptr[v + 1] - graph.indptr[v] - placed[v]
        if rest[i] > 0:
            both[i] += mixed(-rest[i])
    near.sort()
    both.sort()
    rest.sort()
    return near, both, rest


@njit(cache=True, fastmath=False, nogil=True)
def without_equal(one: NDArray[np.uint64], two: NDArray[np.uint64]) -> int:
    """Return how many of one side must be matched to something unequal, or inserted; the worse.

    Both are sorted. On the second, greater side a 0 has no edges and is inserted for nothing.
    """
    left_1 = 0
    left_2 = 0
    i = 0
    j = 0
    while i < one.shape[0] or j < two.shape[0]:
        if j == two.shape[0] or (i < one.shape[0] and one[i] < two[j]):
            left_1 += 1
            i += 1
        elif i == one.shape[0] or two[j] < one[i]:
            left_2 += two[j] != 0
            j += 1
        else:
            i += 1
            j += 1
    return max(left_1, left_2)


@njit(cache=True, fastmath=False, nogil=True)
def unmatched_bound(first: Rooted, second: Rooted, state: Matching) -> int:
    """Return a greater lower bound than `matching_bound`, from what is still unmatched.

    Edits of edges fall into three kinds. Between matched vertices they are known. Between a matched
    and an unmatched one there is at least one for each unmatched vertex that finds none with the
    same matched neighbours. Between unmatched ones there are half the differences in degree, at
    least, and sorting minimizes their sum. And whoever finds no partner equal in both respects has
    part in an edit, which has two ends. Equal hashes of unequal sets only lower the bound.
    """
    near_1, both_1, rest_1 = unmatched(first, state.image, state.placed_1, state.met_1)
    near_2, both_2, rest_2 = unmatched(second, state.origin, state.placed_2, state.met_2)
    sums = state.sums
    between = max(sums[1], without_equal(near_1, near_2))
    vertices = second.level.shape[0] - first.level.shape[0]
    degrees = np.int64(0)
    for i in range(rest_2.shape[0]):
        # Inserted vertices count as matched to ones of degree 0.
        own = rest_1[i - vertices] if i >= vertices else np.int64(0)
        degrees += abs(rest_2[i] - own)
    among = max(abs(sums[2] - sums[3]), (degrees + 1) // 2)
    unequal = (without_equal(both_1, both_2) + 1) // 2
    return vertices + sums[0] + max(between + among, unequal)


@njit(cache=True, fastmath=False, nogil=True)
def agreement(first: Rooted, second: Rooted, u: int, w: int) -> int:
    """Return after how many rounds the colours of u and w still agree, from 0 to ROUNDS + 1."""
    r = 0
    while r <= ROUNDS and first.colour[r, u] == second.colour[r, w]:
        r += 1
    return r


@njit(cache=True, fastmath=False, nogil=True)
def next_candidate(
    first: Rooted, second: Rooted, state: Matching, u: int, room: int, last: int
) -> int:
    """Return the key of the best candidate for u whose key exceeds `last`; -1 if there is none.

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


@njit(cache=True, fastmath=False, nogil=True)
def search(
    first: Rooted, second: Rooted, limit: int, nodes: int, strong: bool
) -> tuple[int, int, int]:
    """Look depth first for a matching of distance at most `limit`, |V1| <= |V2|.

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


@njit(cache=True, fastmath=False, nogil=True)
def bounded_distance(first: Rooted, second: Rooted, limit: int, nodes: int) -> tuple[int, int]:
    """Return a lower and an upper bound of the distance, as far as `limit` asks.

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
