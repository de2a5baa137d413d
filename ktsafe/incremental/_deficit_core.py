"""Kernels that count what everybody lacks, exactly, while single vertices move.

The deficit of a vertex is how many members its protection set lacks, harmless ones where it is too
sensitive, and how many real ones, if it is real and its class has them. It is zero for everybody
where everybody is safe and sees as many real ones as it should.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit

from ktsafe.index import _table_core as locations
from ktsafe.index._similar_core import remove, similar_locations
from ktsafe.index._table_core import ALPHA_DEN, ALPHA_NUM, NONE, K, Rule, Table
from ktsafe.working._graph_core import Working, see

# What a missing member counts, against a missing real one.
SAFETY = 2


@njit(cache=True, fastmath=False, nogil=True)
def lacking(rule: Rule, size: int, sensitive: int) -> int:
    """Return how many members a protection set lacks, harmless ones where it is too sensitive."""
    num, den = rule.limits[ALPHA_NUM], rule.limits[ALPHA_DEN]
    return max(0, max(rule.limits[K], (sensitive * den + num - 1) // num) - size)


@njit(cache=True, fastmath=False, nogil=True)
def deficit_with(
    table: Table, rule: Rule, at: int, more: int, more_sensitive: int, more_real: int
) -> int:
    """Return the deficit of all vertices at a location if they saw so many more vertices."""
    total = 0
    if table.population[at] > 0:
        size, sensitive = table.ps_size[at] + more, table.ps_sensitive[at] + more_sensitive
        total += SAFETY * table.population[at] * lacking(rule, size, sensitive)
    if table.real[at] > 0:
        short = table.floor[table.cls[at]] - table.ps_real[at] - more_real
        total += table.real[at] * max(0, short)
    return total


@njit(cache=True, fastmath=False, nogil=True)
def _shift(table: Table, rule: Rule, v: int, at: int, sensitive: int, change: int) -> int:
    """Count a vertex in (+1) or out (-1) at a location; return by how much the deficit grew."""
    real = np.int64(table.is_real[v])
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    found = table.found[0]
    n = similar_locations(table, rule, cls, degree, row, found)
    grown = 0
    for i in range(n):
        grown -= deficit_with(table, rule, found[i], 0, 0, 0)
    table.population[at] += change
    table.sensitive[at] += change * sensitive
    table.real[at] += change * real
    for i in range(n):
        other = found[i]
        table.ps_size[other] += change
        table.ps_sensitive[other] += change * sensitive
        table.ps_real[other] += change * real
        grown += deficit_with(table, rule, other, 0, 0, 0)
    return grown


@njit(cache=True, fastmath=False, nogil=True)
def lift(g: Working, table: Table, rule: Rule, v: int) -> int:
    """Take a placed vertex out of the table; return by how much the deficit grew."""
    at = table.of_vertex[v]
    grown = _shift(table, rule, v, at, np.int64(g.is_sensitive[v]), -1)
    table.of_vertex[v] = NONE
    if table.population[at] == 0:
        remove(table, at)
    return grown


@njit(cache=True, fastmath=False, nogil=True)
def place(g: Working, table: Table, rule: Rule, v: int) -> int:
    """Put a lifted vertex where the graph has it; return by how much the deficit grew."""
    at = locations.locate(table, rule, g.cls[v], g.degree[v], g.hist[v])
    table.of_vertex[v] = at
    return _shift(table, rule, v, at, np.int64(g.is_sensitive[v]), 1)


@njit(cache=True, fastmath=False, nogil=True)
def growth(g: Working, table: Table, rule: Rule, v: int) -> int:
    """Return what `place` would, for a lifted vertex; nothing changes."""
    sensitive, real = np.int64(g.is_sensitive[v]), np.int64(table.is_real[v])
    found = table.found[0]
    grown = 0
    size, size_sensitive, size_real = 1, sensitive, real
    for i in range(similar_locations(table, rule, g.cls[v], g.degree[v], g.hist[v], found)):
        at = found[i]
        grown += deficit_with(table, rule, at, 1, sensitive, real)
        grown -= deficit_with(table, rule, at, 0, 0, 0)
        size += table.population[at]
        size_sensitive += table.sensitive[at]
        size_real += table.real[at]
    grown += SAFETY * lacking(rule, size, size_sensitive)
    return grown + real * max(0, table.floor[g.cls[v]] - size_real)


@njit(cache=True, fastmath=False, nogil=True)
def can_gain(g: Working, table: Table, v: int) -> bool:
    """Whether the table holds one degree more for the class of v."""
    c = g.cls[v]
    return g.degree[v] + 1 < table.bucket_start[c + 1] - table.bucket_start[c]


@njit(cache=True, fastmath=False, nogil=True)
def turn(g: Working, v: int, lost: int, gained: int) -> None:
    """Let v see `gained` instead of `lost`, either of which may be NONE; the table is not asked."""
    if lost != NONE:
        see(g, v, lost, -1)
    if gained != NONE:
        see(g, v, gained, 1)


@njit(cache=True, fastmath=False, nogil=True)
def exchange(g: Working, table: Table, rule: Rule, v: int, lost: int, gained: int) -> int:
    """Let v see `gained` instead of `lost`, in graph and table; return the deficit's growth."""
    grown = lift(g, table, rule, v)
    turn(g, v, lost, gained)
    return grown + place(g, table, rule, v)


@njit(cache=True, fastmath=False, nogil=True)
def exchange_if_borne(g: Working, table: Table, rule: Rule, v: int, lost: int, gained: int) -> bool:
    """Do what `exchange` does if the deficit does not grow; say whether."""
    grown = lift(g, table, rule, v)
    turn(g, v, lost, gained)
    is_borne = grown + growth(g, table, rule, v) <= 0
    if not is_borne:
        turn(g, v, gained, lost)
    place(g, table, rule, v)
    return is_borne
