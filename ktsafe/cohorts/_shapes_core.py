"""Kernels for the shape of a cohort: the neighbourhood that its members can share, and its price.

Members stand in slots, and each column holds the counts of all members side by side, so that one
instruction treats many of them. Slots beyond the members hold zeros, which ask for nothing.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index._table_core import ALPHA_DEN, ALPHA_NUM, FLOOR, RESERVE, T_DEN, T_NUM, K, Rule

# Loops run over whole multiples of this many slots.
SLOTS = 16


class Pool(NamedTuple):
    """The vertices of one class that need a cohort, in descending degree.

    `rows` are closed histograms, `sizes` the number of vertices each counts (degree + 1).
    """

    rows: NDArray[np.int32]
    sizes: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    is_real: NDArray[np.bool_]


class Scratch(NamedTuple):
    """Room for `shape`.

    `base`, `highest` and `payers` have one cell per column, `spent` and `sizes` one per slot,
    `cells` one per column and slot.
    """

    base: NDArray[np.int32]
    highest: NDArray[np.int32]
    payers: NDArray[np.int32]
    spent: NDArray[np.int32]
    cells: NDArray[np.int32]
    sizes: NDArray[np.int32]


@njit(cache=True, fastmath=False, nogil=True)
def slots_for(count: int) -> int:
    """Return the slots that `count` members take: whole multiples of `SLOTS`."""
    return max(1, (count + SLOTS - 1) // SLOTS) * SLOTS


@njit(cache=True, fastmath=False, nogil=True)
def scratch_for(n_columns: int, count: int) -> Scratch:
    """Return room for cohorts of up to `count` members."""
    slots = slots_for(count)
    return Scratch(
        np.zeros(n_columns, dtype=np.int32),
        np.zeros(n_columns, dtype=np.int32),
        np.zeros(n_columns, dtype=np.int32),
        np.zeros(slots, dtype=np.int32),
        np.zeros((n_columns, slots), dtype=np.int32),
        np.zeros(slots, dtype=np.int32),
    )


@njit(cache=True, fastmath=False, nogil=True)
def set_slot(
    pool: Pool, v: int, slot: int, cells: NDArray[np.int32], sizes: NDArray[np.int32]
) -> None:
    """Let a slot hold vertex `v` of the pool."""
    for x in range(cells.shape[0]):
        cells[x, slot] = pool.rows[v, x]
    sizes[slot] = pool.sizes[v]


@njit(cache=True, fastmath=False, nogil=True)
def clear_slot(slot: int, cells: NDArray[np.int32], sizes: NDArray[np.int32]) -> None:
    """Let a slot hold nobody."""
    for x in range(cells.shape[0]):
        cells[x, slot] = 0
    sizes[slot] = 0


@njit(cache=True, fastmath=False, nogil=True)
def _reduce(
    cells: NDArray[np.int32],
    width: int,
    low: int,
    high: int,
    goal: int,
    free: int,
    scratch: Scratch,
) -> int:
    """Lower the base of one attribute towards `goal`; return the sum that was reached.

    Each unit taken from a column charges every member above it one of its `free` neighbours, so
    the column that charges fewest goes first.
    """
    base, payers, spent = scratch.base, scratch.payers, scratch.spent
    blocked = np.int32(width + 1)
    freedom = np.int32(free)
    total = 0
    for x in range(low, high):
        total += base[x]
        top, count = base[x], np.int32(0)
        for i in range(width):
            count += cells[x, i] == top
        payers[x] = blocked if top == 0 else count
    for i in range(width):
        spent[i] = 0
    while total > goal:
        best = low
        for x in range(low + 1, high):
            if payers[x] < payers[best]:
                best = x
        if payers[best] == blocked:
            break
        top, broke = base[best], np.int32(0)
        for i in range(width):
            broke += (cells[best, i] >= top) & (spent[i] >= freedom)
        if broke:
            payers[best] = blocked
            continue
        top = np.int32(top - 1)
        count = np.int32(0)
        for i in range(width):
            spent[i] += cells[best, i] > top
            count += cells[best, i] >= top
        base[best] = top
        total -= 1
        payers[best] = blocked if top == 0 else count
    return total


@njit(cache=True, fastmath=False, nogil=True)
def _fit(
    rule: Rule,
    cells: NDArray[np.int32],
    width: int,
    free: int,
    largest: int,
    scratch: Scratch,
) -> int:
    """Leave in `scratch.base` what members share beside `free` others; return the size needed."""
    base = scratch.base
    size = largest
    for x in range(len(base)):
        base[x] = scratch.highest[x]
    for j in range(len(rule.offsets) - 1):
        low, high = rule.offsets[j], rule.offsets[j + 1]
        total = 0
        for x in range(low, high):
            total += base[x]
        if total + free > size and free > 0:
            total = _reduce(cells, width, low, high, size - free, free, scratch)
        size = max(size, total + free)
    return size


@njit(cache=True, fastmath=False, nogil=True)
def shape_of_slots(
    rule: Rule,
    cells: NDArray[np.int32],
    sizes: NDArray[np.int32],
    count: int,
    scratch: Scratch,
    with_base: bool,
) -> tuple[int, int]:
    """Choose the neighbourhood that the members in slots can share; return size and freedom.

    All members shall have `size` vertices in their neighbourhoods: a common multiset of values
    per attribute, left in `scratch.base`, plus at most `free` = floor(t size) others. Two such
    neighbourhoods differ in at most `free` values, which is half their L1 distance times size,
    so they are similar. Insertion cannot go below what a member has; what exceeds the base is
    counted as its free part. Slots from `count` on hold zeros. Unless `with_base` the base is left
    undefined.
    """
    width = slots_for(count)
    largest = np.int32(0)
    for i in range(width):
        largest = max(largest, sizes[i])
    for x in range(cells.shape[0]):
        highest = np.int32(0)
        for i in range(width):
            highest = max(highest, cells[x, i])
        scratch.highest[x] = highest
    num, den = rule.limits[T_NUM], rule.limits[T_DEN]
    free = largest * num // den
    size = _fit(rule, cells, width, free, largest, scratch)
    # A larger neighbourhood allows more freedom, which may make it smaller again.
    more = size * num // den
    if more > free:
        least = (more * den + num - 1) // num
        smaller = _fit(rule, cells, width, more, max(largest, least), scratch)
        if smaller <= size:
            return smaller, more
        if with_base:
            size = _fit(rule, cells, width, free, largest, scratch)
    return size, free


@njit(cache=True, fastmath=False, nogil=True)
def shape(
    pool: Pool, rule: Rule, members: NDArray[np.int32], count: int, scratch: Scratch
) -> tuple[int, int]:
    """Return size and freedom that the first `count` members can share; see `shape_of_slots`."""
    for i in range(count):
        set_slot(pool, members[i], i, scratch.cells, scratch.sizes)
    for i in range(count, slots_for(count)):
        clear_slot(i, scratch.cells, scratch.sizes)
    return shape_of_slots(rule, scratch.cells, scratch.sizes, count, scratch, True)


@njit(cache=True, fastmath=False, nogil=True)
def lacking(rule: Rule, count: int, sensitive: int) -> int:
    """Return how many non-sensitive vertices a cohort needs to be safe on its own."""
    num, den = rule.limits[ALPHA_NUM], rule.limits[ALPHA_DEN]
    return max(0, max(rule.limits[K], (sensitive * den + num - 1) // num) - count)


@njit(cache=True, fastmath=False, nogil=True)
def lacking_real(rule: Rule, real: int) -> int:
    """Return how many real members a cohort with `real` of them should have more."""
    return max(0, rule.limits[FLOOR] - real) if real > 0 else 0


@njit(cache=True, fastmath=False, nogil=True)
def price(rule: Rule, size: int, count: int, sensitive: int, real: int) -> int:
    """Return twice what a cohort costs, up to a constant: an edge can serve two vertices.

    A cohort whose share of sensitive members is at its limit soon gets a similar neighbour that
    exceeds it; that risk is priced like half a member more. A real member that is lacking is
    priced like one that has to be inserted.
    """
    limits = rule.limits
    inserted = lacking(rule, count, sensitive)
    total = (count + inserted + lacking_real(rule, real)) * size + 2 * inserted
    if (sensitive + limits[RESERVE]) * limits[ALPHA_DEN] > limits[ALPHA_NUM] * (count + inserted):
        total += size // 2
    return total


@njit(cache=True, fastmath=False, nogil=True)
def shapes(
    pool: Pool,
    rule: Rule,
    members: NDArray[np.int32],
    start: NDArray[np.int64],
    bases: NDArray[np.int32],
    sizes: NDArray[np.int64],
    frees: NDArray[np.int64],
) -> None:
    """Write the shape of each cohort `members[start[c]:start[c + 1]]` into row c of the rest."""
    longest = 0
    for c in range(len(sizes)):
        longest = max(longest, start[c + 1] - start[c])
    scratch = scratch_for(pool.rows.shape[1], longest)
    for c in range(len(sizes)):
        group = members[start[c] : start[c + 1]]
        sizes[c], frees[c] = shape(pool, rule, group, len(group), scratch)
        bases[c, :] = scratch.base
