"""The kernel of type-preserving switches: a true tie takes the place of inserted ones."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.working._graph_core import Working, forget_edge, has_edge, remember_edge, see


@njit(cache=True, fastmath=False, nogil=True)
def _partner(g: Working, at: int, v: int, cls: int) -> int:
    """Return the other end of inserted edge `at` if it joins v and a vertex of `cls`, else -1."""
    a, b = g.inserted[at, 0], g.inserted[at, 1]
    if a == v and g.cls[b] == cls:
        return b
    if b == v and g.cls[a] == cls:
        return a
    return -1


@njit(cache=True, fastmath=False, nogil=True)
def switch(
    g: Working,
    added: NDArray[np.int32],
    start: NDArray[np.int64],
    edges: NDArray[np.int64],
    is_gone: NDArray[np.bool_],
) -> int:
    """Let new true ties take the place of inserted edges of their ends; return how many did.

    Tie (v, w) is in the graph already. With inserted edges (v, x) and (w, y), where x is of w's
    class and y of v's, both go and (x, y) comes: every vertex then has as many neighbours of each
    class as before the tie. `edges[start[v]:start[v + 1]]` are positions of inserted edges of v;
    `is_gone` marks those that are to be taken off the list.
    """
    switched = 0
    for i in range(len(added)):
        v, w = added[i, 0], added[i, 1]
        done = False
        for a in range(start[v], start[v + 1]):
            x = _partner(g, edges[a], v, g.cls[w])
            if done or x < 0 or is_gone[edges[a]]:
                continue
            for b in range(start[w], start[w + 1]):
                y = _partner(g, edges[b], w, g.cls[v])
                if y < 0 or is_gone[edges[b]] or x == y or has_edge(g, x, y):
                    continue
                forget_edge(g, v, x)
                forget_edge(g, w, y)
                remember_edge(g, x, y)
                see(g, v, x, -1)
                see(g, w, y, -1)
                g.inserted[edges[a], 0], g.inserted[edges[a], 1] = x, y
                is_gone[edges[b]] = True
                done = True
                break
        switched += done
    return switched
