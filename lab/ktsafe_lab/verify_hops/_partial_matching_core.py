"""Kernels of partial matchings of rooted graphs, and their bounds.

It grows and shrinks by one pair at a time, and keeps what its lower bounds are made of: the edges
between matched vertices that are not preserved, and what the vertices next to it still have.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel
from ktsafe_lab.verify_hops._rooted_graph_core import Rooted, mixed


class Matching(NamedTuple):
    """A partial matching of graph 1 into graph 2, with bounds.

    Graph 1 is the smaller one.

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


@kernel
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


@inner_kernel
def change_surplus(state: Matching, u: int, step: int) -> None:
    """Add `step` to the surplus of a matched vertex."""
    state.sums[1] -= abs(state.surplus[u])
    state.surplus[u] += step
    state.sums[1] += abs(state.surplus[u])


@inner_kernel
def _meet(first: Rooted, second: Rooted, state: Matching, u: int, w: int, step: int) -> int:
    """Tell unmatched neighbours of u and w that they are or were.

    1 if they are matched now, -1 if they were.

    Returns how many edges the pair preserves.
    """
    state.stamp[0] += 1
    stamp = state.stamp[0]
    common = 0
    word = mixed(u) if step > 0 else np.uint64(0) - mixed(u)
    for x in first.indices[first.indptr[u] : first.indptr[u + 1]]:
        if state.image[x] >= 0:
            state.mark[x] = stamp
            change_surplus(state, x, -step)
        state.placed_1[x] += step
        state.met_1[x] += word
    for y in second.indices[second.indptr[w] : second.indptr[w + 1]]:
        x = state.origin[y]
        if x >= 0:
            common += state.mark[x] == stamp
            change_surplus(state, x, step)
        state.placed_2[y] += step
        state.met_2[y] += word
    return common


@inner_kernel
def _open_ends(first: Rooted, second: Rooted, state: Matching, u: int, w: int) -> tuple[int, int]:
    """Return how many unmatched neighbours u and w have."""
    rest_1 = first.indptr[u + 1] - first.indptr[u] - state.placed_1[u]
    rest_2 = second.indptr[w + 1] - second.indptr[w] - state.placed_2[w]
    return rest_1, rest_2


@kernel
def match(first: Rooted, second: Rooted, state: Matching, u: int, w: int) -> None:
    """Match u with w."""
    common = _meet(first, second, state, u, w, 1)
    rest_1, rest_2 = _open_ends(first, second, state, u, w)
    state.image[u] = w
    state.origin[w] = u
    state.surplus[u] = rest_1 - rest_2
    state.sums[0] += state.placed_1[u] + state.placed_2[w] - 2 * common
    state.sums[1] += abs(rest_1 - rest_2)
    state.sums[2] -= rest_1
    state.sums[3] -= rest_2


@kernel
def unmatch(first: Rooted, second: Rooted, state: Matching, u: int) -> None:
    """Undo the latest match, that of u."""
    w = state.image[u]
    state.image[u] = -1
    state.origin[w] = -1
    rest_1, rest_2 = _open_ends(first, second, state, u, w)
    state.sums[1] -= abs(rest_1 - rest_2)
    state.sums[2] += rest_1
    state.sums[3] += rest_2
    common = _meet(first, second, state, u, w, -1)
    state.sums[0] -= state.placed_1[u] + state.placed_2[w] - 2 * common


@kernel
def matching_bound(first: Rooted, second: Rooted, state: Matching) -> int:
    """Return a lower bound by any completion; exact at the end.

    The edges at a matched vertex that lead to unmatched ones differ in number by its surplus;
    each is counted at its one matched end, the edges between unmatched vertices as a whole.
    """
    vertices = second.level.shape[0] - first.level.shape[0]
    sums = state.sums
    return vertices + sums[0] + sums[1] + abs(sums[2] - sums[3])


@inner_kernel
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


@inner_kernel
def without_equal(one: NDArray[np.uint64], two: NDArray[np.uint64]) -> int:
    """Return one side's unequal matches or insertions; the worse count.

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


@kernel
def unmatched_bound(first: Rooted, second: Rooted, state: Matching) -> int:
    """Return a greater lower bound than `matching_bound`, from the unmatched rest.

    Edits of edges fall into three kinds. Between matched vertices they are known. Between a matched
    and an unmatched one there is at least one for each unmatched vertex that finds none with the
    same matched neighbours. Between unmatched ones there are half the differences in degree, at
    least, and sorting minimizes their sum. A vertex without a partner equal in both respects has
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
