"""Kernels that let whole cohorts want one neighbour more."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.cohorts._wants_core import Wants, accepts, can_go_on, take, untake
from ktsafe.index._table_core import NONE
from ktsafe.working._graph_core import Working

# How often one pass may raise one group.
RAISES_MAX = 4
# How many classes are tried for a raise.
CANDIDATES_MAX = 128


@njit(cache=True, fastmath=False, nogil=True)
def demand(g: Working, w: Wants) -> NDArray[np.int64]:
    """Count, by class z (row) and b (column), the open vertices of class z that accept a b."""
    n_classes = g.columns.shape[0]
    counts = np.zeros((n_classes, n_classes), dtype=np.int64)
    for i in range(len(w.vertices)):
        if w.stubs[i] > 0:
            for b in range(n_classes):
                if accepts(w, i, b, False):
                    counts[g.cls[w.vertices[i]], b] += 1
    return counts


@njit(cache=True, fastmath=False, nogil=True)
def raise_group(w: Wants, rows: NDArray[np.int64], cls: int) -> None:
    """Let every vertex of a group want one more neighbour of class `cls`.

    All stay similar, because all get the same; and a want that can be had stays one.
    """
    for i in rows:
        # What a vertex has too much of, it has used freedom for: `untake` gives that back.
        untake(w, i, cls)


@njit(cache=True, fastmath=False, nogil=True)
def relieve(
    g: Working,
    w: Wants,
    counts: NDArray[np.int64],
    start: NDArray[np.int64],
    rows: NDArray[np.int64],
    order: NDArray[np.int64],
) -> int:
    """Raise each group in which somebody wants what cannot be had; return how many were.

    The class that is added makes the want possible, and is the one most in demand among those.
    """
    raised = 0
    n_classes = g.columns.shape[0]
    for at in range(len(start) - 1):
        group = rows[start[at] : start[at + 1]]
        raises = 0
        at_row = 0
        while at_row < len(group) and raises < RAISES_MAX:
            i = group[at_row]
            if can_go_on(w, i):
                at_row += 1
                continue
            best, best_count = NONE, -1
            own = g.cls[w.vertices[i]]
            for step in range(min(n_classes, CANDIDATES_MAX)):
                z = order[step]
                if counts[z, own] <= best_count:
                    continue
                untake(w, i, z)
                possible = can_go_on(w, i)
                take(w, i, z)
                if possible:
                    best, best_count = z, counts[z, own]
            if best == NONE:
                best = order[at % n_classes]
            raise_group(w, group, best)
            counts[best, own] = max(0, counts[best, own] - len(group))
            raises += 1
        raised += raises
    return raised


@njit(cache=True, fastmath=False, nogil=True)
def serve_demand(
    g: Working,
    w: Wants,
    counts: NDArray[np.int64],
    start: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> int:
    """Raise groups for which enough open vertices of one class are waiting; return how many.

    Every open vertex is counted for one raise only.
    """
    n_classes = g.columns.shape[0]
    waiting = np.zeros(n_classes, dtype=np.int64)
    for i in range(len(w.vertices)):
        waiting[g.cls[w.vertices[i]]] += w.stubs[i] > 0
    raised = 0
    for at in range(len(start) - 1):
        size = start[at + 1] - start[at]
        own = g.cls[w.vertices[rows[start[at]]]]
        best, best_count = NONE, 0
        for z in range(n_classes):
            count = min(waiting[z], counts[z, own])
            if count > best_count:
                best, best_count = z, count
        if best_count * 5 < size * 4:
            continue
        raise_group(w, rows[start[at] : start[at + 1]], best)
        counts[best, own] -= size
        waiting[best] -= size
        raised += 1
    return raised
