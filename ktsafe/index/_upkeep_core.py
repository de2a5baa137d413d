"""Kernels that keep the location index in step with a working graph."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index import _table_core as locations
from ktsafe.index._similar_core import count_kinds, create, enter_block, find
from ktsafe.index._table_core import NONE, Rule, Table
from ktsafe.working._graph_core import N, Working

# Positions in the counts that `refresh` returns: vertices that were moved, locations opened.
MOVED, OPENED = range(2)


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
def refresh(g: Working, table: Table, rule: Rule, is_moved: NDArray[np.bool_]) -> tuple[int, int]:
    """Move every vertex that is not where the table has it, and mark it in `is_moved`.

    Returns how many vertices were moved, and how many locations were opened for them.
    """
    moved, opened = 0, 0
    for v in range(g.size[N]):
        if is_settled(g, table, v):
            continue
        sensitive = np.int64(g.is_sensitive[v])
        if table.of_vertex[v] != NONE:
            locations.lift(table, rule, v, sensitive)
        opened += find(table, g.cls[v], g.degree[v], g.hist[v]) == NONE
        locations.place(table, rule, v, g.cls[v], g.degree[v], g.hist[v], sensitive)
        is_moved[v] = True
        moved += 1
    return moved, opened


@njit(cache=True, fastmath=False, nogil=True)
def lift_all(
    table: Table, rule: Rule, vertices: NDArray[np.int32], was_sensitive: NDArray[np.bool_]
) -> None:
    """Take vertices out of the table, as far as they are in it."""
    for i in range(len(vertices)):
        if table.of_vertex[vertices[i]] != NONE:
            locations.lift(table, rule, vertices[i], np.int64(was_sensitive[i]))


@njit(cache=True, fastmath=False, nogil=True)
def in_block_order(table: Table, order: NDArray[np.int32]) -> int:
    """Write the locations bucket by bucket, as the blocks chain them; return how many there are."""
    top = 0
    for bucket in range(len(table.bucket_head)):
        block = table.bucket_head[bucket]
        while block != NONE:
            for lane in range(table.block_count[block]):
                order[top] = table.block_rows[block, lane]
                top += 1
            block = table.block_next[block]
    return top


@njit(cache=True, fastmath=False, nogil=True)
def restore(
    g: Working,
    table: Table,
    rule: Rule,
    of_vertex: NDArray[np.int32],
    order: NDArray[np.int32],
    free: NDArray[np.int32],
) -> bool:
    """Fill an empty table so that rows and blocks are those that were saved; counts are counted.

    Returns False where the parts do not fit each other.
    """
    is_named = np.zeros(len(table.cls), dtype=np.bool_)
    for v in range(len(of_vertex)):
        at = of_vertex[v]
        if at < 0 or at >= len(table.cls):
            return False
        if not is_named[at]:
            is_named[at] = True
            # `create` takes what is on top of the free rows.
            table.free[table.tops[0] - 1] = at
            create(table, g.cls[v], g.degree[v], g.hist[v])
        table.of_vertex[v] = at
        if not is_settled(g, table, v):
            return False
        table.population[at] += 1
        table.sensitive[at] += g.is_sensitive[v]
        table.real[at] += table.is_real[v]
    if table.tops[0] != len(free) or is_named.sum() != len(order):
        return False
    for i in range(len(free)):
        if is_named[free[i]]:
            return False
        table.free[i] = free[i]
    # Only the first block of a bucket may have room: entered backwards, full ones come last.
    for i in range(len(order) - 1, -1, -1):
        if not is_named[order[i]]:
            return False
        is_named[order[i]] = False
    _enter_backwards(table, order)
    for at in order:
        table.ps_size[at], table.ps_sensitive[at], table.ps_real[at] = count_kinds(
            table, rule, table.cls[at], table.degree[at], table.hist[at]
        )
    return True


@njit(cache=True, fastmath=False, nogil=True)
def _enter_backwards(table: Table, order: NDArray[np.int32]) -> None:
    """Enter locations into blocks so that `in_block_order` gives the same order again.

    The blocks of a bucket are entered from the last to the first, each from its first lane on.
    """
    end = len(order)
    while end > 0:
        at = order[end - 1]
        start = end
        while (
            start > 0
            and table.cls[order[start - 1]] == table.cls[at]
            and table.degree[order[start - 1]] == table.degree[at]
        ):
            start -= 1
        _enter_bucket(table, order[start:end])
        end = start


@njit(cache=True, fastmath=False, nogil=True)
def _enter_bucket(table: Table, order: NDArray[np.int32]) -> None:
    """Enter the locations of one bucket: all blocks but the first are full."""
    lanes = table.block_rows.shape[1]
    end = len(order)
    while end > 0:
        start = max(0, end - lanes)
        for i in range(start, end):
            enter_block(table, order[i])
        end = start
