"""Kernels of rotation: matchings that cover of each group of vertices enough members, or none."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

UNMATCHED = -1
REMOVED = -2


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
def numbered(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different values, ascending, and the position of each value among them.

    As `numpy.unique` with inverse, at a fraction of its fixed cost.
    """
    n = len(values)
    order = np.argsort(values)
    distinct = np.empty(n, dtype=np.int64)
    position = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        value = values[order[i]]
        if count == 0 or distinct[count - 1] != value:
            distinct[count] = value
            count += 1
        position[order[i]] = count - 1
    return distinct[:count], position


@njit(cache=True, fastmath=False, nogil=True)
def droppable(
    edges: NDArray[np.int64], group: NDArray[np.int64], need: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which edges lie between groups of which enough members have such an edge.

    Parameters
    ----------
    edges:
        int64, shape (m, 2), of n vertices.
    group, need:
        int64, shape (n,) and (groups,): the group of each vertex, and the number of members of
        each that must have an edge.
    """
    keep = np.ones(len(edges), dtype=np.bool_)
    degree = np.zeros(len(group), dtype=np.int64)
    for e in range(len(edges)):
        degree[edges[e, 0]] += 1
        degree[edges[e, 1]] += 1
    changed = True
    while changed:
        changed = False
        present = np.zeros(len(need), dtype=np.int64)
        for v in range(len(group)):
            if degree[v] > 0:
                present[group[v]] += 1
        for e in range(len(edges)):
            u, v = edges[e, 0], edges[e, 1]
            if keep[e] and (
                present[group[u]] < need[group[u]] or present[group[v]] < need[group[v]]
            ):
                keep[e] = False
                degree[u] -= 1
                degree[v] -= 1
                changed = True
    return keep


@njit(cache=True, fastmath=False, nogil=True)
def covering(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    group: NDArray[np.int64],
    need: NDArray[np.int64],
    size: NDArray[np.int64],
    ties: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Match vertices such that of each group none or at least `need` are matched.

    Then both ends of as many of the given ties as possible are covered, in order, each vertex for
    one tie at most; then as many groups as possible as a whole.

    Parameters
    ----------
    indptr, indices:
        Compressed adjacency of n vertices, preferred neighbours first.
    group, need, size:
        int64, shape (n,), (groups,) and (groups,).
    ties:
        int64, shape (t, 2): vertices.

    Returns
    -------
    mate:
        int64, shape (n,): the partner of each vertex, negative if it has none.
    served:
        bool, shape (t,): which ties have both ends covered.

    Complexity
    ----------
    One search, O(edges), for each vertex that lacks a partner, after each group that is removed.
    Odd cycles are not contracted: a larger matching may be missed.
    """
    n = len(group)
    search = Search(
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
    _match_greedily(search)
    _match_all(search)
    _remove_failing(search)
    _match_all(search)
    served = np.zeros(len(ties), dtype=np.bool_)
    for t in range(len(ties)):
        served[t] = _serve(search, ties[t, 0], ties[t, 1])
    _complete(search, size)
    return search.mate, served


@njit(cache=True, fastmath=False, nogil=True)
def _match_greedily(search: Search) -> None:
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
def _match_all(search: Search) -> None:
    """Make the matching larger where an alternating path does so."""
    for v in range(len(search.mate)):
        if search.mate[v] == UNMATCHED:
            _augment(search, v, False)


@njit(cache=True, fastmath=False, nogil=True)
def _remove_failing(search: Search) -> None:
    """Serve groups that lack members at the expense of others; remove them where that fails."""
    mate, group, need, matched = search.mate, search.group, search.need, search.matched
    while True:
        for v in range(len(mate)):
            if mate[v] == UNMATCHED and matched[group[v]] < need[group[v]]:
                _augment(search, v, True)
        worst = np.argmax(need - matched)
        if matched[worst] >= need[worst]:
            return
        for v in range(len(mate)):
            if group[v] == worst:
                if mate[v] >= 0:
                    matched[group[mate[v]]] -= 1
                    mate[mate[v]] = UNMATCHED
                mate[v] = REMOVED
        matched[worst] = need[worst] = 0


@njit(cache=True, fastmath=False, nogil=True)
def _serve(search: Search, u: int, v: int) -> bool:
    """Cover both vertices for good, if that can be done."""
    pinned = search.pinned
    if pinned[u] or pinned[v] or not _covered(search, u):
        return False
    pinned[u] = True
    pinned[v] = _covered(search, v)
    pinned[u] = pinned[v]
    return pinned[v]


@njit(cache=True, fastmath=False, nogil=True)
def _complete(search: Search, size: NDArray[np.int64]) -> None:
    """Cover all members of a group where that can be done, group by group."""
    for group in range(len(size)):
        least = search.need[group]
        if search.matched[group] == 0:
            continue
        # Whoever of it is covered stays so while the others are.
        search.need[group] = size[group]
        complete = True
        for v in range(len(search.mate)):
            if complete and search.group[v] == group:
                complete = _covered(search, v)
        if search.matched[group] < size[group]:
            search.need[group] = least


@njit(cache=True, fastmath=False, nogil=True)
def _covered(search: Search, v: int) -> bool:
    """Cover a vertex, at the expense of groups with more than they need; say whether it is."""
    if search.mate[v] == UNMATCHED:
        return _augment(search, v, True)
    return search.mate[v] >= 0


@njit(cache=True, fastmath=False, nogil=True)
def _augment(search: Search, root: int, may_rob: bool) -> bool:
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
