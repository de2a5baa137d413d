"""Kernels of matchings: the largest one, and one that serves some groups at others' expense."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

UNMATCHED = -1
REMOVED = -2

Copy = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""What changes in a search: `mate`, `need` and `matched`."""


class Search(NamedTuple):
    """A matching under construction: n vertices in groups, and room for a search.

    Attributes
    ----------
    indptr, indices:
        Compressed adjacency, preferred neighbours first.
    group, mate, pinned:
        Of each vertex its group, its partner (or `UNMATCHED`, or `REMOVED`), and whether it must
        stay matched.
    need, matched:
        Of each group the members that must be matched, and those that are.
    seen, stack, position:
        Of the search for an alternating path; `seen[n]` is the number of the current search.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    group: NDArray[np.int64]
    mate: NDArray[np.int64]
    pinned: NDArray[np.bool_]
    need: NDArray[np.int64]
    matched: NDArray[np.int64]
    seen: NDArray[np.int64]
    stack: NDArray[np.int64]
    position: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def new_search(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    group: NDArray[np.int64],
    need: NDArray[np.int64],
) -> Search:
    """Return an empty matching of n vertices, all of which may take part."""
    n = len(group)
    return Search(
        indptr,
        indices,
        group,
        np.full(n, UNMATCHED, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
        need.copy(),
        np.zeros(len(need), dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.empty(n + 1, dtype=np.int64),
        np.empty(n + 1, dtype=np.int64),
    )


@njit(cache=True, fastmath=False, nogil=True)
def match_greedily(search: Search) -> None:
    """Match each vertex with the first free neighbour; who has no neighbour takes no part."""
    mate = search.mate
    for v in range(len(mate)):
        if search.indptr[v] == search.indptr[v + 1]:
            mate[v] = REMOVED
    for v in range(len(mate)):
        if mate[v] == UNMATCHED:
            for e in range(search.indptr[v], search.indptr[v + 1]):
                w = search.indices[e]
                if mate[w] == UNMATCHED:
                    mate[v], mate[w] = w, v
                    search.matched[search.group[v]] += 1
                    search.matched[search.group[w]] += 1
                    break


@njit(cache=True, fastmath=False, nogil=True)
def match_all(search: Search) -> None:
    """Make the matching larger where an alternating path does so."""
    for v in range(len(search.mate)):
        if search.mate[v] == UNMATCHED:
            augment(search, v, False)


@njit(cache=True, fastmath=False, nogil=True)
def augment(search: Search, root: int, may_rob: bool) -> bool:
    """Match one more vertex along an alternating path.

    The path ends at an unmatched vertex, or, if `may_rob`, at one that gives its partner up
    because its group has more than it needs.
    """
    indptr, indices, group, mate, pinned, need, matched, seen, stack, position = search
    seen[-1] += 1
    mark = seen[-1]
    depth = 0
    stack[0] = root
    position[0] = indptr[root]
    seen[root] = mark
    while depth >= 0:
        v = stack[depth]
        if position[depth] == indptr[v + 1]:
            depth -= 1
            continue
        w = indices[position[depth]]
        position[depth] += 1
        if seen[w] == mark or mate[w] == REMOVED:
            continue
        seen[w] = mark
        x = mate[w]
        if x == UNMATCHED:
            _flip(search, depth)
            matched[group[root]] += 1
            matched[group[w]] += 1
            return True
        if seen[x] == mark:
            continue
        if may_rob and not pinned[x] and matched[group[x]] > need[group[x]]:
            _flip(search, depth)
            mate[x] = UNMATCHED
            matched[group[root]] += 1
            matched[group[x]] -= 1
            return True
        depth += 1
        stack[depth] = x
        position[depth] = indptr[x]
        seen[x] = mark
    return False


@njit(cache=True, fastmath=False, nogil=True)
def _flip(search: Search, depth: int) -> None:
    """Match each vertex on the stack with the neighbour it last looked at."""
    for level in range(depth, -1, -1):
        v, w = search.stack[level], search.indices[search.position[level] - 1]
        search.mate[v], search.mate[w] = w, v


@njit(cache=True, fastmath=False, nogil=True)
def copied(search: Search) -> Copy:
    """Return a copy of what changes in a search."""
    return search.mate.copy(), search.need.copy(), search.matched.copy()


@njit(cache=True, fastmath=False, nogil=True)
def keep(search: Search, copy: Copy) -> None:
    """Note what changes in a search."""
    _assign((search.mate, search.need, search.matched), copy)


@njit(cache=True, fastmath=False, nogil=True)
def restore(search: Search, copy: Copy) -> None:
    """Return to what was noted."""
    _assign(copy, (search.mate, search.need, search.matched))


@njit(cache=True, fastmath=False, nogil=True)
def _assign(
    source: Copy,
    target: Copy,
) -> None:
    """Copy element by element: slices would take seconds more to compile."""
    for array in range(3):
        for i in range(len(source[array])):
            target[array][i] = source[array][i]
