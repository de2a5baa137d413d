"""Kernels that hand inserted edges from one vertex to another of its class.

To the neighbour at the other end nothing happens: it sees u where it saw v. What v had too much is
then u's, who bears it, or lets go of another inserted neighbour, who bears that: an alternating
path, as in matching theory. Whether somebody bears something is decided by the exact deficit of
everybody. What was done is recorded, so that it can be undone where a path ends nowhere.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.incremental._deficit_core import (
    can_gain,
    exchange,
    exchange_if_borne,
    growth,
    lift,
    place,
    turn,
)
from ktsafe.index._table_core import NONE, Rule, Table
from ktsafe.working._graph_core import (
    INSERTED,
    SLOTS_USED,
    Working,
    forget_edge,
    has_edge,
    remember_edge,
)
from ktsafe.working._random_core import below

# Inserted edges of a vertex that it may let go of, and members of its class that are asked.
OWN_MAX = 6
ASKED_MAX = 400
# Ends are compared one by one, since numba knows no `in` for tuples of several kinds of numbers.

# Kinds of steps in the record of a turn.
TURNED, HANDED, WITHDRAWN, ADDED = range(4)


class Scene(NamedTuple):
    """Who is there, and which inserted edges are whose.

    `members[start[c]:start[c + 1]]` are the vertices of class c. `edges[edge_start[v]:...]` are
    positions in the list of inserted edges that were v's at the beginning; those marked in
    `is_gone` are no edges any more. `steps[:n_steps[0]]` records the turn that is being done, as
    (kind, which vertex or edge, from, to), so that it can be undone. `sums` (4, classes) and
    `is_near` (columns) are scratch for `growth_by_class`.
    """

    members: NDArray[np.int32]
    start: NDArray[np.int64]
    edges: NDArray[np.int64]
    edge_start: NDArray[np.int64]
    is_gone: NDArray[np.bool_]
    steps: NDArray[np.int64]
    n_steps: NDArray[np.int64]
    sums: NDArray[np.int64]
    is_near: NDArray[np.bool_]


@njit(cache=True, fastmath=False, nogil=True)
def edges_by_end(
    g: Working,
    is_gone: NDArray[np.bool_],
    start: NDArray[np.int64],
    edges: NDArray[np.int64],
) -> None:
    """Group the positions of inserted edges that are not gone by both ends.

    `start` has n + 1 items, `edges` at least two for each edge.
    """
    start[:] = 0
    for i in range(g.size[INSERTED]):
        if not is_gone[i]:
            start[g.inserted[i, 0]] += 1
            start[g.inserted[i, 1]] += 1
    for v in range(1, len(start)):
        start[v] += start[v - 1]
    for i in range(g.size[INSERTED] - 1, -1, -1):
        for side in range(0 if is_gone[i] else 2):
            v = g.inserted[i, side]
            start[v] -= 1
            edges[start[v]] = i


@njit(cache=True, fastmath=False, nogil=True)
def is_crowded(g: Working) -> bool:
    """Whether the edge set is so full of edges and of gaps that they left that it must be renewed.

    What is undone leaves gaps too, so their number follows from the tries, not from the turns.
    """
    return 4 * g.size[SLOTS_USED] > 3 * len(g.edge_slots)


@njit(cache=True, fastmath=False, nogil=True)
def other_end(g: Working, s: Scene, i: int, v: int) -> int:
    """Return the other end of inserted edge i, NONE if it is no longer v's."""
    if s.is_gone[i]:
        return NONE
    one, other = np.int64(g.inserted[i, 0]), np.int64(g.inserted[i, 1])
    if one == v:
        return other
    return one if other == v else NONE


@njit(cache=True, fastmath=False, nogil=True)
def _record(s: Scene, kind: int, which: int, before: int, after: int) -> None:
    top = s.n_steps[0]
    s.steps[top, 0], s.steps[top, 1] = kind, which
    s.steps[top, 2], s.steps[top, 3] = before, after
    s.n_steps[0] += 1


@njit(cache=True, fastmath=False, nogil=True)
def _bears(g: Working, table: Table, rule: Rule, s: Scene, v: int, lost: int, gained: int) -> bool:
    """Let v see `gained` instead of `lost` if the deficit does not grow; say whether."""
    if not exchange_if_borne(g, table, rule, v, lost, gained):
        return False
    _record(s, TURNED, v, lost, gained)
    return True


@njit(cache=True, fastmath=False, nogil=True)
def _hand_over(g: Working, s: Scene, i: int, v: int, u: int) -> None:
    """Let inserted edge i be u's instead of v's; the other end sees a vertex of the same class."""
    side = 0 if g.inserted[i, 0] == v else 1
    x = g.inserted[i, 1 - side]
    forget_edge(g, v, x)
    remember_edge(g, u, x)
    g.inserted[i, side] = u
    _record(s, HANDED, i, v, u)


@njit(cache=True, fastmath=False, nogil=True)
def _withdraw(g: Working, s: Scene, i: int) -> None:
    forget_edge(g, g.inserted[i, 0], g.inserted[i, 1])
    s.is_gone[i] = True
    _record(s, WITHDRAWN, i, NONE, NONE)


@njit(cache=True, fastmath=False, nogil=True)
def _add(g: Working, s: Scene, u: int, v: int) -> None:
    i = g.size[INSERTED]
    remember_edge(g, u, v)
    g.inserted[i, 0], g.inserted[i, 1] = u, v
    g.size[INSERTED] = i + 1
    s.is_gone[i] = False
    _record(s, ADDED, i, NONE, NONE)


