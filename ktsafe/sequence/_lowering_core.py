"""Kernel of lowering: a perfect matching on as many whole cohorts as a greedy removal leaves."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

UNMATCHED = -1
REMOVED = -2


@njit(cache=True, fastmath=False, nogil=True)
def with_slack(
    edges: NDArray[np.int64], cohort: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which edges lie between cohorts all of whose members have such an edge.

    Parameters
    ----------
    edges:
        int64, shape (m, 2), of n vertices.
    cohort, sizes:
        int64, shape (n,) and (cohorts,): the cohort of each vertex, and the number of members of
        each, vertices without any edge among them.
    """
    keep = np.ones(len(edges), dtype=np.bool_)
    degree = np.zeros(len(cohort), dtype=np.int64)
    for e in range(len(edges)):
        degree[edges[e, 0]] += 1
        degree[edges[e, 1]] += 1
    changed = True
    while changed:
        changed = False
        present = np.zeros(len(sizes), dtype=np.int64)
        for v in range(len(cohort)):
            if degree[v] > 0:
                present[cohort[v]] += 1
        for e in range(len(edges)):
            u, v = edges[e, 0], edges[e, 1]
            if keep[e] and (
                present[cohort[u]] < sizes[cohort[u]] or present[cohort[v]] < sizes[cohort[v]]
            ):
                keep[e] = False
                degree[u] -= 1
                degree[v] -= 1
                changed = True
    return keep


@njit(cache=True, fastmath=False, nogil=True)
def match_cohorts(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    cohort: NDArray[np.int64],
    n_cohorts: int,
) -> NDArray[np.int64]:
    """Match vertices so that of each cohort all are matched or none.

    Parameters
    ----------
    indptr, indices:
        Compressed adjacency of n vertices, preferred neighbours first.
    cohort:
        int64, shape (n,): cohort of each vertex, 0..n_cohorts-1.

    Returns
    -------
    int64, shape (n,)
        The partner of each vertex, `REMOVED` if its cohort is left out.

    Complexity
    ----------
    One search, O(edges), for each vertex that stays unmatched, after each cohort that is removed.
    Odd cycles are not contracted: where a perfect matching exists it may be missed.
    """
    n = len(cohort)
    mate = np.full(n, UNMATCHED, dtype=np.int64)
    seen = np.zeros(n, dtype=np.int64)
    stack = np.empty(n + 1, dtype=np.int64)
    position = np.empty(n + 1, dtype=np.int64)
    lacking = np.zeros(n_cohorts, dtype=np.int64)
    for v in range(n):
        if indptr[v] == indptr[v + 1]:
            # Its whole cohort was left out before.
            mate[v] = REMOVED
    for v in range(n):
        if mate[v] == UNMATCHED:
            for e in range(indptr[v], indptr[v + 1]):
                if mate[indices[e]] == UNMATCHED:
                    mate[v], mate[indices[e]] = indices[e], v
                    break
    mark = 0
    while True:
        for v in range(n):
            if mate[v] == UNMATCHED:
                mark += 1
                _augment(indptr, indices, mate, seen, mark, stack, position, v)
        worst = _most_lacking(mate, cohort, lacking)
        if worst < 0:
            return mate
        for v in range(n):
            if cohort[v] == worst:
                if mate[v] >= 0:
                    mate[mate[v]] = UNMATCHED
                mate[v] = REMOVED


@njit(cache=True, fastmath=False, nogil=True)
def _most_lacking(
    mate: NDArray[np.int64], cohort: NDArray[np.int64], lacking: NDArray[np.int64]
) -> int:
    """Return the cohort with most unmatched members, -1 if there is none."""
    lacking[:] = 0
    for v in range(len(cohort)):
        if mate[v] == UNMATCHED:
            lacking[cohort[v]] += 1
    worst = np.argmax(lacking)
    return worst if lacking[worst] > 0 else -1


@njit(cache=True, fastmath=False, nogil=True)
def _augment(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    mate: NDArray[np.int64],
    seen: NDArray[np.int64],
    mark: int,
    stack: NDArray[np.int64],
    position: NDArray[np.int64],
    root: int,
) -> bool:
    """Search an alternating path from an unmatched vertex to another one; if found, flip it."""
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
        if mate[w] == UNMATCHED:
            _flip(indices, mate, stack, position, depth)
            return True
        if seen[mate[w]] == mark:
            continue
        depth += 1
        stack[depth] = mate[w]
        position[depth] = indptr[stack[depth]]
        seen[stack[depth]] = mark
    return False


@njit(cache=True, fastmath=False, nogil=True)
def _flip(
    indices: NDArray[np.int64],
    mate: NDArray[np.int64],
    stack: NDArray[np.int64],
    position: NDArray[np.int64],
    depth: int,
) -> None:
    """Match each vertex on the stack with the neighbour it last looked at."""
    for level in range(depth, -1, -1):
        v, w = stack[level], indices[position[level] - 1]
        mate[v], mate[w] = w, v
