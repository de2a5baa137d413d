"""Kernels of the location table: similarity, counts, moves. Validation is the caller's."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

NONE = -1

# Why `peel` lifted a vertex.
TOO_FEW, TOO_SENSITIVE = 1, 2

# Positions in `Rule.limits`.
WIDTH, T_NUM, T_DEN, K, ALPHA_NUM, ALPHA_DEN, RESERVE = range(7)


class Rule(NamedTuple):
    """When two vertices are similar and a protection set suffices, in whole numbers.

    `offsets` (q + 1) bounds the columns of each quasi-identifier in a histogram row; `limits`
    holds the greatest degree difference, t and alpha as fractions, k, and how many further
    sensitive vertices a new cohort should be able to bear.
    """

    offsets: NDArray[np.int64]
    limits: NDArray[np.int64]


class Table(NamedTuple):
    """Distinct (class, degree, histogram) with counts, hashed and chained by (class, degree).

    Rows 0..capacity-1 are locations; `bucket_start[c] + degree` is the chain of a degree in class
    c, so degrees up to `bucket_start[c + 1] - bucket_start[c] - 1` fit. `free[:free_top[0]]` are
    unused rows. `of_vertex` is NONE for a lifted vertex.
    """

    cls: NDArray[np.int32]
    degree: NDArray[np.int32]
    hist: NDArray[np.int32]
    population: NDArray[np.int32]
    sensitive: NDArray[np.int32]
    ps_size: NDArray[np.int32]
    ps_sensitive: NDArray[np.int32]
    hash_head: NDArray[np.int32]
    hash_next: NDArray[np.int32]
    bucket_start: NDArray[np.int64]
    bucket_head: NDArray[np.int32]
    bucket_next: NDArray[np.int32]
    bucket_prev: NDArray[np.int32]
    free: NDArray[np.int32]
    free_top: NDArray[np.int64]
    of_vertex: NDArray[np.int32]


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
def suffices(rule: Rule, size: int, sensitive: int) -> bool:
    """Whether a protection set of this size and number of sensitive members is safe."""
    limits = rule.limits
    return size >= limits[K] and sensitive * limits[ALPHA_DEN] <= limits[ALPHA_NUM] * size


@njit(cache=True, fastmath=False, nogil=True)
def _slot(table: Table, cls: int, row: NDArray[np.int32]) -> int:
    """Return the hash chain of a location (FNV-1a over class and counts)."""
    value = np.uint64(14695981039346656037) ^ np.uint64(cls)
    for x in range(len(row)):
        value = (value * np.uint64(1099511628211)) ^ np.uint64(row[x])
    value ^= value >> np.uint64(29)
    return np.int64(value & np.uint64(len(table.hash_head) - 1))


@njit(cache=True, fastmath=False, nogil=True)
def find(table: Table, cls: int, degree: int, row: NDArray[np.int32]) -> int:
    """Return the location of a (class, degree, histogram), or NONE."""
    at = table.hash_head[_slot(table, cls, row)]
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
def _create(table: Table, cls: int, degree: int, row: NDArray[np.int32]) -> int:
    table.free_top[0] -= 1
    at = table.free[table.free_top[0]]
    table.cls[at] = cls
    table.degree[at] = degree
    table.hist[at, :] = row
    table.population[at] = 0
    table.sensitive[at] = 0
    table.ps_size[at] = 0
    table.ps_sensitive[at] = 0
    slot = _slot(table, cls, row)
    table.hash_next[at] = table.hash_head[slot]
    table.hash_head[slot] = at
    bucket = table.bucket_start[cls] + degree
    head = table.bucket_head[bucket]
    table.bucket_next[at] = head
    table.bucket_prev[at] = NONE
    if head != NONE:
        table.bucket_prev[head] = at
    table.bucket_head[bucket] = at
    return at


@njit(cache=True, fastmath=False, nogil=True)
def _remove(table: Table, at: int) -> None:
    slot = _slot(table, table.cls[at], table.hist[at])
    if table.hash_head[slot] == at:
        table.hash_head[slot] = table.hash_next[at]
    else:
        before = table.hash_head[slot]
        while table.hash_next[before] != at:
            before = table.hash_next[before]
        table.hash_next[before] = table.hash_next[at]
    after, prev = table.bucket_next[at], table.bucket_prev[at]
    if prev == NONE:
        table.bucket_head[table.bucket_start[table.cls[at]] + table.degree[at]] = after
    else:
        table.bucket_next[prev] = after
    if after != NONE:
        table.bucket_prev[after] = prev
    table.free[table.free_top[0]] = at
    table.free_top[0] += 1


@njit(cache=True, fastmath=False, nogil=True)
def degree_span(table: Table, rule: Rule, cls: int, low: int, high: int) -> tuple[int, int]:
    """Return the degrees within reach of [low, high] for which class `cls` has chains."""
    cap = table.bucket_start[cls + 1] - table.bucket_start[cls] - 1
    return max(0, low - rule.limits[WIDTH]), min(cap, high + rule.limits[WIDTH])


@njit(cache=True, fastmath=False, nogil=True)
def shift(table: Table, rule: Rule, at: int, change: int, change_sensitive: int) -> None:
    """Change the count of one location by `change` vertices and every count that sees it."""
    table.population[at] += change
    table.sensitive[at] += change_sensitive
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    low, high = degree_span(table, rule, cls, degree, degree)
    for d in range(low, high + 1):
        other = table.bucket_head[table.bucket_start[cls] + d]
        while other != NONE:
            if similar(rule, row, degree + 1, table.hist[other], d + 1):
                table.ps_size[other] += change
                table.ps_sensitive[other] += change_sensitive
            other = table.bucket_next[other]


@njit(cache=True, fastmath=False, nogil=True)
def place(
    table: Table, rule: Rule, v: int, cls: int, degree: int, row: NDArray[np.int32], sensitive: int
) -> int:
    """Put a lifted vertex at a location and return it; counts become exact."""
    at = find(table, cls, degree, row)
    if at == NONE:
        at = _create(table, cls, degree, row)
        size, size_sensitive = 0, 0
        low, high = degree_span(table, rule, cls, degree, degree)
        for d in range(low, high + 1):
            other = table.bucket_head[table.bucket_start[cls] + d]
            while other != NONE:
                if similar(rule, row, degree + 1, table.hist[other], d + 1):
                    size += table.population[other]
                    size_sensitive += table.sensitive[other]
                other = table.bucket_next[other]
        table.ps_size[at] = size
        table.ps_sensitive[at] = size_sensitive
    shift(table, rule, at, 1, sensitive)
    table.of_vertex[v] = at
    return at


@njit(cache=True, fastmath=False, nogil=True)
def lift(table: Table, rule: Rule, v: int, sensitive: int) -> None:
    """Take a placed vertex out of the table."""
    at = table.of_vertex[v]
    shift(table, rule, at, -1, -sensitive)
    table.of_vertex[v] = NONE
    if table.population[at] == 0:
        _remove(table, at)


@njit(cache=True, fastmath=False, nogil=True)
def fill(
    table: Table,
    rule: Rule,
    cls: NDArray[np.int32],
    degree: NDArray[np.int32],
    hist: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
) -> None:
    """Place every vertex of an empty table; counts first, then one comparison per pair."""
    for v in range(len(cls)):
        at = find(table, cls[v], degree[v], hist[v])
        if at == NONE:
            at = _create(table, cls[v], degree[v], hist[v])
        table.population[at] += 1
        table.sensitive[at] += is_sensitive[v]
        table.of_vertex[v] = at
    for at in range(len(table.cls)):
        if table.population[at] == 0:
            continue
        table.ps_size[at] += table.population[at]
        table.ps_sensitive[at] += table.sensitive[at]
        d_at, row = table.degree[at], table.hist[at]
        _, high = degree_span(table, rule, table.cls[at], d_at, d_at)
        for d in range(d_at, high + 1):
            other = table.bucket_head[table.bucket_start[table.cls[at]] + d]
            while other != NONE:
                if (d > d_at or other > at) and similar(
                    rule, row, d_at + 1, table.hist[other], d + 1
                ):
                    table.ps_size[at] += table.population[other]
                    table.ps_sensitive[at] += table.sensitive[other]
                    table.ps_size[other] += table.population[at]
                    table.ps_sensitive[other] += table.sensitive[at]
                other = table.bucket_next[other]


@njit(cache=True, fastmath=False, nogil=True)
def move_is_safe(
    table: Table,
    rule: Rule,
    v: int,
    degree: int,
    row: NDArray[np.int32],
    sensitive: int,
) -> bool:
    """Whether a placed vertex can move to (`degree`, `row`), be safe there and break no one.

    Nothing changes. A vertex that was unsafe before may stay so, but only the mover's own safety
    at its new place is required; capacity of the degree chains is the caller's to check.
    """
    at = table.of_vertex[v]
    cls, d_at = table.cls[at], table.degree[at]
    old = table.hist[at]
    size, size_sensitive = 1, sensitive
    low, high = degree_span(table, rule, cls, min(d_at, degree), max(d_at, degree))
    width = rule.limits[WIDTH]
    for d in range(low, high + 1):
        other = table.bucket_head[table.bucket_start[cls] + d]
        while other != NONE:
            n_other = table.population[other]
            s_other = table.sensitive[other]
            if other == at:
                n_other -= 1
                s_other -= sensitive
            if n_other > 0:
                row_other = table.hist[other]
                was = abs(d - d_at) <= width and similar(rule, old, d_at + 1, row_other, d + 1)
                will = abs(d - degree) <= width and similar(rule, row, degree + 1, row_other, d + 1)
                if will:
                    size += n_other
                    size_sensitive += s_other
                if was != will:
                    change = 1 if will else -1
                    ps, ps_sensitive = table.ps_size[other], table.ps_sensitive[other]
                    if suffices(rule, ps, ps_sensitive) and not suffices(
                        rule, ps + change, ps_sensitive + change * sensitive
                    ):
                        return False
            other = table.bucket_next[other]
    return suffices(rule, size, size_sensitive)


@njit(cache=True, fastmath=False, nogil=True)
def can_bear(table: Table, rule: Rule, at: int, sensitive: int) -> bool:
    """Whether one more vertex at a location leaves it and every safe similar location safe."""
    if not suffices(rule, table.ps_size[at] + 1, table.ps_sensitive[at] + sensitive):
        return False
    if sensitive == 0:
        return True
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    low, high = degree_span(table, rule, cls, degree, degree)
    for d in range(low, high + 1):
        other = table.bucket_head[table.bucket_start[cls] + d]
        while other != NONE:
            if (
                suffices(rule, table.ps_size[other], table.ps_sensitive[other])
                and not suffices(rule, table.ps_size[other] + 1, table.ps_sensitive[other] + 1)
                and similar(rule, row, degree + 1, table.hist[other], d + 1)
            ):
                return False
            other = table.bucket_next[other]
    return True


@njit(cache=True, fastmath=False, nogil=True)
def missing_harmless(table: Table, rule: Rule, at: int) -> int:
    """Return how many more non-sensitive vertices a location needs not to be too sensitive."""
    num, den = rule.limits[ALPHA_NUM], rule.limits[ALPHA_DEN]
    needed = (table.ps_sensitive[at] * den + num - 1) // num
    return max(0, needed - table.ps_size[at])


@njit(cache=True, fastmath=False, nogil=True)
def can_spare(table: Table, rule: Rule, at: int) -> bool:
    """Whether a location and every safe similar one can do with one non-sensitive vertex less."""
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    low, high = degree_span(table, rule, cls, degree, degree)
    for d in range(low, high + 1):
        other = table.bucket_head[table.bucket_start[cls] + d]
        while other != NONE:
            ps, ps_sensitive = table.ps_size[other], table.ps_sensitive[other]
            vanishes = other == at and table.population[at] == 1
            if (
                not vanishes
                and suffices(rule, ps, ps_sensitive)
                and not suffices(rule, ps - 1, ps_sensitive)
                and similar(rule, row, degree + 1, table.hist[other], d + 1)
            ):
                return False
            other = table.bucket_next[other]
    return True


@njit(cache=True, fastmath=False, nogil=True)
def unsafe_vertices(table: Table, rule: Rule, n: int) -> NDArray[np.int32]:
    """Return the placed vertices whose protection set does not suffice, ascending."""
    found = np.empty(n, dtype=np.int32)
    top = 0
    for v in range(n):
        at = table.of_vertex[v]
        if at != NONE and not suffices(rule, table.ps_size[at], table.ps_sensitive[at]):
            found[top] = v
            top += 1
    return found[:top]


@njit(cache=True, fastmath=False, nogil=True)
def _richest_similar(table: Table, rule: Rule, at: int) -> int:
    """Return the similar location with most sensitive vertices."""
    best = at
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    low, high = degree_span(table, rule, cls, degree, degree)
    for d in range(low, high + 1):
        other = table.bucket_head[table.bucket_start[cls] + d]
        while other != NONE:
            if table.sensitive[other] > table.sensitive[best] and similar(
                rule, row, degree + 1, table.hist[other], d + 1
            ):
                best = other
            other = table.bucket_next[other]
    return best


@njit(cache=True, fastmath=False, nogil=True)
def peel(
    table: Table, rule: Rule, order: NDArray[np.int32], is_sensitive: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """Lift vertices until all that remain are safe among themselves; return who was lifted.

    The result is 0 for those that stay, `TOO_FEW` or `TOO_SENSITIVE` for the others.

    Too small a protection set lifts its whole location; too sensitive a one lifts one sensitive
    vertex after the other from the similar location that has most. `order` breaks ties among the
    vertices of a location. Every step lifts a vertex, so it ends.
    """
    n = len(order)
    lifted = np.zeros(n, dtype=np.int8)
    start = np.zeros(len(table.cls) + 1, dtype=np.int64)
    for v in range(n):
        start[table.of_vertex[v] + 1] += 1
    for at in range(len(table.cls)):
        start[at + 1] += start[at]
    members = np.empty(n, dtype=np.int32)
    top = start[:-1].copy()
    # Sensitive members come last in each location, to be found without a search.
    for wanted in (False, True):
        for i in range(n):
            v = order[i]
            if is_sensitive[v] == wanted:
                at = table.of_vertex[v]
                members[top[at]] = v
                top[at] += 1
    changed = True
    while changed:
        changed = False
        for at in range(len(start) - 1):
            while table.population[at] > 0 and not suffices(
                rule, table.ps_size[at], table.ps_sensitive[at]
            ):
                changed = True
                if table.ps_size[at] < rule.limits[K]:
                    for i in range(start[at], top[at]):
                        lifted[members[i]] = TOO_FEW
                        table.of_vertex[members[i]] = NONE
                    top[at] = start[at]
                    shift(table, rule, at, -table.population[at], -table.sensitive[at])
                    _remove(table, at)
                else:
                    rich = _richest_similar(table, rule, at)
                    top[rich] -= 1
                    v = members[top[rich]]
                    lifted[v] = TOO_SENSITIVE
                    lift(table, rule, v, 1)
    return lifted
