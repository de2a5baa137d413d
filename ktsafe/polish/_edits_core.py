"""Kernels of an edit list: which original edges are deleted, which other edges are inserted."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index._table_core import NONE
from ktsafe.working._hashing_core import edge_key, home_slot

# Positions in `Edits.counts`: original edges, edges in the list, deleted original edges.
ORIGINAL, LISTED, DELETED = range(3)


class Edits(NamedTuple):
    """Edges `ends[:counts[LISTED]]`, the original ones first and always listed.

    `deleted[:counts[DELETED]]` are the original edges that are deleted, `rank` (original edges)
    says where in it, or NONE. `keys` and `position` are an open-addressing map from
    smaller << 32 | greater to places in the list; NONE marks a free slot.
    """

    counts: NDArray[np.int64]
    ends: NDArray[np.int32]
    deleted: NDArray[np.int64]
    rank: NDArray[np.int64]
    keys: NDArray[np.int64]
    position: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def _slot(e: Edits, key: int) -> int:
    """Return the slot of a key, or the free slot where it belongs."""
    slots = len(e.keys)
    at = home_slot(key, slots)
    while e.keys[at] != NONE and e.keys[at] != key:
        at = (at + 1) & (slots - 1)
    return at


@njit(cache=True, fastmath=False, nogil=True)
def _vacate(e: Edits, hole: int) -> None:
    """Free a slot; later keys of the same run move up, so that no marks of the dead remain."""
    slots = len(e.keys)
    at = hole
    while True:
        at = (at + 1) & (slots - 1)
        if e.keys[at] == NONE:
            break
        home = home_slot(e.keys[at], slots)
        # A key may fill the hole unless its home lies behind the hole.
        if ((at - home) & (slots - 1)) >= ((at - hole) & (slots - 1)):
            e.keys[hole], e.position[hole] = e.keys[at], e.position[at]
            hole = at
    e.keys[hole] = NONE


@njit(cache=True, fastmath=False, nogil=True)
def load(e: Edits, n: int) -> None:
    """Enter the first n listed edges into the map."""
    for i in range(n):
        key = edge_key(e.ends[i, 0], e.ends[i, 1])
        at = _slot(e, key)
        e.keys[at] = key
        e.position[at] = i


@njit(cache=True, fastmath=False, nogil=True)
def find(e: Edits, u: int, v: int) -> int:
    """Return where in the list a pair is, or NONE; a deleted original edge is listed."""
    at = _slot(e, edge_key(u, v))
    return e.position[at] if e.keys[at] != NONE else NONE


@njit(cache=True, fastmath=False, nogil=True)
def is_present(e: Edits, i: int) -> bool:
    """Whether place i of the list, or NONE, is an edge of the graph now."""
    return i != NONE and (i >= e.counts[ORIGINAL] or e.rank[i] == NONE)


@njit(cache=True, fastmath=False, nogil=True)
def price(e: Edits, i: int) -> int:
    """Return what toggling place i of the list costs; NONE stands for a pair not listed."""
    if i == NONE:
        return 1
    return 1 if i < e.counts[ORIGINAL] and e.rank[i] == NONE else -1


@njit(cache=True, fastmath=False, nogil=True)
def toggle(e: Edits, u: int, v: int) -> None:
    """Insert, withdraw, delete or restore the edge between u and v, whichever applies."""
    key = edge_key(u, v)
    at = _slot(e, key)
    if e.keys[at] == NONE:
        i = e.counts[LISTED]
        e.keys[at], e.position[at] = key, i
        e.ends[i, 0], e.ends[i, 1] = u, v
        e.counts[LISTED] += 1
        return
    i = e.position[at]
    if i >= e.counts[ORIGINAL]:
        e.counts[LISTED] -= 1
        last = e.counts[LISTED]
        if i != last:
            x, y = e.ends[last, 0], e.ends[last, 1]
            e.ends[i, 0], e.ends[i, 1] = x, y
            e.position[_slot(e, edge_key(x, y))] = i
        _vacate(e, at)
        return
    if e.rank[i] == NONE:
        e.rank[i] = e.counts[DELETED]
        e.deleted[e.counts[DELETED]] = i
        e.counts[DELETED] += 1
        return
    e.counts[DELETED] -= 1
    moved = e.deleted[e.counts[DELETED]]
    e.deleted[e.rank[i]] = moved
    e.rank[moved] = e.rank[i]
    e.rank[i] = NONE
