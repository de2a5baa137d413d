"""Kernels of the location index: where a neighbourhood is, and which others are within t of it.

Locations of one class and degree stand in blocks of `LANES`, each column of a block side by side,
so that one instruction compares a neighbourhood with many. Each block knows the least and greatest
count of each column, its box: a neighbourhood that is too far from the box is far from all inside.
Validation and capacities are the caller's.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.working._hashing_core import location_chain

NONE = -1
# Locations of a block.
LANES = 16
# Up to this many locations of a block are compared one by one.
FEW = 2
# Products of two sizes up to this are summed up in 32 bits, which is twice as fast.
PRODUCT_MAX = (1 << 30) - 1

# Positions in `Rule.limits`.
WIDTH, T_NUM, T_DEN, K, ALPHA_NUM, ALPHA_DEN, RESERVE, FLOOR = range(8)
# Positions in `Table.tops`.
FREE_ROWS, FREE_BLOCK, BLOCKS_USED = range(3)


class Rule(NamedTuple):
    """When two vertices are similar and a protection set suffices, in whole numbers.

    `offsets` (q + 1) bounds the columns of each quasi-identifier in a histogram row; `limits`
    holds the greatest degree difference, t and alpha as fractions, k, how many further sensitive
    vertices a new cohort should be able to bear, and how many real members one with any should
    have.
    """

    offsets: NDArray[np.int64]
    limits: NDArray[np.int64]


class Table(NamedTuple):
    """Distinct (class, degree, histogram) with counts, hashed, and in blocks by (class, degree).

    Rows 0..capacity-1 are locations; `free[:tops[FREE_ROWS]]` are unused ones. Bucket
    `bucket_start[c] + degree` is the first block of that degree in class c, so degrees up to
    `bucket_start[c + 1] - bucket_start[c] - 1` fit; `block_next` leads to the next, and all but
    the first are full. `block_rows[b, :block_count[b]]` are the locations of block b, whose counts
    are in `block_hist[b, column]` and within `block_low[b]` and `block_high[b]`; `cell` is block
    times `LANES` plus lane. `of_vertex` is NONE for a lifted vertex. `real` and `ps_real` count
    the vertices that `is_real` says are nobody's invention; those of class c should see at least
    `floor[c]` of their kind. `marks` and `total` are scratch for a block, `found` (2, rows) and
    `flags` (zero between uses) for what is similar.
    """

    cls: NDArray[np.int32]
    degree: NDArray[np.int32]
    hist: NDArray[np.int32]
    population: NDArray[np.int32]
    sensitive: NDArray[np.int32]
    real: NDArray[np.int32]
    ps_size: NDArray[np.int32]
    ps_sensitive: NDArray[np.int32]
    ps_real: NDArray[np.int32]
    floor: NDArray[np.int64]
    is_real: NDArray[np.bool_]
    hash_head: NDArray[np.int32]
    hash_next: NDArray[np.int32]
    cell: NDArray[np.int64]
    bucket_start: NDArray[np.int64]
    bucket_head: NDArray[np.int32]
    block_next: NDArray[np.int32]
    block_count: NDArray[np.int32]
    block_rows: NDArray[np.int32]
    block_hist: NDArray[np.int32]
    block_low: NDArray[np.int32]
    block_high: NDArray[np.int32]
    free: NDArray[np.int32]
    tops: NDArray[np.int64]
    of_vertex: NDArray[np.int32]
    marks: NDArray[np.int32]
    total: NDArray[np.int32]
    found: NDArray[np.int32]
    flags: NDArray[np.int8]


@njit(cache=True, fastmath=False, nogil=True)
def similar(
    rule: Rule,
    a: NDArray[np.int32],
    n_a: int,
    b: NDArray[np.int32],
    n_b: int,
) -> bool:
    """Whether two closed histograms of equal class are within t, attribute by attribute.

    Exact: sum |a n_b - b n_a| <= 2 t n_a n_b on integers (Definition 3). Degrees are compared by
    the caller, who scans only the degrees within reach.
    """
    bound = 2 * rule.limits[T_NUM] * np.int64(n_a) * np.int64(n_b)
    denominator = rule.limits[T_DEN]
    for j in range(len(rule.offsets) - 1):
        total = np.int64(0)
        for x in range(rule.offsets[j], rule.offsets[j + 1]):
            total += abs(np.int64(a[x]) * n_b - np.int64(b[x]) * n_a)
        if total * denominator > bound:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def degree_span(table: Table, rule: Rule, cls: int, low: int, high: int) -> tuple[int, int]:
    """Return the degrees within reach of [low, high] for which class `cls` has blocks."""
    cap = table.bucket_start[cls + 1] - table.bucket_start[cls] - 1
    return max(0, low - rule.limits[WIDTH]), min(cap, high + rule.limits[WIDTH])


@njit(cache=True, fastmath=False, nogil=True)
def _is_within(
    offsets: NDArray[np.int64],
    hist: NDArray[np.int32],
    at: int,
    row: NDArray[np.int32],
    sizes: tuple[int, int],
    bound: int,
) -> bool:
    """Whether location `at` is within `bound` of a row, in each attribute."""
    mine, theirs = sizes
    for j in range(len(offsets) - 1):
        total = np.int64(0)
        for x in range(offsets[j], offsets[j + 1]):
            total += abs(np.int64(row[x]) * theirs - np.int64(hist[at, x]) * mine)
        if total > bound:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def _is_beyond_box(
    offsets: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    block: int,
    row: NDArray[np.int32],
    sizes: tuple[int, int],
    bound: int,
) -> bool:
    """Whether `row` is farther than `bound` from everything inside the box of a block.

    Both histograms sum up to the same after scaling, so that what is above equals what is below,
    and the distance is at least twice the greater of both.
    """
    mine, theirs = sizes
    for j in range(len(offsets) - 1):
        above, below = np.int64(0), np.int64(0)
        for x in range(offsets[j], offsets[j + 1]):
            scaled = np.int64(row[x]) * theirs
            above += max(np.int64(0), scaled - np.int64(high[block, x]) * mine)
            below += max(np.int64(0), np.int64(low[block, x]) * mine - scaled)
        if 2 * max(above, below) > bound:
            return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def _mark(
    offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    block: int,
    row: NDArray[np.int32],
    sizes: tuple[int, int],
    bound: int,
    marks: NDArray[np.int32],
    total: NDArray[np.int32],
) -> bool:
    """Mark the lanes of a block within `bound` of a row; whether there are any."""
    limit, scale, theirs = np.int32(bound), np.int32(sizes[0]), np.int32(sizes[1])
    for lane in range(LANES):
        marks[lane] = 1
    for j in range(len(offsets) - 1):
        for lane in range(LANES):
            total[lane] = 0
        for x in range(offsets[j], offsets[j + 1]):
            # The casts keep the arithmetic in 32 bits, in which more lanes fit an instruction.
            scaled = np.int32(row[x] * theirs)
            for lane in range(LANES):
                apart = np.int32(abs(np.int32(scaled - np.int32(cells[block, x, lane] * scale))))
                total[lane] = np.int32(total[lane] + apart)
        alive = np.int32(0)
        for lane in range(LANES):
            marks[lane] = np.int32(marks[lane] & np.int32(total[lane] <= limit))
            alive = np.int32(alive + marks[lane])
        if alive == 0:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def similar_locations(
    table: Table,
    rule: Rule,
    cls: int,
    degree: int,
    row: NDArray[np.int32],
    found: NDArray[np.int32],
) -> int:
    """Write the locations similar to a neighbourhood into `found`; return how many there are.

    Handing a whole table to a function costs more than comparing a block, so inner functions get
    what they need.
    """
    top = 0
    mine, num, den = np.int64(degree + 1), rule.limits[T_NUM], rule.limits[T_DEN]
    offsets, hist, marks = rule.offsets, table.hist, table.marks
    span_low, span_high = degree_span(table, rule, cls, degree, degree)
    for d in range(span_low, span_high + 1):
        theirs = np.int64(d + 1)
        bound = 2 * num * mine * theirs // den
        block = table.bucket_head[table.bucket_start[cls] + d]
        while block != NONE:
            count = table.block_count[block]
            if count <= FEW or mine * theirs > PRODUCT_MAX:
                for lane in range(count):
                    other = table.block_rows[block, lane]
                    if _is_within(offsets, hist, other, row, (mine, theirs), bound):
                        found[top] = other
                        top += 1
            elif not _is_beyond_box(
                offsets, table.block_low, table.block_high, block, row, (mine, theirs), bound
            ) and _mark(
                offsets, table.block_hist, block, row, (mine, theirs), bound, marks, table.total
            ):
                for lane in range(count):
                    if marks[lane]:
                        found[top] = table.block_rows[block, lane]
                        top += 1
            block = table.block_next[block]
    return top


@njit(cache=True, fastmath=False, nogil=True)
def find(table: Table, cls: int, degree: int, row: NDArray[np.int32]) -> int:
    """Return the location of a (class, degree, histogram), or NONE."""
    at = table.hash_head[location_chain(cls, row, len(table.hash_head))]
    while at != NONE:
        if table.cls[at] == cls and table.degree[at] == degree:
            same = True
            for x in range(len(row)):
                if table.hist[at, x] != row[x]:
                    same = False
                    break
            if same:
                return at
        at = table.hash_next[at]
    return NONE


@njit(cache=True, fastmath=False, nogil=True)
def _set_cell(table: Table, block: int, lane: int, at: int) -> None:
    """Let a lane of a block hold a location, and its box contain it."""
    table.block_rows[block, lane] = at
    table.cell[at] = np.int64(block) * LANES + lane
    for x in range(table.block_hist.shape[1]):
        count = table.hist[at, x]
        table.block_hist[block, x, lane] = count
        table.block_low[block, x] = min(table.block_low[block, x], count)
        table.block_high[block, x] = max(table.block_high[block, x], count)


@njit(cache=True, fastmath=False, nogil=True)
def _open_block(table: Table, bucket: int) -> int:
    """Put an empty block before the others of a bucket."""
    block = table.tops[FREE_BLOCK]
    if block == NONE:
        block = table.tops[BLOCKS_USED]
        table.tops[BLOCKS_USED] += 1
    else:
        table.tops[FREE_BLOCK] = table.block_next[block]
    table.block_next[block] = table.bucket_head[bucket]
    table.bucket_head[bucket] = block
    table.block_count[block] = 0
    table.block_low[block, :] = np.iinfo(np.int32).max
    table.block_high[block, :] = 0
    return block


@njit(cache=True, fastmath=False, nogil=True)
def enter_block(table: Table, at: int) -> None:
    """Put a location into the first block of its class and degree."""
    bucket = table.bucket_start[table.cls[at]] + table.degree[at]
    block = table.bucket_head[bucket]
    if block == NONE or table.block_count[block] == LANES:
        block = _open_block(table, bucket)
    _set_cell(table, block, table.block_count[block], at)
    table.block_count[block] += 1


@njit(cache=True, fastmath=False, nogil=True)
def create(table: Table, cls: int, degree: int, row: NDArray[np.int32]) -> int:
    """Open an absent location without vertices, in no block yet; nothing is counted."""
    table.tops[FREE_ROWS] -= 1
    at = table.free[table.tops[FREE_ROWS]]
    table.cls[at] = cls
    table.degree[at] = degree
    table.hist[at, :] = row
    table.population[at] = 0
    table.sensitive[at] = 0
    table.real[at] = 0
    table.ps_size[at] = 0
    table.ps_sensitive[at] = 0
    table.ps_real[at] = 0
    slot = location_chain(cls, row, len(table.hash_head))
    table.hash_next[at] = table.hash_head[slot]
    table.hash_head[slot] = at
    return at


@njit(cache=True, fastmath=False, nogil=True)
def remove(table: Table, at: int) -> None:
    """Close a location; the last one of its degree's first block takes its place."""
    slot = location_chain(table.cls[at], table.hist[at], len(table.hash_head))
    if table.hash_head[slot] == at:
        table.hash_head[slot] = table.hash_next[at]
    else:
        before = table.hash_head[slot]
        while table.hash_next[before] != at:
            before = table.hash_next[before]
        table.hash_next[before] = table.hash_next[at]
    bucket = table.bucket_start[table.cls[at]] + table.degree[at]
    first = table.bucket_head[bucket]
    last = table.block_rows[first, table.block_count[first] - 1]
    table.block_count[first] -= 1
    if last != at:
        _set_cell(table, table.cell[at] // LANES, table.cell[at] % LANES, last)
    if table.block_count[first] == 0:
        table.bucket_head[bucket] = table.block_next[first]
        table.block_next[first] = table.tops[FREE_BLOCK]
        table.tops[FREE_BLOCK] = first
    table.free[table.tops[FREE_ROWS]] = at
    table.tops[FREE_ROWS] += 1


@njit(cache=True, fastmath=False, nogil=True)
def count_kinds(
    table: Table, rule: Rule, cls: int, degree: int, row: NDArray[np.int32]
) -> tuple[int, int, int]:
    """Return how many vertices, sensitive ones and real ones are similar to a neighbourhood."""
    size, sensitive, real = 0, 0, 0
    found = table.found[0]
    for i in range(similar_locations(table, rule, cls, degree, row, found)):
        size += table.population[found[i]]
        sensitive += table.sensitive[found[i]]
        real += table.real[found[i]]
    return size, sensitive, real
