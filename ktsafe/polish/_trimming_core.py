"""Kernels that take insertions back while every vertex stays safe."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index import _table_core as locations
from ktsafe.index._table_core import Rule, Table
from ktsafe.working._graph_core import INSERTED, Working, see, withdraw_edge


@njit(cache=True, fastmath=False, nogil=True)
def _row_without(g: Working, v: int, neighbour: int, row: NDArray[np.int32]) -> None:
    """Write into `row` the histogram of v without one neighbour."""
    row[:] = g.hist[v]
    c = g.cls[neighbour]
    for j in range(g.columns.shape[1]):
        row[g.columns[c, j]] -= 1


@njit(cache=True, fastmath=False, nogil=True)
def _replace(g: Working, table: Table, rule: Rule, v: int) -> None:
    """Move a vertex, in the table, to where its degree and histogram now are."""
    sensitive = np.int64(g.is_sensitive[v])
    locations.lift(table, rule, v, sensitive)
    locations.place(table, rule, v, g.cls[v], g.degree[v], g.hist[v], sensitive)


@njit(cache=True, fastmath=False, nogil=True)
def can_lose(
    g: Working, table: Table, rule: Rule, v: int, neighbour: int, row: NDArray[np.int32]
) -> bool:
    """Whether all stay safe if v loses a neighbour; leaves its histogram without it in `row`."""
    _row_without(g, v, neighbour, row)
    return locations.move_is_safe(table, rule, v, g.degree[v] - 1, row, np.int64(g.is_sensitive[v]))


@njit(cache=True, fastmath=False, nogil=True)
def withdraw_if_safe(g: Working, table: Table, rule: Rule, at: int, row: NDArray[np.int32]) -> bool:
    """Take back one inserted edge if both ends can lose it; return whether it was."""
    u, v = g.inserted[at, 0], g.inserted[at, 1]
    if not can_lose(g, table, rule, u, v, row):
        return False
    if g.cls[u] != g.cls[v]:
        # Vertices of different classes are in nobody's common protection set.
        if not can_lose(g, table, rule, v, u, row):
            return False
        withdraw_edge(g, at)
        _replace(g, table, rule, u)
        _replace(g, table, rule, v)
        return True
    see(g, u, v, -1)
    _replace(g, table, rule, u)
    safe = can_lose(g, table, rule, v, u, row)
    see(g, u, v, 1)
    if safe:
        withdraw_edge(g, at)
        _replace(g, table, rule, v)
    else:
        _replace(g, table, rule, u)
    return safe


class Places(NamedTuple):
    """Where inserted edges are while `withdraw_edge` moves the last one into every gap.

    The i-th edge of the list as it was is at `place[i]` now; at place `at` is edge `holder[at]`.
    """

    place: NDArray[np.int64]
    holder: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def places_of(n_edges: int) -> Places:
    """Return the places of edges none of which was withdrawn yet."""
    return Places(np.arange(n_edges), np.arange(n_edges))


@njit(cache=True, fastmath=False, nogil=True)
def note_withdrawn(places: Places, at: int, last: int) -> None:
    """Note that the edge at a place was withdrawn, and that at the last place took it."""
    moved = places.holder[last]
    places.holder[at] = moved
    places.place[moved] = at


@njit(cache=True, fastmath=False, nogil=True)
def trim(g: Working, table: Table, rule: Rule, order: NDArray[np.int64]) -> int:
    """Try to take back each inserted edge, in the given order; return how many were.

    `order` is a permutation of the positions of all inserted edges.
    """
    row = np.zeros(table.hist.shape[1], dtype=np.int32)
    places = places_of(len(order))
    taken = 0
    for edge in order:
        at = places.place[edge]
        last = g.size[INSERTED] - 1
        if withdraw_if_safe(g, table, rule, at, row):
            note_withdrawn(places, at, last)
            taken += 1
    return taken


@njit(cache=True, fastmath=False, nogil=True)
def drop_isolated(
    g: Working, table: Table, rule: Rule, first: int, is_dropped: NDArray[np.bool_]
) -> int:
    """Drop inserted vertices (from `first` on) without edges that nobody needs."""
    dropped = 0
    for v in range(first, len(is_dropped)):
        if is_dropped[v] or g.degree[v] > 0:
            continue
        if locations.can_spare(table, rule, table.of_vertex[v]):
            locations.lift(table, rule, v, 0)
            is_dropped[v] = True
            dropped += 1
    return dropped
