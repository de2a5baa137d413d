"""The kernel that finds who would be similar to a vertex after the least change.

Where a vertex cannot go anywhere without leaving others alone, somebody comes to it: a vertex of
its class that only just is not similar to it, from a place that can do without.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.incremental._deficit_core import deficit_with, lift, place
from ktsafe.index._similar_core import similar_locations
from ktsafe.index._table_core import T_DEN, T_NUM, WIDTH, K, Rule, Table
from ktsafe.working._graph_core import Working

# How many of the nearest are looked at for each that may be invited.
ASKED_EACH = 4


@njit(cache=True, fastmath=False, nogil=True)
def _neighbours_apart(
    rule: Rule, mine: NDArray[np.int32], n_mine: int, theirs: NDArray[np.int32], n_theirs: int
) -> int:
    """Return about how many neighbours one of two must exchange or get to be similar; 0: it is.

    Exchanging one changes the sum of differences in an attribute by twice the other's size.
    """
    bound = 2 * rule.limits[T_NUM] * np.int64(n_mine) * np.int64(n_theirs) // rule.limits[T_DEN]
    step = 2 * np.int64(max(n_mine, n_theirs))
    most = max(0, abs(n_mine - n_theirs) - rule.limits[WIDTH])
    for j in range(len(rule.offsets) - 1):
        apart = np.int64(0)
        for x in range(rule.offsets[j], rule.offsets[j + 1]):
            apart += abs(np.int64(mine[x]) * n_theirs - np.int64(theirs[x]) * n_mine)
        most = max(most, (max(0, apart - bound) + step - 1) // step)
    return most


@njit(cache=True, fastmath=False, nogil=True)
def _nearest(
    g: Working,
    table: Table,
    rule: Rule,
    members: NDArray[np.int32],
    v: int,
    most: int,
    nearest: NDArray[np.int64],
) -> int:
    """Write which members of v's class are nearest to being similar to it; return how many.

    At most `most` neighbours away, and not one of exactly k, who would be missed.
    """
    apart = np.empty(len(nearest), dtype=np.int64)
    n = 0
    for whose in members:
        u = np.int64(whose)
        if u == v or table.ps_size[table.of_vertex[u]] == rule.limits[K]:
            continue
        far = _neighbours_apart(rule, g.hist[v], g.degree[v] + 1, g.hist[u], g.degree[u] + 1)
        if far == 0 or far > most or (n == len(nearest) and far >= apart[n - 1]):
            continue
        at = min(n, len(nearest) - 1)
        n = at + 1
        while at > 0 and apart[at - 1] > far:
            apart[at], nearest[at] = apart[at - 1], nearest[at - 1]
            at -= 1
        apart[at], nearest[at] = far, u
    return n


@njit(cache=True, fastmath=False, nogil=True)
def _welcome(g: Working, table: Table, rule: Rule, v: int) -> int:
    """Return by how much the deficit would grow, below zero, if one more were where v is."""
    found = table.found[0]
    grown = 0
    for i in range(similar_locations(table, rule, g.cls[v], g.degree[v], g.hist[v], found)):
        grown += deficit_with(table, rule, found[i], 1, 0, 1)
        grown -= deficit_with(table, rule, found[i], 0, 0, 0)
    return grown


@njit(cache=True, fastmath=False, nogil=True)
def invite(
    g: Working,
    table: Table,
    rule: Rule,
    members: NDArray[np.int32],
    v: int,
    most: int,
    invited: NDArray[np.int32],
) -> int:
    """Write who of the members of v's class may come to where v is; return how many.

    They are not similar to v yet, at most `most` neighbours away, nearest first, and are missed
    less where they are than they are wanted there.
    """
    nearest = np.empty(ASKED_EACH * len(invited), dtype=np.int64)
    welcome = _welcome(g, table, rule, v)
    n = 0
    for i in range(_nearest(g, table, rule, members, v, most, nearest)):
        u = nearest[i]
        lifted = lift(g, table, rule, u)
        place(g, table, rule, u)
        if n < len(invited) and lifted + welcome < 0:
            invited[n] = u
            n += 1
    return n
