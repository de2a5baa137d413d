"""Kernels of a location table laid out by columns, for millions of single-edge trials.

It answers the same question as the location table (`_locations_core`): would everybody be safe if
this vertex moved there? All locations of one class and size stand side by side in an arena, a row
per histogram column, so that one pass compares a neighbourhood with a whole degree at once.
Validation and capacities are the caller's.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index._table_core import ALPHA_DEN, ALPHA_NUM, NONE, T_DEN, T_NUM, WIDTH, K
from ktsafe.working._hashing_core import location_chain

# Positions in `Bands.tops`: unused location rows, used arena cells, longest segment.
FREE, USED, LONGEST = range(3)
# Histograms are compared by products of two sizes, summed; twice that must fit 31 bits.
SIZE_MAX = 30_000


class Bands(NamedTuple):
    """Distinct (class, size, histogram) with counts; size is degree + 1.

    Bucket `first[c] + size` lists the locations of class c and that size: arena cells
    `start..start + length - 1` of a segment of `room` cells. `columns[x, cell]` counts column x
    of the location `holder[cell]`, which is at `cell[location]`. `of_vertex` says where each
    vertex is, `is_real` which ones are nobody's invention; the real ones of class c should see
    `floor[c]` real ones (`ps_real`). `was`, `will` and `total` are scratch, as long as the longest
    segment may get.
    """

    limits: NDArray[np.int64]
    offsets: NDArray[np.int64]
    first: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int64]
    room: NDArray[np.int64]
    columns: NDArray[np.int32]
    holder: NDArray[np.int32]
    cls: NDArray[np.int32]
    size: NDArray[np.int32]
    hist: NDArray[np.int32]
    population: NDArray[np.int32]
    sensitive: NDArray[np.int32]
    real: NDArray[np.int32]
    ps_size: NDArray[np.int32]
    ps_sensitive: NDArray[np.int32]
    ps_real: NDArray[np.int32]
    floor: NDArray[np.int64]
    is_real: NDArray[np.bool_]
    cell: NDArray[np.int64]
    hash_head: NDArray[np.int32]
    hash_next: NDArray[np.int32]
    free: NDArray[np.int32]
    tops: NDArray[np.int64]
    of_vertex: NDArray[np.int32]
    was: NDArray[np.int32]
    will: NDArray[np.int32]
    total: NDArray[np.int32]


@njit(cache=True, fastmath=False, nogil=True)
def suffices(b: Bands, size: int, sensitive: int) -> bool:
    """Whether a protection set of this size and number of sensitive members is safe."""
    limits = b.limits
    return size >= limits[K] and sensitive * limits[ALPHA_DEN] <= limits[ALPHA_NUM] * size


@njit(cache=True, fastmath=False, nogil=True)
def find(b: Bands, cls: int, size: int, row: NDArray[np.int32]) -> int:
    """Return the location of a (class, size, histogram), or NONE."""
    at = b.hash_head[location_chain(cls, row, len(b.hash_head))]
    while at != NONE:
        if b.cls[at] == cls and b.size[at] == size:
            same = True
            for x in range(len(row)):
                if b.hist[at, x] != row[x]:
                    same = False
                    break
            if same:
                return at
        at = b.hash_next[at]
    return NONE


@njit(cache=True, fastmath=False, nogil=True)
def _widen(b: Bands, bucket: int) -> None:
    """Move a full segment to the end of the arena, with twice the room."""
    start, length = b.start[bucket], b.length[bucket]
    there = b.tops[USED]
    for i in range(length):
        at = b.holder[start + i]
        b.holder[there + i] = at
        b.cell[at] = there + i
        for x in range(b.columns.shape[0]):
            b.columns[x, there + i] = b.columns[x, start + i]
    b.start[bucket] = there
    b.room[bucket] = max(4, 2 * length)
    b.tops[USED] += b.room[bucket]
    b.tops[LONGEST] = max(b.tops[LONGEST], b.room[bucket])


@njit(cache=True, fastmath=False, nogil=True)
def create(b: Bands, cls: int, size: int, row: NDArray[np.int32]) -> int:
    """Open an absent location without vertices; its protection set is not counted here."""
    b.tops[FREE] -= 1
    at = b.free[b.tops[FREE]]
    b.cls[at] = cls
    b.size[at] = size
    b.hist[at, :] = row
    b.population[at] = 0
    b.sensitive[at] = 0
    b.real[at] = 0
    b.ps_size[at] = 0
    b.ps_sensitive[at] = 0
    b.ps_real[at] = 0
    slot = location_chain(cls, row, len(b.hash_head))
    b.hash_next[at] = b.hash_head[slot]
    b.hash_head[slot] = at
    bucket = b.first[cls] + size
    if b.length[bucket] == b.room[bucket]:
        _widen(b, bucket)
    cell = b.start[bucket] + b.length[bucket]
    b.length[bucket] += 1
    b.cell[at] = cell
    b.holder[cell] = at
    for x in range(len(row)):
        b.columns[x, cell] = row[x]
    return at


@njit(cache=True, fastmath=False, nogil=True)
def _close(b: Bands, at: int) -> None:
    """Remove a location that nobody is at any more."""
    slot = location_chain(b.cls[at], b.hist[at], len(b.hash_head))
    if b.hash_head[slot] == at:
        b.hash_head[slot] = b.hash_next[at]
    else:
        before = b.hash_head[slot]
        while b.hash_next[before] != at:
            before = b.hash_next[before]
        b.hash_next[before] = b.hash_next[at]
    bucket = b.first[b.cls[at]] + b.size[at]
    b.length[bucket] -= 1
    last, cell = b.start[bucket] + b.length[bucket], b.cell[at]
    moved = b.holder[last]
    b.holder[cell] = moved
    b.cell[moved] = cell
    for x in range(b.columns.shape[0]):
        b.columns[x, cell] = b.columns[x, last]
    b.free[b.tops[FREE]] = at
    b.tops[FREE] += 1


@njit(cache=True, fastmath=False, nogil=True)
def _distances(
    b: Bands, bucket: int, other: int, row: NDArray[np.int32], size: int, out: NDArray[np.int32]
) -> None:
    """Write, for each location of a bucket of size `other`, its scaled distance from `row`.

    That is the greatest of the attributes' sum |a n_b - b n_a|. The casts keep the arithmetic in
    32 bits, in which a processor handles many cells at once; `SIZE_MAX` keeps it from overflowing.
    """
    start, length = b.start[bucket], b.length[bucket]
    total, scale = b.total, np.int32(size)
    for i in range(length):
        out[i] = 0
    for j in range(len(b.offsets) - 1):
        for i in range(length):
            total[i] = 0
        for x in range(b.offsets[j], b.offsets[j + 1]):
            mine = np.int32(row[x] * other)
            theirs = b.columns[x, start : start + length]
            for i in range(length):
                apart = np.int32(abs(np.int32(mine - np.int32(theirs[i] * scale))))
                total[i] = np.int32(total[i] + apart)
        for i in range(length):
            out[i] = max(out[i], total[i])


@njit(cache=True, fastmath=False, nogil=True)
def _reach(b: Bands, other: int, size: int) -> int:
    """Return the greatest scaled distance at which neighbourhoods of two sizes are similar."""
    if abs(other - size) > b.limits[WIDTH]:
        return NONE
    return 2 * b.limits[T_NUM] * np.int64(other) * np.int64(size) // b.limits[T_DEN]


@njit(cache=True, fastmath=False, nogil=True)
def span(b: Bands, cls: int, low: int, high: int) -> tuple[int, int]:
    """Return the sizes within reach of [low, high] for which class `cls` has buckets."""
    cap = b.first[cls + 1] - b.first[cls] - 1
    return max(0, low - b.limits[WIDTH]), min(cap, high + b.limits[WIDTH])


@njit(cache=True, fastmath=False, nogil=True)
def move_is_safe(b: Bands, v: int, sensitive: int, size: int, row: NDArray[np.int32]) -> bool:
    """Whether a placed vertex can go to (`size`, `row`), be safe and break no one.

    All vertices must be safe before. Nor may a real vertex see fewer real ones than it did and
    should. Nothing changes.
    """
    at = b.of_vertex[v]
    cls, old_size, old = b.cls[at], b.size[at], b.hist[at]
    if size >= b.first[cls + 1] - b.first[cls]:
        return False
    real, floor = np.int64(b.is_real[v]), b.floor[cls]
    mine, mine_sensitive, mine_real = 1, sensitive, real
    low, high = span(b, cls, min(old_size, size), max(old_size, size))
    for n in range(low, high + 1):
        bucket = b.first[cls] + n
        length = b.length[bucket]
        if length == 0:
            continue
        reach_was, reach_will = _reach(b, n, old_size), _reach(b, n, size)
        if reach_was != NONE:
            _distances(b, bucket, n, old, old_size, b.was)
        if reach_will != NONE:
            _distances(b, bucket, n, row, size, b.will)
        start = b.start[bucket]
        for i in range(length):
            was = reach_was != NONE and b.was[i] <= reach_was
            will = reach_will != NONE and b.will[i] <= reach_will
            if not (was or will):
                continue
            other = b.holder[start + i]
            population, number, reals = b.population[other], b.sensitive[other], b.real[other]
            if other == at:
                population -= 1
                number -= sensitive
                reals -= real
                if population == 0:
                    continue
            if will:
                mine += population
                mine_sensitive += number
                mine_real += reals
            if was and not will and real and reals > 0 and b.ps_real[other] <= floor:
                return False
            if was != will:
                change = 1 if will else -1
                if not suffices(
                    b, b.ps_size[other] + change, b.ps_sensitive[other] + change * sensitive
                ):
                    return False
    if real and mine_real < min(floor, b.ps_real[at]):
        return False
    return suffices(b, mine, mine_sensitive)


@njit(cache=True, fastmath=False, nogil=True)
def see_all(
    b: Bands, cls: int, size: int, row: NDArray[np.int32], change: int, flags: tuple[int, int]
) -> tuple[int, int, int]:
    """Change what the locations similar to (`size`, `row`) count; return whom they hold.

    `flags` are the changes of the sensitive and of the real ones, as in the result.
    """
    seen, seen_sensitive, seen_real = 0, 0, 0
    low, high = span(b, cls, size, size)
    for n in range(low, high + 1):
        bucket = b.first[cls] + n
        length = b.length[bucket]
        if length == 0:
            continue
        reach, start = _reach(b, n, size), b.start[bucket]
        _distances(b, bucket, n, row, size, b.was)
        for i in range(length):
            if b.was[i] <= reach:
                other = b.holder[start + i]
                b.ps_size[other] += change
                b.ps_sensitive[other] += flags[0]
                b.ps_real[other] += flags[1]
                seen += b.population[other]
                seen_sensitive += b.sensitive[other]
                seen_real += b.real[other]
    return seen, seen_sensitive, seen_real


@njit(cache=True, fastmath=False, nogil=True)
def lift(b: Bands, v: int, sensitive: int) -> None:
    """Take a vertex out of the table."""
    at = b.of_vertex[v]
    real = np.int64(b.is_real[v])
    see_all(b, b.cls[at], b.size[at], b.hist[at], -1, (-sensitive, -real))
    b.population[at] -= 1
    b.sensitive[at] -= sensitive
    b.real[at] -= real
    b.of_vertex[v] = NONE
    if b.population[at] == 0:
        _close(b, at)


@njit(cache=True, fastmath=False, nogil=True)
def place(b: Bands, v: int, cls: int, size: int, row: NDArray[np.int32], sensitive: int) -> None:
    """Put a vertex that was taken out at a location; all counts become exact."""
    at = find(b, cls, size, row)
    if at == NONE:
        at = create(b, cls, size, row)
        nothing = np.int64(0)
        b.ps_size[at], b.ps_sensitive[at], b.ps_real[at] = see_all(
            b, cls, size, row, 0, (nothing, nothing)
        )
    real = np.int64(b.is_real[v])
    see_all(b, cls, size, row, 1, (sensitive, real))
    b.population[at] += 1
    b.sensitive[at] += sensitive
    b.real[at] += real
    b.of_vertex[v] = at


@njit(cache=True, fastmath=False, nogil=True)
def fill(
    b: Bands,
    cls: NDArray[np.int32],
    sizes: NDArray[np.int32],
    hist: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
) -> None:
    """Place every vertex of an empty table; counts first, then one pass per location."""
    for v in range(len(cls)):
        at = find(b, cls[v], sizes[v], hist[v])
        if at == NONE:
            at = create(b, cls[v], sizes[v], hist[v])
        b.population[at] += 1
        b.sensitive[at] += is_sensitive[v]
        b.real[at] += b.is_real[v]
        b.of_vertex[v] = at
    for at in range(len(b.cls)):
        if b.population[at] > 0:
            b.ps_size[at], b.ps_sensitive[at], b.ps_real[at] = see_all(
                b, b.cls[at], b.size[at], b.hist[at], 0, (np.int64(0), np.int64(0))
            )