@njit(cache=True, fastmath=False, nogil=True)
def undo(g: Working, table: Table, rule: Rule, s: Scene, n: int) -> None:
    """Take back all recorded steps but the first n, the last one first."""
    while s.n_steps[0] > n:
        s.n_steps[0] -= 1
        kind, which, before, after = s.steps[s.n_steps[0]]
        if kind == TURNED:
            exchange(g, table, rule, which, after, before)
        elif kind == HANDED:
            _hand_over(g, s, which, after, before)
            s.n_steps[0] -= 1
        elif kind == WITHDRAWN:
            remember_edge(g, g.inserted[which, 0], g.inserted[which, 1])
            s.is_gone[which] = False
        else:
            # Nothing was added after it that is still there, so it is the last of the list.
            forget_edge(g, g.inserted[which, 0], g.inserted[which, 1])
            g.size[INSERTED] -= 1


@njit(cache=True, fastmath=False, nogil=True)
def _takes(g: Working, table: Table, rule: Rule, s: Scene, u: int, v: int, i: int, x: int) -> bool:
    """Let u take edge i, from v to x, if it bears that, or lets go of another that is borne."""
    if u == v or u == x or has_edge(g, u, x) or not can_gain(g, table, u):  # noqa: PLR1714, SIM109
        return False
    grown = lift(g, table, rule, u)
    turn(g, u, NONE, x)
    if grown + growth(g, table, rule, u) <= 0:
        place(g, table, rule, u)
        _record(s, TURNED, u, NONE, x)
        _hand_over(g, s, i, v, u)
        return True
    for at in range(s.edge_start[u], min(s.edge_start[u + 1], s.edge_start[u] + OWN_MAX)):
        b = s.edges[at]
        y = other_end(g, s, b, u)
        if y == NONE or y == v or y == x:  # noqa: PLR1714, SIM109
            continue
        turn(g, u, y, NONE)
        if grown + growth(g, table, rule, u) <= 0:
            place(g, table, rule, u)
            if _bears(g, table, rule, s, y, u, NONE):
                _record(s, TURNED, u, y, x)
                _withdraw(g, s, b)
                _hand_over(g, s, i, v, u)
                return True
            lift(g, table, rule, u)
        turn(g, u, NONE, y)
    turn(g, u, x, NONE)
    place(g, table, rule, u)
    return False


@njit(cache=True, fastmath=False, nogil=True)
def lets_go(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    v: int,
    i: int,
    random: NDArray[np.uint64],
) -> bool:
    """Free v, which has turned already, of inserted edge i; say whether somebody bears that."""
    x = other_end(g, s, i, v)
    if _bears(g, table, rule, s, x, v, NONE):
        _withdraw(g, s, i)
        return True
    first, last = s.start[g.cls[v]], s.start[g.cls[v] + 1]
    offset = below(random, last - first)
    for step in range(min(last - first, ASKED_MAX)):
        u = np.int64(s.members[first + (offset + step) % (last - first)])
        if _takes(g, table, rule, s, u, v, i, x):
            return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def gets(
    g: Working,
    table: Table,
    rule: Rule,
    s: Scene,
    v: int,
    i: int,
    cls: int,
    random: NDArray[np.uint64],
) -> bool:
    """Let v, which has turned already, have a neighbour of `cls` from another u of its own class.

    For it u takes edge i, unless that is NONE. Returns whether there was such a u.
    """
    x = NONE if i == NONE else other_end(g, s, i, v)
    first, last = s.start[g.cls[v]], s.start[g.cls[v] + 1]
    offset = below(random, last - first)
    for step in range(min(last - first, ASKED_MAX)):
        u = np.int64(s.members[first + (offset + step) % (last - first)])
        if u == v or u == x or (x != NONE and has_edge(g, u, x)):  # noqa: PLR1714, SIM109
            continue
        for at in range(s.edge_start[u], s.edge_start[u + 1]):
            b = s.edges[at]
            y = other_end(g, s, b, u)
            if y == NONE or y == v or y == x or g.cls[y] != cls:  # noqa: PLR1714, SIM109
                continue
            if has_edge(g, v, y):
                continue
            if _bears(g, table, rule, s, u, y, x):
                if i != NONE:
                    _hand_over(g, s, i, v, u)
                _hand_over(g, s, b, u, v)
                return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def meets(
    g: Working, table: Table, rule: Rule, s: Scene, v: int, cls: int, random: NDArray[np.uint64]
) -> bool:
    """Let v, which has turned already, have a new edge to somebody of `cls` who bears it."""
    first, last = s.start[cls], s.start[cls + 1]
    offset = below(random, last - first)
    for step in range(min(last - first, ASKED_MAX)):
        y = np.int64(s.members[first + (offset + step) % (last - first)])
        if y == v or has_edge(g, v, y) or not can_gain(g, table, y):
            continue
        if _bears(g, table, rule, s, y, NONE, v):
            _add(g, s, v, y)
            return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def own_edges(
    g: Working, s: Scene, v: int, own: NDArray[np.int64], random: NDArray[np.uint64]
) -> int:
    """Write up to `OWN_MAX` inserted edges of v, from a random one on; return how many."""
    first, length = s.edge_start[v], s.edge_start[v + 1] - s.edge_start[v]
    offset = below(random, max(length, 1))
    top = 0
    for step in range(length):
        i = s.edges[first + (offset + step) % length]
        if top < OWN_MAX and other_end(g, s, i, v) != NONE:
            own[top] = i
            top += 1
    return top
