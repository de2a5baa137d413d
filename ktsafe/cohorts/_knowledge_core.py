"""Kernels that count who contains whose true neighbours, and take insertions back under that."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index._similar_core import similar_locations
from ktsafe.index._table_core import NONE, K, Rule, Table, can_spare, lift, place
from ktsafe.polish._trimming_core import can_lose, note_withdrawn, places_of
from ktsafe.working._graph_core import INSERTED, Working, see, withdraw_edge


class Truth(NamedTuple):
    """What the original vertices truly have, and who of them is where.

    `counts` (originals, tuples) are closed neighbourhoods by quasi-identifier tuple, whose columns
    of a histogram row begin at `first[0]`. The placed originals of location `at` are `head[at]`
    and those that `after` leads to.
    """

    counts: NDArray[np.int32]
    first: NDArray[np.int64]
    head: NDArray[np.int32]
    after: NDArray[np.int32]


@njit(cache=True, fastmath=False, nogil=True)
def enter_all(table: Table, truth: Truth) -> None:
    """Note where every placed original is; nobody is noted before."""
    for v in range(len(truth.counts)):
        if table.of_vertex[v] != NONE:
            _enter(table, truth, v)


@njit(cache=True, fastmath=False, nogil=True)
def _enter(table: Table, truth: Truth, v: int) -> None:
    """Note where a placed original is."""
    at = table.of_vertex[v]
    truth.after[v] = truth.head[at]
    truth.head[at] = v


@njit(cache=True, fastmath=False, nogil=True)
def _leave(table: Table, truth: Truth, v: int) -> None:
    """Forget where an original is, before it goes."""
    at = table.of_vertex[v]
    if truth.head[at] == v:
        truth.head[at] = truth.after[v]
        return
    w = truth.head[at]
    while truth.after[w] != v:
        w = truth.after[w]
    truth.after[w] = truth.after[v]


@njit(cache=True, fastmath=False, nogil=True)
def contains(truth: Truth, row: NDArray[np.int32], v: int) -> bool:
    """Whether a histogram row contains the true neighbours of an original."""
    first = truth.first[0]
    for x in range(truth.counts.shape[1]):  # noqa: SIM110 -- numba compiles no generator
        if row[first + x] < truth.counts[v, x]:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def known_of_all(table: Table, rule: Rule, truth: Truth, limit: int) -> NDArray[np.int64]:
    """Count the candidates of every placed original, up to `limit` or more; -1 for the others.

    A candidate is a placed vertex of the protection set that contains the true neighbours.
    """
    known = np.full(len(truth.counts), -1, dtype=np.int64)
    found = table.found[0]
    for at in range(len(truth.head)):
        if truth.head[at] == NONE:
            continue
        row = table.hist[at]
        n = similar_locations(table, rule, table.cls[at], table.degree[at], row, found)
        v = truth.head[at]
        while v != NONE:
            known[v] = 0
            for i in range(n):
                if known[v] >= limit:
                    break
                if contains(truth, table.hist[found[i]], v):
                    known[v] += table.population[found[i]]
            v = truth.after[v]
    return known


@njit(cache=True, fastmath=False, nogil=True)
def _stand_by(
    table: Table, rule: Rule, truth: Truth, u: int, change: int, known: NDArray[np.int64]
) -> bool:
    """Add `change` to the count of everybody else who has u as a candidate.

    Returns whether all of them then have k.
    """
    at, found = table.of_vertex[u], table.found[0]
    row, enough = table.hist[at], True
    for i in range(similar_locations(table, rule, table.cls[at], table.degree[at], row, found)):
        v = truth.head[found[i]]
        while v != NONE:
            if v != u and contains(truth, row, v):
                known[v] += change
                enough = enough and known[v] >= rule.limits[K]
            v = truth.after[v]
    return enough


@njit(cache=True, fastmath=False, nogil=True)
def _recount(table: Table, rule: Rule, truth: Truth, v: int) -> int:
    """Count the candidates of one placed original."""
    at, found = table.of_vertex[v], table.found[0]
    count = np.int64(0)
    degree, row = table.degree[at], table.hist[at]
    for i in range(similar_locations(table, rule, table.cls[at], degree, row, found)):
        if contains(truth, table.hist[found[i]], v):
            count += table.population[found[i]]
    return count


@njit(cache=True, fastmath=False, nogil=True)
def _bear_loss(
    g: Working,
    table: Table,
    rule: Rule,
    truth: Truth,
    known: NDArray[np.int64],
    u: int,
    row: NDArray[np.int32],
) -> bool:
    """Whether everybody keeps k candidates where u has one neighbour less: `row`.

    Nothing changes. Only who counts u as a candidate now can lose one, and u finds others.
    """
    at = table.of_vertex[u]
    cls, old = table.cls[at], table.hist[at]
    there, here, flags = table.found[0], table.found[1], table.flags
    n_there = similar_locations(table, rule, cls, g.degree[u] - 1, row, there)
    if u < len(known):
        # u itself contains what it truly has, wherever it goes.
        count = np.int64(1)
        for i in range(n_there):
            if contains(truth, table.hist[there[i]], u):
                count += table.population[there[i]] - (there[i] == at)
        if count < rule.limits[K]:
            return False
    n_here = similar_locations(table, rule, cls, table.degree[at], old, here)
    for i in range(n_there):
        flags[there[i]] = 1
    enough = True
    for i in range(n_here):
        v = truth.head[here[i]]
        while enough and v != NONE:
            if v != u and known[v] <= rule.limits[K] and contains(truth, old, v):
                enough = flags[here[i]] == 1 and contains(truth, row, v)
            v = truth.after[v]
    for i in range(n_there):
        flags[there[i]] = 0
    return enough


@njit(cache=True, fastmath=False, nogil=True)
def _go(
    g: Working,
    table: Table,
    rule: Rule,
    truth: Truth,
    known: NDArray[np.int64],
    u: int,
    neighbour: int,
    change: int,
) -> None:
    """Let u have a neighbour more or fewer, and move it in the table; all counts follow."""
    sensitive = np.int64(g.is_sensitive[u])
    _stand_by(table, rule, truth, u, -1, known)
    if u < len(known):
        _leave(table, truth, u)
    lift(table, rule, u, sensitive)
    see(g, u, neighbour, change)
    place(table, rule, u, g.cls[u], g.degree[u], g.hist[u], sensitive)
    if u < len(known):
        _enter(table, truth, u)
        known[u] = _recount(table, rule, truth, u)
    _stand_by(table, rule, truth, u, 1, known)


@njit(cache=True, fastmath=False, nogil=True)
def _can_both_lose(
    g: Working,
    table: Table,
    rule: Rule,
    truth: Truth,
    known: NDArray[np.int64],
    pair: tuple[int, int],
    row: NDArray[np.int32],
) -> bool:
    """Let both ends lose each other, in the table, if all stay safe and known; whether they did."""
    u, v = pair
    if not (
        can_lose(g, table, rule, u, v, row) and _bear_loss(g, table, rule, truth, known, u, row)
    ):
        return False
    # Vertices of different classes are in nobody's common protection set.
    same = g.cls[u] == g.cls[v]
    if same:
        _go(g, table, rule, truth, known, u, v, -1)
    possible = can_lose(g, table, rule, v, u, row) and _bear_loss(
        g, table, rule, truth, known, v, row
    )
    if possible and not same:
        _go(g, table, rule, truth, known, u, v, -1)
    if possible:
        _go(g, table, rule, truth, known, v, u, -1)
    elif same:
        _go(g, table, rule, truth, known, u, v, 1)
    return possible


@njit(cache=True, fastmath=False, nogil=True)
def trim_known(
    g: Working,
    table: Table,
    rule: Rule,
    truth: Truth,
    known: NDArray[np.int64],
    order: NDArray[np.int64],
) -> int:
    """Take back inserted edges, in the given order, while all stay safe and known by k.

    `order` is a permutation of the positions of all inserted edges. Returns how many were taken.
    """
    row = np.zeros(table.hist.shape[1], dtype=np.int32)
    places = places_of(len(order))
    taken = 0
    for edge in order:
        at = places.place[edge]
        last = g.size[INSERTED] - 1
        u, v = g.inserted[at, 0], g.inserted[at, 1]
        if _can_both_lose(g, table, rule, truth, known, (u, v), row):
            # Both already see each other no more, and `withdraw_edge` makes it so again.
            see(g, u, v, 1)
            see(g, v, u, 1)
            withdraw_edge(g, at)
            note_withdrawn(places, at, last)
            taken += 1
    return taken


@njit(cache=True, fastmath=False, nogil=True)
def drop_isolated(
    g: Working,
    table: Table,
    rule: Rule,
    truth: Truth,
    known: NDArray[np.int64],
    is_dropped: NDArray[np.bool_],
) -> None:
    """Drop inserted vertices without edges that nobody needs, as a candidate or otherwise."""
    for u in range(len(known), len(is_dropped)):
        if g.degree[u] > 0:
            continue
        enough = _stand_by(table, rule, truth, u, -1, known)
        if enough and can_spare(table, rule, table.of_vertex[u]):
            lift(table, rule, u, 0)
            is_dropped[u] = True
        else:
            _stand_by(table, rule, truth, u, 1, known)
