"""Kernels that take back what is not needed, or no longer harmless, one by one."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.incremental._deficit_core import lacking
from ktsafe.index import _table_core as locations
from ktsafe.index._similar_core import similar_locations
from ktsafe.index._table_core import Rule, Table
from ktsafe.polish._trimming_core import withdraw_if_safe
from ktsafe.working._graph_core import Working


@njit(cache=True, fastmath=False, nogil=True)
def withdraw_each(g: Working, table: Table, rule: Rule, positions: NDArray[np.int64]) -> int:
    """Take back the inserted edges at some positions, each if nobody needs it; return how many.

    Positions descend, since the last edge of the list fills the gap of one that is withdrawn.
    """
    row = np.zeros(table.hist.shape[1], dtype=np.int32)
    taken = 0
    for at in positions:
        taken += withdraw_if_safe(g, table, rule, at, row)
    return taken


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
