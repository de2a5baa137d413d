"""Kernels that change single inserted edges at random, at a price for whoever is unsafe.

A change of an edge is judged by its cost and by the deficit of everybody together
(`ktsafe.incremental._deficit_core`), both exact.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe import _locations_core as locations
from ktsafe._location_index_core import similar_locations
from ktsafe._locations_core import NONE, Rule, Table
from ktsafe._random_core import below, uniform
from ktsafe._working_core import INSERTED, Working, forget_edge, has_edge, remember_edge
from ktsafe.incremental._deficit_core import can_gain, deficit, exchange, lacking


class Near(NamedTuple):
    """What may be tried.

    Inserted edges from position `first[0]` of the list on may be withdrawn and rewired.
    `members[start[c]:start[c + 1]]` are the vertices of class c, `focus[focus_start[c]:...]` those
    of them that need something.
    """

    first: NDArray[np.int64]
    members: NDArray[np.int32]
    start: NDArray[np.int64]
    focus: NDArray[np.int32]
    focus_start: NDArray[np.int64]


class Plan(NamedTuple):
    """How to try: how often, at what price per unit of deficit, from which temperature to which.

    `withdraw` and `rewire` are the cumulated shares of these kinds of trials; the others insert.
    """

    trials: int
    price: float
    hot: float
    cold: float
    withdraw: float
    rewire: float


class Terms(NamedTuple):
    """What one unit of deficit costs, what a change may cost at most, and what all lack now."""

    price: float
    most: float
    lacking: int


@njit(cache=True, fastmath=False, nogil=True)
def _exchange(g: Working, table: Table, rule: Rule, v: int, neighbour: int, change: int) -> int:
    """Give v one neighbour more or fewer, in graph and table; return the growth of the deficit."""
    if change > 0:
        return exchange(g, table, rule, v, NONE, neighbour)
    return exchange(g, table, rule, v, neighbour, NONE)


@njit(cache=True, fastmath=False, nogil=True)
def _toggle(
    g: Working, table: Table, rule: Rule, u: int, v: int, change: int, terms: Terms
) -> tuple[bool, int]:
    """Insert (+1) or withdraw (-1) an edge if that pays; say whether, and how the deficit grew.

    The edge set is the caller's to change.
    """
    grown = _exchange(g, table, rule, u, v, change)
    # What happens in another class cannot make up for more than all that is lacking.
    if g.cls[u] != g.cls[v] and change + terms.price * (grown - terms.lacking) > terms.most:
        _exchange(g, table, rule, u, v, -change)
        return False, 0
    grown += _exchange(g, table, rule, v, u, change)
    if change + terms.price * grown <= terms.most:
        return True, grown
    _exchange(g, table, rule, v, u, -change)
    _exchange(g, table, rule, u, v, -change)
    return False, 0


@njit(cache=True, fastmath=False, nogil=True)
def _pass_on(
    g: Working, table: Table, rule: Rule, u: int, ends: tuple[int, int], terms: Terms
) -> tuple[bool, int]:
    """Let the edge from u to `ends[0]` go to `ends[1]`, of the same class, if that pays."""
    v, w = ends
    grown = _exchange(g, table, rule, v, u, -1)
    grown += _exchange(g, table, rule, w, u, 1)
    if terms.price * grown <= terms.most:
        return True, grown
    _exchange(g, table, rule, w, u, -1)
    _exchange(g, table, rule, v, u, 1)
    return False, 0


@njit(cache=True, fastmath=False, nogil=True)
def _try_withdraw(
    g: Working, table: Table, rule: Rule, near: Near, terms: Terms, random: NDArray[np.uint64]
) -> int:
    first, last = near.first[0], g.size[INSERTED] - 1
    if last < first:
        return 0
    at = first + below(random, last + 1 - first)
    u, v = g.inserted[at, 0], g.inserted[at, 1]
    done, grown = _toggle(g, table, rule, u, v, -1, terms)
    if done:
        forget_edge(g, u, v)
        g.inserted[at, 0] = g.inserted[last, 0]
        g.inserted[at, 1] = g.inserted[last, 1]
        g.size[INSERTED] = last
    return grown


@njit(cache=True, fastmath=False, nogil=True)
def _one_of(near: Near, c: int, random: NDArray[np.uint64], focused: bool) -> int:
    """Return a random vertex of class c, one that needs something if there is and `focused`."""
    length = near.focus_start[c + 1] - near.focus_start[c]
    if focused and length > 0:
        return near.focus[near.focus_start[c] + below(random, length)]
    return near.members[near.start[c] + below(random, near.start[c + 1] - near.start[c])]


@njit(cache=True, fastmath=False, nogil=True)
def _try_rewire(
    g: Working, table: Table, rule: Rule, near: Near, terms: Terms, random: NDArray[np.uint64]
) -> int:
    first, last = near.first[0], g.size[INSERTED] - 1
    if last < first:
        return 0
    at = first + below(random, last + 1 - first)
    side = below(random, 2)
    u, v = g.inserted[at, 1 - side], g.inserted[at, side]
    w = _one_of(near, g.cls[v], random, below(random, 2) == 0)
    if w in (u, v) or not can_gain(g, table, w) or has_edge(g, u, w):
        return 0
    done, grown = _pass_on(g, table, rule, u, (v, w), terms)
    if done:
        forget_edge(g, u, v)
        remember_edge(g, u, w)
        g.inserted[at, side] = w
    return grown


@njit(cache=True, fastmath=False, nogil=True)
def _try_insert(
    g: Working, table: Table, rule: Rule, near: Near, terms: Terms, random: NDArray[np.uint64]
) -> int:
    if len(near.focus) == 0:
        return 0
    u = near.focus[below(random, len(near.focus))]
    if below(random, 2) == 0:
        v = near.focus[below(random, len(near.focus))]
    else:
        v = near.members[below(random, len(near.members))]
    if u == v or has_edge(g, u, v) or not (can_gain(g, table, u) and can_gain(g, table, v)):
        return 0
    done, grown = _toggle(g, table, rule, u, v, 1, terms)
    if done:
        remember_edge(g, u, v)
        last = g.size[INSERTED]
        g.inserted[last, 0], g.inserted[last, 1] = u, v
        g.size[INSERTED] = last + 1
    return grown


@njit(cache=True, fastmath=False, nogil=True)
def mend(
    g: Working,
    table: Table,
    rule: Rule,
    near: Near,
    plan: Plan,
    random: NDArray[np.uint64],
) -> tuple[int, int]:
    """Make trials, with a focus only until nobody lacks anything.

    Returns the trials made and the deficit left. There must be room for as many further edges.
    """
    lacking = deficit(table, rule)
    stops = len(near.focus) > 0
    temperature = plan.hot
    cooling = (plan.cold / plan.hot) ** (1.0 / max(plan.trials, 1))
    for step in range(plan.trials):
        if stops and lacking == 0:
            return step, 0
        temperature *= cooling
        most = -temperature * np.log(1.0 - uniform(random))
        terms = Terms(plan.price, most, lacking)
        draw = uniform(random)
        if draw < plan.withdraw:
            lacking += _try_withdraw(g, table, rule, near, terms, random)
        elif draw < plan.rewire:
            lacking += _try_rewire(g, table, rule, near, terms, random)
        else:
            lacking += _try_insert(g, table, rule, near, terms, random)
    return plan.trials, lacking


@njit(cache=True, fastmath=False, nogil=True)
def see_around(
    table: Table, rule: Rule, places: NDArray[np.int32], is_seen: NDArray[np.bool_]
) -> None:
    """Mark the locations that are similar to one of the given ones."""
    found = table.found[0]
    for at in places:
        cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
        for i in range(similar_locations(table, rule, cls, degree, row, found)):
            is_seen[found[i]] = True


@njit(cache=True, fastmath=False, nogil=True)
def calm(table: Table, rule: Rule, first: int, is_sensitive: NDArray[np.bool_]) -> int:
    """Let inserted vertices be harmless whom somebody too sensitive sees; return how many were."""
    calmed = 0
    found = table.found[0]
    for v in range(first, len(is_sensitive)):
        if not is_sensitive[v]:
            continue
        at = table.of_vertex[v]
        cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
        for i in range(similar_locations(table, rule, cls, degree, row, found)):
            other = found[i]
            size, sensitive = table.ps_size[other], table.ps_sensitive[other]
            if lacking(rule, size, sensitive) > lacking(rule, size, 0):
                locations.shift(table, rule, at, 0, -1)
                is_sensitive[v] = False
                calmed += 1
                break
    return calmed
