"""Kernels that serve wants: vertex to vertex, vertex to settled vertex, plans for inserted ones."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe import _locations_core as locations
from ktsafe._locations_core import NONE, Rule, Table
from ktsafe._working_core import Working, has_edge, insert_edge


class Wants(NamedTuple):
    """What lifted vertices still need: `residual[i]` neighbours by column, `stubs[i]` in all.

    `columns` (classes, q') says in which residual columns a neighbour of each class counts.
    """

    vertices: NDArray[np.int32]
    residual: NDArray[np.int32]
    stubs: NDArray[np.int32]
    columns: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def accepts(w: Wants, i: int, cls: int) -> bool:
    """Whether vertex i still wants a neighbour of this class."""
    if w.stubs[i] <= 0:
        return False
    for j in range(w.columns.shape[1]):  # noqa: SIM110 -- numba compiles no generator
        if w.residual[i, w.columns[cls, j]] <= 0:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def take(w: Wants, i: int, cls: int) -> None:
    """Note that vertex i got a neighbour of this class."""
    w.stubs[i] -= 1
    for j in range(w.columns.shape[1]):
        w.residual[i, w.columns[cls, j]] -= 1


@njit(cache=True, fastmath=False, nogil=True)
def match(
    g: Working, w: Wants, class_start: NDArray[np.int64], class_members: NDArray[np.int64]
) -> None:
    """Insert edges between wanting vertices where each end wants the other's class.

    Wants come in descending order of stubs, and each class lists its members in that order, so
    the neediest vertex is served first and by the next neediest (Havel and Hakimi). A pair that
    failed once fails for ever, hence only later vertices are candidates.
    """
    head = class_start[:-1].copy()
    for i in range(len(w.vertices)):
        v = w.vertices[i]
        a = g.cls[v]
        for b in range(len(class_start) - 1):
            if not accepts(w, i, b):
                continue
            while head[b] < class_start[b + 1] and class_members[head[b]] <= i:
                head[b] += 1
            for at in range(head[b], class_start[b + 1]):
                other = class_members[at]
                if not accepts(w, other, a):
                    continue
                u = w.vertices[other]
                if has_edge(g, u, v):
                    continue
                insert_edge(g, u, v)
                take(w, i, b)
                take(w, other, a)
                if not accepts(w, i, b):
                    break


@njit(cache=True, fastmath=False, nogil=True)
def settle_complete(
    g: Working, table: Table, rule: Rule, w: Wants, is_open: NDArray[np.bool_]
) -> None:
    """Place every vertex without stubs; mark the others open and leave them lifted."""
    for i in range(len(w.vertices)):
        v = w.vertices[i]
        if w.stubs[i] > 0:
            is_open[v] = True
            if table.of_vertex[v] != NONE:
                locations.lift(table, rule, v, np.int64(g.is_sensitive[v]))
        elif table.of_vertex[v] == NONE:
            locations.place(
                table, rule, v, g.cls[v], g.degree[v], g.hist[v], np.int64(g.is_sensitive[v])
            )


@njit(cache=True, fastmath=False, nogil=True)
def absorb(
    g: Working,
    table: Table,
    rule: Rule,
    w: Wants,
    by_class: NDArray[np.int32],
    class_start: NDArray[np.int64],
    tries_max: int,
    offset: int,
) -> None:
    """Serve leftover stubs by settled vertices that stay safe, and break no one, with one more.

    `by_class[class_start[b]:class_start[b + 1]]` are the vertices of class b; the search starts
    at a place that depends on `offset` and looks at `tries_max` distinct locations.
    """
    failed = np.full(len(table.cls), NONE, dtype=np.int64)
    row = np.zeros(table.hist.shape[1], dtype=np.int32)
    query = 0
    for i in range(len(w.vertices)):
        v = w.vertices[i]
        for b in range(len(class_start) - 1):
            length = class_start[b + 1] - class_start[b]
            cap = table.bucket_start[b + 1] - table.bucket_start[b] - 1
            if length == 0 or not accepts(w, i, b):
                continue
            query += 1
            tries = 0
            for step in range(length):
                u = by_class[class_start[b] + (offset + 7919 * query + step) % length]
                at = table.of_vertex[u]
                if at == NONE or u == v or failed[at] == query or g.degree[u] + 1 > cap:
                    continue
                if not locations.suffices(rule, table.ps_size[at], table.ps_sensitive[at]):
                    continue
                if has_edge(g, u, v):
                    continue
                row[:] = g.hist[u]
                for j in range(g.columns.shape[1]):
                    row[g.columns[g.cls[v], j]] += 1
                sensitive = np.int64(g.is_sensitive[u])
                if not locations.move_is_safe(table, rule, u, g.degree[u] + 1, row, sensitive):
                    failed[at] = query
                    tries += 1
                    if tries >= tries_max:
                        break
                    continue
                locations.lift(table, rule, u, sensitive)
                insert_edge(g, u, v)
                locations.place(table, rule, u, b, g.degree[u], g.hist[u], sensitive)
                failed[table.of_vertex[u]] = NONE
                take(w, i, b)
                if not accepts(w, i, b):
                    break
        if w.stubs[i] == 0 and table.of_vertex[v] == NONE:
            locations.place(
                table, rule, v, g.cls[v], g.degree[v], g.hist[v], np.int64(g.is_sensitive[v])
            )


@njit(cache=True, fastmath=False, nogil=True)
def plan_inserted(
    w: Wants,
    degree_max: int,
    fake_class: NDArray[np.int32],
    edges: NDArray[np.int32],
) -> tuple[int, int]:
    """Plan inserted vertices that serve the leftover stubs, at most `degree_max` each.

    A vertex serves each seeker once at most. Fills `fake_class` and `edges` (fake, seeker) and
    returns how many of each; both must hold one row per leftover stub.
    """
    n_fakes, n_edges = 0, 0
    for b in range(w.columns.shape[0]):
        while True:
            served = 0
            for i in range(len(w.vertices)):
                if accepts(w, i, b):
                    take(w, i, b)
                    edges[n_edges, 0] = n_fakes
                    edges[n_edges, 1] = i
                    n_edges += 1
                    served += 1
                    if served == degree_max:
                        break
            if served == 0:
                break
            fake_class[n_fakes] = b
            n_fakes += 1
    return n_fakes, n_edges


@njit(cache=True, fastmath=False, nogil=True)
def insert_edges(g: Working, edges: NDArray[np.int32]) -> None:
    """Insert absent edges, shape (m, 2)."""
    for i in range(len(edges)):
        insert_edge(g, edges[i, 0], edges[i, 1])
