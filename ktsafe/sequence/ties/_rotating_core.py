"""Kernels of rotation: matchings that cover of each group of vertices enough members, or none."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.sequence.ties._groups_core import choose_groups
from ktsafe.sequence.ties._matching_core import (
    UNMATCHED,
    Search,
    augment,
    match_all,
    match_greedily,
    new_search,
)


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
    chances: NDArray[np.float64],
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
    chances:
        float64, not empty: uniform random numbers.

    Returns
    -------
    mate:
        int64, shape (n,): the partner of each vertex, negative if it has none.
    served:
        bool, shape (t,): which ties have both ends covered.

    Complexity
    ----------
    That of `choose_groups`, and one search, O(edges), for each tie and each vertex of a group.
    Odd cycles are not contracted: a larger matching may be missed.
    """
    search = new_search(indptr, indices, group, need)
    match_greedily(search)
    match_all(search)
    choose_groups(search, ties, chances)
    match_all(search)
    served = np.zeros(len(ties), dtype=np.bool_)
    for t in range(len(ties)):
        served[t] = _serve(search, ties[t, 0], ties[t, 1])
    _complete(search, size)
    return search.mate, served


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
        return augment(search, v, True)
    return search.mate[v] >= 0
