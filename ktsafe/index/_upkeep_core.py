"""Kernels that keep the location table in step with a working graph."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit

from ktsafe.index import _table_core as locations
from ktsafe.index._table_core import NONE, Rule, Table
from ktsafe.working._graph_core import N, Working


@njit(cache=True, fastmath=False, nogil=True)
def is_settled(g: Working, table: Table, v: int) -> bool:
    """Whether the table has a vertex where it is."""
    at = table.of_vertex[v]
    if at == NONE or table.cls[at] != g.cls[v] or table.degree[at] != g.degree[v]:
        return False
    for x in range(table.hist.shape[1]):  # noqa: SIM110 -- numba compiles no generator
        if table.hist[at, x] != g.hist[v, x]:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def refresh(g: Working, table: Table, rule: Rule) -> None:
    """Move every vertex that is not where the table has it."""
    for v in range(g.size[N]):
        if is_settled(g, table, v):
            continue
        sensitive = np.int64(g.is_sensitive[v])
        if table.of_vertex[v] != NONE:
            locations.lift(table, rule, v, sensitive)
        locations.place(table, rule, v, g.cls[v], g.degree[v], g.hist[v], sensitive)
