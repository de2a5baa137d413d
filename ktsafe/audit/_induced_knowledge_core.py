"""Kernels of `induced_knowledge`: whether one labelled neighbourhood is contained in another.

Bounds are checked by the caller.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels import inner_kernel, kernel

NO, YES, UNDECIDED = 0, 1, 2


class Labelled(NamedTuple):
    """A graph with a label, its quasi-identifier tuple, at every vertex; rows ascend."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    label: NDArray[np.int64]


class Ego(NamedTuple):
    """The neighbours of a vertex by label and then by ties among them, most first.

    `ties[i]` counts the other neighbours that neighbour i is tied to, `rows[i]` says to which.
    """

    vertices: NDArray[np.int32]
    label: NDArray[np.int64]
    ties: NDArray[np.int64]
    rows: NDArray[np.bool_]


@inner_kernel
def ego(graph: Labelled, v: int) -> Ego:
    """Return the neighbours of v and the ties among them."""
    near = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
    n = near.shape[0]
    rows = np.zeros((n, n), dtype=np.bool_)
    ties = np.zeros(n, dtype=np.int64)
    for i in range(n):
        x = graph.indptr[near[i]]
        stop = graph.indptr[near[i] + 1]
        # Both rows ascend, so one walk along them finds what they share.
        for j in range(n):
            while x < stop and graph.indices[x] < near[j]:
                x += 1
            if x < stop and graph.indices[x] == near[j]:
                rows[i, j] = True
                ties[i] += 1
    order = np.argsort(graph.label[near] * (n + 1) + n - ties, kind="mergesort")
    sorted_rows = np.empty((n, n), dtype=np.bool_)
    for i in range(n):
        for j in range(n):
            sorted_rows[i, j] = rows[order[i], order[j]]
    return Ego(near[order], graph.label[near][order], ties[order], sorted_rows)


@inner_kernel
def may_contain(small: Ego, large: Ego) -> bool:
    """Return whether, label by label, the i-th most tied one has a counterpart as tied."""
    j = 0
    for i in range(small.label.shape[0]):
        while j < large.label.shape[0] and large.label[j] < small.label[i]:
            j += 1
        if (
            j == large.label.shape[0]
            or large.label[j] != small.label[i]
            or large.ties[j] < small.ties[i]
        ):
            return False
        j += 1
    return True


@inner_kernel
def search_order(small: Ego) -> NDArray[np.int64]:
    """Return the tied neighbours, each next one with most ties to those before it."""
    n = small.ties.shape[0]
    rank = small.ties.copy()
    order = np.empty(np.count_nonzero(small.ties), dtype=np.int64)
    for p in range(order.shape[0]):
        best = np.argmax(rank)
        order[p] = best
        rank[best] = -1
        for i in range(n):
            if small.rows[best, i] and rank[i] >= 0:
                rank[i] += n + 1
    return order


@kernel
def contains(small: Ego, large: Ego, steps: int) -> int:
    """Return whether `large` holds a copy of `small`: labels equal, every tie present.

    Neighbours without ties need no place of their own in the search: counts by label suffice,
    which `may_contain` has compared.
    """
    if not may_contain(small, large):
        return NO
    order = search_order(small)
    n = large.label.shape[0]
    place = np.full(small.label.shape[0], -1, dtype=np.int64)
    used = np.zeros(n, dtype=np.bool_)
    depth = 0
    while 0 <= depth < order.shape[0]:
        i = order[depth]
        start = place[i] + 1
        if place[i] >= 0:
            used[place[i]] = False
            place[i] = -1
        found = -1
        for j in range(start, n):
            steps -= 1
            if used[j] or large.label[j] != small.label[i] or large.ties[j] < small.ties[i]:
                continue
            fits = True
            for p in range(depth):
                steps -= 1
                if small.rows[i, order[p]] and not large.rows[j, place[order[p]]]:
                    fits = False
                    break
            if fits:
                found = j
                break
        if found < 0:
            depth -= 1
            continue
        if steps <= 0:
            return UNDECIDED
        place[i] = found
        used[found] = True
        depth += 1
    return YES if depth >= 0 else NO


@kernel
def count_candidates(
    true: Labelled,
    released: Labelled,
    asked: NDArray[np.int64],
    behind: NDArray[np.int64],
    order: NDArray[np.int64],
    spans: NDArray[np.int64],
    steps: int,
    is_supergraph: bool,
) -> NDArray[np.int64]:
    """Return for each asked vertex how many candidates contain what is known, and may contain it.

    The candidates of `asked[i]` are `order[spans[i, 0]:spans[i, 1]]`; `behind` names the true
    vertex behind each released one. In a supergraph each contains itself.
    """
    counts = np.zeros((2, asked.shape[0]), dtype=np.int64)
    for i in range(asked.shape[0]):
        small = ego(true, behind[asked[i]])
        for u in order[spans[i, 0] : spans[i, 1]]:
            if is_supergraph and u == asked[i]:
                counts[0, i] += 1
                continue
            answer = contains(small, ego(released, u), steps)
            if answer != NO:
                counts[1 if answer == UNDECIDED else 0, i] += 1
    return counts
