"""Kernels of the working graph: an edge set, degrees and closed histograms that grow together."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.working._hashing_core import edge_key, home_slot

EMPTY = -1
DELETED = -2

# Positions in `Working.size`.
N, INSERTED, SLOTS_USED = range(3)


class Working(NamedTuple):
    """Arrays of a graph under construction; capacities are checked by the owner, not here.

    `columns` (classes, q) gives the histogram columns that a vertex of each class adds to its
    neighbours'. `edge_slots` is an open-addressing set of keys smaller << 32 | greater.
    """

    size: NDArray[np.int64]
    columns: NDArray[np.int64]
    cls: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    degree: NDArray[np.int32]
    hist: NDArray[np.int32]
    edge_slots: NDArray[np.int64]
    inserted: NDArray[np.int32]


@njit(cache=True, fastmath=False, nogil=True)
def has_edge(g: Working, u: int, v: int) -> bool:
    """Whether u and v are adjacent."""
    key = edge_key(u, v)
    slots = len(g.edge_slots)
    at = home_slot(key, slots)
    while g.edge_slots[at] != EMPTY:
        if g.edge_slots[at] == key:
            return True
        at = (at + 1) & (slots - 1)
    return False


@njit(cache=True, fastmath=False, nogil=True)
def remember_edge(g: Working, u: int, v: int) -> None:
    """Put an absent edge into the edge set (and nowhere else)."""
    key = edge_key(u, v)
    slots = len(g.edge_slots)
    at = home_slot(key, slots)
    while g.edge_slots[at] >= 0:
        at = (at + 1) & (slots - 1)
    if g.edge_slots[at] == EMPTY:
        g.size[SLOTS_USED] += 1
    g.edge_slots[at] = key


@njit(cache=True, fastmath=False, nogil=True)
def forget_edge(g: Working, u: int, v: int) -> None:
    """Drop a present edge from the edge set (and nowhere else)."""
    key = edge_key(u, v)
    slots = len(g.edge_slots)
    at = home_slot(key, slots)
    while g.edge_slots[at] != key:
        at = (at + 1) & (slots - 1)
    g.edge_slots[at] = DELETED


@njit(cache=True, fastmath=False, nogil=True)
def see(g: Working, v: int, neighbour: int, change: int) -> None:
    """Change degree and histogram of v by one neighbour more (+1) or fewer (-1)."""
    g.degree[v] += change
    c = g.cls[neighbour]
    for j in range(g.columns.shape[1]):
        g.hist[v, g.columns[c, j]] += change


@njit(cache=True, fastmath=False, nogil=True)
def insert_edge(g: Working, u: int, v: int) -> None:
    """Insert an absent edge: set, both histograms and the list of inserted edges."""
    remember_edge(g, u, v)
    see(g, u, v, 1)
    see(g, v, u, 1)
    at = g.size[INSERTED]
    g.inserted[at, 0] = u
    g.inserted[at, 1] = v
    g.size[INSERTED] += 1


@njit(cache=True, fastmath=False, nogil=True)
def insert_edges(g: Working, edges: NDArray[np.int32]) -> None:
    """Insert absent edges, shape (m, 2), for which there is room."""
    for i in range(len(edges)):
        insert_edge(g, edges[i, 0], edges[i, 1])


@njit(cache=True, fastmath=False, nogil=True)
def withdraw_edge(g: Working, at: int) -> None:
    """Take back the inserted edge at position `at` of the list; the last one takes its place."""
    u, v = g.inserted[at, 0], g.inserted[at, 1]
    forget_edge(g, u, v)
    see(g, u, v, -1)
    see(g, v, u, -1)
    last = g.size[INSERTED] - 1
    g.inserted[at, 0] = g.inserted[last, 0]
    g.inserted[at, 1] = g.inserted[last, 1]
    g.size[INSERTED] = last


@njit(cache=True, fastmath=False, nogil=True)
def load(g: Working, edges: NDArray[np.int32]) -> None:
    """Take over the original edges of a graph whose histograms hold the vertices alone."""
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        remember_edge(g, u, v)
        see(g, u, v, 1)
        see(g, v, u, 1)


@njit(cache=True, fastmath=False, nogil=True)
def remember_keys(g: Working, keys: NDArray[np.int64]) -> None:
    """Put the keys of a smaller edge set into this one."""
    for i in range(len(keys)):
        remember_edge(g, keys[i] >> 32, keys[i] & 0xFFFFFFFF)


@njit(cache=True, fastmath=False, nogil=True)
def highest_counts(
    cls: NDArray[np.int32], hist: NDArray[np.int32], highest: NDArray[np.int32]
) -> None:
    """Raise `highest` (classes, columns) to the greatest count that each class has by column."""
    for v in range(len(cls)):
        for x in range(hist.shape[1]):
            highest[cls[v], x] = max(highest[cls[v], x], hist[v, x])
