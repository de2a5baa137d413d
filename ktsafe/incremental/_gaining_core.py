"""The kernel that tells what a further neighbour would do, for every class of neighbours at once.

A vertex that gets a neighbour looks for the class of it that serves everybody best. To compare each
result with all locations within reach is nearly the same work again and again: the results differ
in one neighbour. So locations are looked through once, for whatever could be similar to any of the
results, and each of these is told apart exactly, value by value.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.incremental._deficit_core import SAFETY, deficit_with, lacking
from ktsafe.index._similar_core import (
    FEW,
    NONE,
    PRODUCT_MAX,
    T_DEN,
    T_NUM,
    Rule,
    Table,
    _is_beyond_box,
    _is_within,
    _mark,
    degree_span,
)
from ktsafe.working._graph_core import Working

# Rows of the sums by class: what the deficit grows by, and who is similar.
GROWN, SIZE, SENSITIVE, REAL = range(4)


@njit(cache=True, fastmath=False, nogil=True)
def _reachable(
    table: Table,
    rule: Rule,
    cls: int,
    degree: int,
    row: NDArray[np.int32],
    found: NDArray[np.int32],
) -> int:
    """Write every location that may be similar to a row with one more neighbour; return how many.

    One neighbour more changes the sum of differences in each attribute by at most the size of the
    other neighbourhood, so that much more is let pass.
    """
    top = 0
    mine, num, den = np.int64(degree + 2), rule.limits[T_NUM], rule.limits[T_DEN]
    offsets = rule.offsets
    low, high = degree_span(table, rule, cls, degree + 1, degree + 1)
    for d in range(low, high + 1):
        theirs = np.int64(d + 1)
        bound = 2 * num * mine * theirs // den + theirs
        sizes = (mine, theirs)
        is_wide = mine * theirs > PRODUCT_MAX or bound > 2 * PRODUCT_MAX
        block = table.bucket_head[table.bucket_start[cls] + d]
        while block != NONE:
            count = table.block_count[block]
            if count <= FEW or is_wide:
                for lane in range(count):
                    other = table.block_rows[block, lane]
                    if _is_within(offsets, table.hist, other, row, sizes, bound):
                        found[top] = other
                        top += 1
            # The sizes differ by one neighbour, which the box must be allowed, too.
            elif not _is_beyond_box(
                offsets, table.block_low, table.block_high, block, row, sizes, bound + theirs
            ) and _mark(
                offsets, table.block_hist, block, row, sizes, bound, table.marks, table.total
            ):
                for lane in range(count):
                    if table.marks[lane]:
                        found[top] = table.block_rows[block, lane]
                        top += 1
            block = table.block_next[block]
    return top


@njit(cache=True, fastmath=False, nogil=True)
def _bearing_columns(
    table: Table,
    rule: Rule,
    at: int,
    row: NDArray[np.int32],
    mine: int,
    is_near: NDArray[np.bool_],
) -> bool:
    """Mark the columns in which a neighbour more leaves a row within t of a location.

    Returns False where some attribute has none.
    """
    theirs = np.int64(table.degree[at]) + 1
    bound = 2 * rule.limits[T_NUM] * mine * theirs // rule.limits[T_DEN]
    for j in range(len(rule.offsets) - 1):
        apart = np.int64(0)
        for x in range(rule.offsets[j], rule.offsets[j + 1]):
            apart += abs(np.int64(row[x]) * theirs - np.int64(table.hist[at, x]) * mine)
        some = False
        for x in range(rule.offsets[j], rule.offsets[j + 1]):
            before = np.int64(row[x]) * theirs - np.int64(table.hist[at, x]) * mine
            is_near[x] = apart - abs(before) + abs(before + theirs) <= bound
            some = some or is_near[x]
        if not some:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def growth_by_class(
    g: Working,
    table: Table,
    rule: Rule,
    v: int,
    sums: NDArray[np.int64],
    is_near: NDArray[np.bool_],
) -> None:
    """Write what `growth` would be if a lifted v had one more neighbour, by its class.

    Parameters
    ----------
    sums:
        int64, shape (4, classes): row `GROWN` is the result.
    is_near:
        bool, shape (columns,): scratch.
    """
    q = len(rule.offsets) - 1
    sensitive, real = np.int64(g.is_sensitive[v]), np.int64(table.is_real[v])
    sums[GROWN, :], sums[SIZE, :] = 0, 1
    sums[SENSITIVE, :], sums[REAL, :] = sensitive, real
    row, mine, found = g.hist[v], np.int64(g.degree[v]) + 2, table.found[0]
    for i in range(_reachable(table, rule, g.cls[v], g.degree[v], row, found)):
        at = found[i]
        if not _bearing_columns(table, rule, at, row, mine, is_near):
            continue
        grown = deficit_with(table, rule, at, 1, sensitive, real)
        grown -= deficit_with(table, rule, at, 0, 0, 0)
        for c in range(sums.shape[1]):
            is_similar = True
            for j in range(q):
                is_similar = is_similar and is_near[g.columns[c, j]]
            if is_similar:
                sums[GROWN, c] += grown
                sums[SIZE, c] += table.population[at]
                sums[SENSITIVE, c] += table.sensitive[at]
                sums[REAL, c] += table.real[at]
    floor = table.floor[g.cls[v]]
    for c in range(sums.shape[1]):
        sums[GROWN, c] += SAFETY * lacking(rule, sums[SIZE, c], sums[SENSITIVE, c])
        sums[GROWN, c] += real * max(0, floor - sums[REAL, c])
