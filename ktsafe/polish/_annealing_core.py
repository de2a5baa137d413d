"""Kernels that change single edges at random while every vertex stays safe."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index import _columns_core as bands
from ktsafe.index._columns_core import LONGEST, USED, Bands
from ktsafe.index._table_core import NONE
from ktsafe.polish import _edits_core as edits
from ktsafe.polish._edits_core import DELETED, LISTED, ORIGINAL, Edits
from ktsafe.working._random_core import below, uniform

# Kinds of moves.
WITHDRAW, REWIRE, RESTORE, DELETE, REWIRE_ORIGINAL = range(5)


class Scene(NamedTuple):
    """What does not change: classes, who is sensitive, vertices by class, columns of classes."""

    cls: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    members: NDArray[np.int32]
    start: NDArray[np.int64]
    columns: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def _row(b: Bands, s: Scene, v: int, cls: int, change: int, out: NDArray[np.int32]) -> None:
    """Write the histogram of v with one neighbour of class `cls` more (+1) or fewer (-1)."""
    at = b.of_vertex[v]
    for x in range(len(out)):
        out[x] = b.hist[at, x]
    for j in range(s.columns.shape[1]):
        out[s.columns[cls, j]] += change


@njit(cache=True, fastmath=False, nogil=True)
def _go(b: Bands, s: Scene, v: int, size: int, row: NDArray[np.int32]) -> None:
    """Move a vertex in the table."""
    sensitive = np.int64(s.is_sensitive[v])
    bands.lift(b, v, sensitive)
    bands.place(b, v, s.cls[v], size, row, sensitive)


@njit(cache=True, fastmath=False, nogil=True)
def try_pair(
    b: Bands,
    s: Scene,
    u: int,
    change_u: int,
    v: int,
    change_v: int,
    see: tuple[int, int],
    rows: NDArray[np.int32],
) -> bool:
    """Give u and v one neighbour more or fewer each, if all stay safe; return whether it was done.

    `see` holds the class of u's and of v's neighbour; `rows` (3, columns) is scratch.
    """
    at, other = b.of_vertex[u], b.of_vertex[v]
    size_u, size_v = b.size[at] + change_u, b.size[other] + change_v
    _row(b, s, u, see[0], change_u, rows[0])
    if not bands.move_is_safe(b, u, np.int64(s.is_sensitive[u]), size_u, rows[0]):
        return False
    _row(b, s, v, see[1], change_v, rows[1])
    sensitive_v = np.int64(s.is_sensitive[v])
    if s.cls[u] != s.cls[v]:
        # Vertices of different classes are in nobody's common protection set.
        if not bands.move_is_safe(b, v, sensitive_v, size_v, rows[1]):
            return False
        _go(b, s, u, size_u, rows[0])
    else:
        for x in range(rows.shape[1]):
            rows[2, x] = b.hist[at, x]
        _go(b, s, u, size_u, rows[0])
        if not bands.move_is_safe(b, v, sensitive_v, size_v, rows[1]):
            _go(b, s, u, size_u - change_u, rows[2])
            return False
    _go(b, s, v, size_v, rows[1])
    return True


@njit(cache=True, fastmath=False, nogil=True)
def _passes(gain: int, temperature: float, random: NDArray[np.uint64]) -> bool:
    """Metropolis: whether a change of the cost is acceptable."""
    return gain <= 0 or uniform(random) < np.exp(-gain / temperature)


@njit(cache=True, fastmath=False, nogil=True)
def _try_toggle(b: Bands, s: Scene, e: Edits, i: int, change: int, rows: NDArray[np.int32]) -> bool:
    u, v = e.ends[i, 0], e.ends[i, 1]
    if not try_pair(b, s, u, change, v, change, (s.cls[v], s.cls[u]), rows):
        return False
    edits.toggle(e, u, v)
    return True


@njit(cache=True, fastmath=False, nogil=True)
def _try_rewire(
    b: Bands,
    s: Scene,
    e: Edits,
    i: int,
    temperature: float,
    random: NDArray[np.uint64],
    rows: NDArray[np.int32],
) -> bool:
    """Let one end of an edge go to another vertex of its class."""
    side = below(random, 2)
    u, v = e.ends[i, side], e.ends[i, 1 - side]
    c = s.cls[v]
    w = s.members[s.start[c] + below(random, s.start[c + 1] - s.start[c])]
    if w in (u, v):
        return False
    there = edits.find(e, u, w)
    if edits.is_present(e, there):
        return False
    if not _passes(edits.price(e, i) + edits.price(e, there), temperature, random):
        return False
    if not try_pair(b, s, v, -1, w, 1, (s.cls[u], s.cls[u]), rows):
        return False
    edits.toggle(e, u, v)
    edits.toggle(e, u, w)
    return True


@njit(cache=True, fastmath=False, nogil=True)
def is_crowded(b: Bands, e: Edits) -> bool:
    """Whether one more trial might need more room than there is.

    A trial opens at most four locations, each of which may double a segment, and lists one edge.
    """
    full = b.tops[USED] + 8 * b.tops[LONGEST] + 64 > len(b.holder)
    return full or e.counts[LISTED] + 2 > len(e.ends)


@njit(cache=True, fastmath=False, nogil=True)
def sweep(b: Bands, s: Scene, e: Edits, last: int) -> int:
    """Try to withdraw each inserted edge from position `last` of the list on, downwards.

    Returns the position that is to be tried next where room is short (`is_crowded`), or the
    number of original edges less one. Who takes the place of a withdrawn edge was tried before.
    """
    rows = np.zeros((3, b.hist.shape[1]), dtype=np.int32)
    i = last
    while i >= e.counts[ORIGINAL] and not is_crowded(b, e):
        _try_toggle(b, s, e, i, -1, rows)
        i -= 1
    return i


@njit(cache=True, fastmath=False, nogil=True)
def anneal(
    b: Bands,
    s: Scene,
    e: Edits,
    shares: NDArray[np.float64],
    steps: int,
    cooling: tuple[float, float],
    random: NDArray[np.uint64],
) -> int:
    """Make `steps` trials; fewer where room is short (`is_crowded`). Return how many were made.

    `shares` are the cumulated shares of the kinds of moves, `cooling` the temperature to begin
    with and the factor per step.
    """
    rows = np.zeros((3, b.hist.shape[1]), dtype=np.int32)
    temperature = cooling[0]
    for step in range(steps):
        if is_crowded(b, e):
            return step
        temperature *= cooling[1]
        draw = uniform(random)
        kind = 0
        while draw >= shares[kind]:
            kind += 1
        originals = e.counts[ORIGINAL]
        inserted = e.counts[LISTED] - originals
        deleted = e.counts[DELETED]
        if kind == WITHDRAW and inserted > 0:
            _try_toggle(b, s, e, originals + below(random, inserted), -1, rows)
        elif kind == REWIRE and inserted > 0:
            i = originals + below(random, inserted)
            _try_rewire(b, s, e, i, temperature, random, rows)
        elif kind == RESTORE and deleted > 0:
            _try_toggle(b, s, e, e.deleted[below(random, deleted)], 1, rows)
        elif kind == DELETE and originals > 0:
            i = below(random, originals)
            if e.rank[i] == NONE and _passes(1, temperature, random):
                _try_toggle(b, s, e, i, -1, rows)
        elif kind == REWIRE_ORIGINAL and originals > 0:
            i = below(random, originals)
            if e.rank[i] == NONE:
                _try_rewire(b, s, e, i, temperature, random, rows)
    return steps
