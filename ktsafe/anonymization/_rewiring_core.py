"""Exchanges of ends between inserted edges that make them look like ties.

What an exchange is worth may be changed, and with it the bytes of releases. An exchange stays
within its two classes, so rows and degrees stay (tests/ktsafe/anonymization/test_rewiring.py).
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel


class RewiringState(NamedTuple):
    """Release with exchangeable ends of inserted edges; degrees never change.

    Attributes
    ----------
    classes:
        int32, shape (n,).
    first, near:
        int64 (n + 1), int32: the neighbours of v are near[first[v]:first[v + 1]], their classes
        ascend.
    ends:
        int32, shape (f, 2): inserted edges, the class of the first end at most the second's.
    own_first, own:
        int64 (n + 1), int32: the inserted edges at v are own[own_first[v]:own_first[v + 1]].
    worth:
        float64, shape (bins + 1,): what an edge is worth by its ends' closeness, which is their
        common neighbours over the root of the degrees' product, in `bins` equal steps.
    level:
        float64, shape (n,): how much above the mean the degree of each vertex is.
    pull:
        float64, shape (1,): how much it is worth that edges join vertices of like level.
    mark:
        int64, shape (n + 1,): scratch; the last entry counts.
    """

    classes: NDArray[np.int32]
    first: NDArray[np.int64]
    near: NDArray[np.int32]
    ends: NDArray[np.int32]
    own_first: NDArray[np.int64]
    own: NDArray[np.int32]
    worth: NDArray[np.float64]
    level: NDArray[np.float64]
    pull: NDArray[np.float64]
    mark: NDArray[np.int64]


@kernel
def by_vertex(
    edges: NDArray[np.int32], n: int, numbered: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each vertex's edges begin; their other ends, or numbers.

    Those of which it is the first end come first, each in the order of the edges.
    """
    first = np.zeros(n + 1, dtype=np.int64)
    for e in range(edges.shape[0]):
        first[edges[e, 0] + 1] += 1
        first[edges[e, 1] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    place = first[:-1].copy()
    found = np.empty(2 * edges.shape[0], dtype=np.int32)
    for side in range(2):
        for e in range(edges.shape[0]):
            v = edges[e, side]
            found[place[v]] = e if numbered else edges[e, 1 - side]
            place[v] += 1
    return first, found


@kernel
def by_class(
    first: NDArray[np.int64], far: NDArray[np.int32], order: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the other ends of `by_vertex` in another order.

    They follow as the vertices do in `order`.
    """
    place = first[:-1].copy()
    after = np.empty_like(far)
    for v in order:
        for i in range(first[v], first[v + 1]):
            w = far[i]
            after[place[w]] = v
            place[w] += 1
    return after


@inner_kernel
def begin_of_class(state: RewiringState, v: int, wanted: int) -> int:
    """Return where v's neighbours of the wanted or a later class begin."""
    low, high = state.first[v], state.first[v + 1]
    while low < high:
        middle = (low + high) // 2
        if state.classes[state.near[middle]] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def edge_to_class(state: RewiringState, x: int, wanted: int, start: int) -> int:
    """Return x's inserted edge to the wanted class, -1 without one.

    It is the first one from a start on, and from the beginning again.
    """
    low = state.own_first[x]
    n_own = state.own_first[x + 1] - low
    for i in range(n_own):
        edge = state.own[low + (start + i) % n_own]
        w = state.ends[edge, 0] if state.ends[edge, 1] == x else state.ends[edge, 1]
        if state.classes[w] == wanted:
            return edge
    return -1


@inner_kernel
def mark_neighbours(
    first: NDArray[np.int64], near: NDArray[np.int32], mark: NDArray[np.int64], u: int
) -> int:
    """Mark the neighbours of u; return the mark."""
    mark[-1] += 1
    for i in range(first[u], first[u + 1]):
        mark[near[i]] = mark[-1]
    return mark[-1]


@inner_kernel
def share_bin(first: NDArray[np.int64], bins: int, u: int, v: int, common: int) -> int:
    """Return the bin of u and v with so many common neighbours."""
    degrees = (first[u + 1] - first[u]) * (first[v + 1] - first[v])
    return min(int(common / np.sqrt(max(degrees, 1)) * bins), bins)


@inner_kernel
def count_marked(
    first: NDArray[np.int64], near: NDArray[np.int32], mark: NDArray[np.int64], v: int, wanted: int
) -> int:
    """Return how many neighbours of v carry a mark."""
    count = 0
    for i in range(first[v], first[v + 1]):
        count += mark[near[i]] == wanted
    return count


@kernel
def bins_of(
    first: NDArray[np.int64],
    near: NDArray[np.int32],
    edges: NDArray[np.int32],
    bins: int,
    mark: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the bin of closeness of each edge, shape (m,).

    `first`, `near` and `mark` are as in `RewiringState`; neighbours may lie in any order.
    """
    found = np.empty(len(edges), np.int64)
    for edge in range(len(edges)):
        u, v = edges[edge, 0], edges[edge, 1]
        wanted = mark_neighbours(first, near, mark, u)
        common = count_marked(first, near, mark, v, wanted)
        found[edge] = share_bin(first, bins, u, v, common)
    return found


@inner_kernel
def replace(state: RewiringState, u: int, old: int, new: int) -> None:
    """Let u have another neighbour in place of an old one."""
    for i in range(state.first[u], state.first[u + 1]):
        if state.near[i] == old:
            state.near[i] = new
            return


@inner_kernel
def hand_over(state: RewiringState, old: int, new: int, edge: int, other: int) -> None:
    """Exchange an end: e ends in `new`, and f in `old`."""
    for i in range(state.own_first[old], state.own_first[old + 1]):
        if state.own[i] == edge:
            state.own[i] = other
            break
    for i in range(state.own_first[new], state.own_first[new + 1]):
        if state.own[i] == other:
            state.own[i] = edge
            break


@kernel
def rewire(state: RewiringState, n_trials: int, rng: np.random.Generator) -> int:
    """Try exchanges of ends; keep those that raise the edges' worth.

    Each begins at an inserted edge (u, v) and a neighbour's neighbour x of u that has an inserted
    edge (w, x) of the same two classes: they become (u, x) and (w, v).
    """
    taken = 0
    first, near, marks = state.first, state.near, state.mark
    bins = len(state.worth) - 1
    for _ in range(n_trials):
        edge = int(rng.random() * len(state.ends))
        side = int(rng.random() * 2)
        u, v = state.ends[edge, side], state.ends[edge, 1 - side]
        y = near[first[u] + int(rng.random() * (first[u + 1] - first[u]))]
        begin = begin_of_class(state, y, state.classes[v])
        n_alike = begin_of_class(state, y, state.classes[v] + 1) - begin
        if n_alike == 0:
            continue
        x = near[begin + int(rng.random() * n_alike)]
        n_own = state.own_first[x + 1] - state.own_first[x]
        if x in (u, v) or n_own == 0:
            continue
        other = edge_to_class(state, x, state.classes[u], int(rng.random() * n_own))
        if other < 0 or other == edge:
            continue
        at = 0 if state.ends[other, 1] == x else 1
        w = state.ends[other, at]
        if w in (u, v):
            continue
        mark = mark_neighbours(first, near, marks, u)
        if marks[x] == mark:
            continue
        # What went through the edges that leave is no longer common.
        lost = int(marks[w] == mark)
        uv = count_marked(first, near, marks, v, mark)
        ux = count_marked(first, near, marks, x, mark)
        mark = mark_neighbours(first, near, marks, w)
        if marks[v] == mark:
            continue
        wx = count_marked(first, near, marks, x, mark)
        wv = count_marked(first, near, marks, v, mark)
        for i in range(first[v], first[v + 1]):
            lost += near[i] == x
        gained = (
            state.worth[share_bin(first, bins, u, x, ux - lost)]
            + state.worth[share_bin(first, bins, w, v, wv - lost)]
            - state.worth[share_bin(first, bins, u, v, uv)]
            - state.worth[share_bin(first, bins, w, x, wx)]
        )
        # The change of the sum of products of levels over both edges.
        likened = (state.level[u] - state.level[w]) * (state.level[x] - state.level[v])
        if gained + state.pull[0] * likened <= 0:
            continue
        taken += 1
        replace(state, u, v, x)
        replace(state, v, u, w)
        replace(state, w, x, v)
        replace(state, x, w, u)
        hand_over(state, v, x, edge, other)
        # Edge e keeps u, edge f keeps w.
        state.ends[edge, 1 - side], state.ends[other, 1 - at] = x, v
    return taken
