"""Kernels that group lifted vertices and choose the neighbourhoods they shall share."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe import _locations_core as locations
from ktsafe._locations_core import ALPHA_DEN, ALPHA_NUM, NONE, RESERVE, T_DEN, T_NUM, K, Rule, Table
from ktsafe._random_core import below, uniform


class Pool(NamedTuple):
    """The vertices of one class that need a cohort, in descending degree.

    `rows` are closed histograms, `sizes` the number of vertices each counts (degree + 1).
    """

    rows: NDArray[np.int32]
    sizes: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]


class Scratch(NamedTuple):
    """Room for `shape`: one cell per column, one per member."""

    base: NDArray[np.int32]
    payers: NDArray[np.int32]
    spent: NDArray[np.int32]


@njit(cache=True, fastmath=False, nogil=True)
def seed(
    is_sensitive: NDArray[np.bool_], size: int, alpha_num: int, alpha_den: int
) -> NDArray[np.int32]:
    """Group one class, given in descending degree, into consecutive cohorts of `size`.

    A cohort that has its fill of sensitive members takes the next others instead; sensitive ones
    wait for the next cohort. Returns the cohort of each vertex; the last may be too small.
    """
    n = len(is_sensitive)
    cohort = np.full(n, NONE, dtype=np.int32)
    sensitive_max = size * alpha_num // alpha_den
    first, current = 0, 0
    while first < n:
        taken, sensitive = 0, 0
        for i in range(first, n):
            if taken == size:
                break
            if cohort[i] != NONE or (is_sensitive[i] and sensitive >= sensitive_max):
                continue
            cohort[i] = current
            taken += 1
            sensitive += is_sensitive[i]
        current += 1
        while first < n and cohort[first] != NONE:
            first += 1
    return cohort


@njit(cache=True, fastmath=False, nogil=True)
def _reduce(
    pool: Pool,
    members: NDArray[np.int32],
    count: int,
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
    base, payers, spent = scratch
    blocked = count + 1
    total = 0
    for x in range(low, high):
        total += base[x]
        payers[x] = 0
        for i in range(count):
            payers[x] += pool.rows[members[i], x] == base[x]
        if base[x] == 0:
            payers[x] = blocked
    for i in range(count):
        spent[i] = 0
    while total > goal:
        best = low
        for x in range(low + 1, high):
            if payers[x] < payers[best]:
                best = x
        if payers[best] == blocked:
            break
        affordable = True
        for i in range(count):
            if pool.rows[members[i], best] >= base[best] and spent[i] >= free:
                affordable = False
                break
        if not affordable:
            payers[best] = blocked
            continue
        base[best] -= 1
        total -= 1
        payers[best] = 0
        for i in range(count):
            have = pool.rows[members[i], best]
            spent[i] += have > base[best]
            payers[best] += have >= base[best]
        if base[best] == 0:
            payers[best] = blocked
    return total


@njit(cache=True, fastmath=False, nogil=True)
def _fit(
    pool: Pool,
    rule: Rule,
    members: NDArray[np.int32],
    count: int,
    free: int,
    largest: int,
    scratch: Scratch,
) -> int:
    """Leave in `scratch.base` what members share beside `free` others; return the size needed."""
    base = scratch.base
    n_columns = len(base)
    for x in range(n_columns):
        base[x] = 0
    for i in range(count):
        v = members[i]
        for x in range(n_columns):
            base[x] = max(base[x], pool.rows[v, x])
    size = largest
    for j in range(len(rule.offsets) - 1):
        low, high = rule.offsets[j], rule.offsets[j + 1]
        total = 0
        for x in range(low, high):
            total += base[x]
        if total + free > size and free > 0:
            total = _reduce(pool, members, count, low, high, size - free, free, scratch)
        size = max(size, total + free)
    return size


@njit(cache=True, fastmath=False, nogil=True)
def shape(
    pool: Pool, rule: Rule, members: NDArray[np.int32], count: int, scratch: Scratch
) -> tuple[int, int]:
    """Choose the neighbourhood that `count` members can share; return its size and freedom.

    All members shall have `size` vertices in their neighbourhoods: a common multiset of values
    per attribute, left in `scratch.base`, plus at most `free` = floor(t size) others. Two such
    neighbourhoods differ in at most `free` values, which is half their L1 distance times size,
    so they are similar. Insertion cannot go below what a member has; what exceeds the base is
    counted as its free part.
    """
    largest = 0
    for i in range(count):
        largest = max(largest, pool.sizes[members[i]])
    num, den = rule.limits[T_NUM], rule.limits[T_DEN]
    free = largest * num // den
    size = _fit(pool, rule, members, count, free, largest, scratch)
    # A larger neighbourhood allows more freedom, which may make it smaller again.
    more = size * num // den
    if more > free:
        least = (more * den + num - 1) // num
        smaller = _fit(pool, rule, members, count, more, max(largest, least), scratch)
        if smaller <= size:
            return smaller, more
        size = _fit(pool, rule, members, count, free, largest, scratch)
    return size, free


@njit(cache=True, fastmath=False, nogil=True)
def lacking(rule: Rule, count: int, sensitive: int) -> int:
    """Return how many non-sensitive vertices a cohort needs to be safe on its own."""
    num, den = rule.limits[ALPHA_NUM], rule.limits[ALPHA_DEN]
    return max(0, max(rule.limits[K], (sensitive * den + num - 1) // num) - count)


@njit(cache=True, fastmath=False, nogil=True)
def price(rule: Rule, size: int, count: int, sensitive: int) -> int:
    """Return twice what a cohort costs, up to a constant: an edge can serve two vertices.

    A cohort whose share of sensitive members is at its limit soon gets a similar neighbour that
    exceeds it; that risk is priced like half a member more.
    """
    limits = rule.limits
    inserted = lacking(rule, count, sensitive)
    total = (count + inserted) * size + 2 * inserted
    if (sensitive + limits[RESERVE]) * limits[ALPHA_DEN] > limits[ALPHA_NUM] * (count + inserted):
        total += size // 2
    return total


@njit(cache=True, fastmath=False, nogil=True)
def lookalikes(pool: Pool, reach: int, wanted: int) -> NDArray[np.int32]:
    """Return for each vertex the `wanted` others within `reach` ranks with the closest rows.

    Where there are fewer, a vertex stands for itself.
    """
    n = len(pool.sizes)
    nearest = np.empty((n, wanted), dtype=np.int32)
    distance = np.empty(wanted, dtype=np.int64)
    for i in range(n):
        nearest[i, :] = i
        distance[:] = np.iinfo(np.int64).max
        for other in range(max(0, i - reach), min(n, i + reach + 1)):
            if other == i:
                continue
            total = np.int64(0)
            for x in range(pool.rows.shape[1]):
                total += abs(pool.rows[i, x] - pool.rows[other, x])
            if total >= distance[wanted - 1]:
                continue
            at = wanted - 1
            while at > 0 and distance[at - 1] > total:
                distance[at] = distance[at - 1]
                nearest[i, at] = nearest[i, at - 1]
                at -= 1
            distance[at] = total
            nearest[i, at] = other
    return nearest


@njit(cache=True, fastmath=False, nogil=True)
def _sizes(cohort: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of members of every cohort."""
    count = np.zeros(cohort.max() + 1, dtype=np.int64)
    for c in cohort:
        count[c] += 1
    return count


@njit(cache=True, fastmath=False, nogil=True)
def _prices(
    pool: Pool,
    rule: Rule,
    members: NDArray[np.int32],
    count: NDArray[np.int64],
    sensitive: NDArray[np.int64],
    scratch: Scratch,
) -> NDArray[np.int64]:
    """Return the price of every cohort."""
    prices = np.zeros(len(count), dtype=np.int64)
    for c in range(len(count)):
        size, _ = shape(pool, rule, members[c], count[c], scratch)
        prices[c] = price(rule, size, count[c], sensitive[c])
    return prices


@njit(cache=True, fastmath=False, nogil=True)
def improve(
    pool: Pool,
    rule: Rule,
    cohort: NDArray[np.int32],
    steps: int,
    nearest: NDArray[np.int32],
    temperatures: tuple[float, float],
    random: NDArray[np.uint64],
) -> None:
    """Anneal the cohorts of one class, in place: swap two members, or move one.

    Whoever takes a member's place looks like another member (`nearest`). The temperature falls
    geometrically from the first to the second of `temperatures`, in stubs; `random` is the state
    of a generator.
    """
    n = len(cohort)
    count = _sizes(cohort)
    room = count.max() + rule.limits[K]
    members = np.zeros((len(count), room), dtype=np.int32)
    place = np.zeros(n, dtype=np.int64)
    sensitive = np.zeros(len(count), dtype=np.int64)
    scratch = Scratch(
        np.zeros(pool.rows.shape[1], dtype=np.int32),
        np.zeros(pool.rows.shape[1], dtype=np.int32),
        np.zeros(room, dtype=np.int32),
    )
    count[:] = 0
    for i in range(n):
        c = cohort[i]
        members[c, count[c]] = i
        place[i] = count[c]
        count[c] += 1
        sensitive[c] += pool.is_sensitive[i]
    prices = _prices(pool, rule, members, count, sensitive, scratch)
    cooling = (temperatures[1] / temperatures[0]) ** (1.0 / max(steps, 1))
    temperature = temperatures[0]
    for _ in range(steps):
        temperature *= cooling
        v = below(random, n)
        a = cohort[v]
        model = members[a, below(random, count[a])]
        u = nearest[model, below(random, nearest.shape[1])]
        b = cohort[u]
        if a == b or model == v:
            continue
        is_move = uniform(random) < 0.1 and count[a] > rule.limits[K] and count[b] < room
        worst = prices[a] + prices[b] - temperature * np.log(1.0 - uniform(random))
        if is_move:
            last = members[a, count[a] - 1]
            members[a, place[v]] = last
            members[b, count[b]] = v
            count_a, count_b = count[a] - 1, count[b] + 1
            sensitive_a = sensitive[a] - pool.is_sensitive[v]
            sensitive_b = sensitive[b] + pool.is_sensitive[v]
        else:
            members[a, place[v]] = u
            members[b, place[u]] = v
            count_a, count_b = count[a], count[b]
            gain = np.int64(pool.is_sensitive[u]) - np.int64(pool.is_sensitive[v])
            sensitive_a, sensitive_b = sensitive[a] + gain, sensitive[b] - gain
        size, _ = shape(pool, rule, members[a], count_a, scratch)
        price_a = price(rule, size, count_a, sensitive_a)
        accepted = price_a < worst
        if accepted:
            size, _ = shape(pool, rule, members[b], count_b, scratch)
            price_b = price(rule, size, count_b, sensitive_b)
            accepted = price_a + price_b <= worst
        if not accepted:
            members[a, place[v]] = v
            if not is_move:
                members[b, place[u]] = u
            continue
        if is_move:
            place[last] = place[v]
            place[v] = count[b]
            cohort[v] = b
        else:
            place[v], place[u] = place[u], place[v]
            cohort[v], cohort[u] = b, a
        count[a], count[b] = count_a, count_b
        sensitive[a], sensitive[b] = sensitive_a, sensitive_b
        prices[a], prices[b] = price_a, price_b


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
    n_columns = pool.rows.shape[1]
    scratch = Scratch(
        np.zeros(n_columns, dtype=np.int32),
        np.zeros(n_columns, dtype=np.int32),
        np.zeros(longest, dtype=np.int32),
    )
    for c in range(len(sizes)):
        group = members[start[c] : start[c + 1]]
        sizes[c], frees[c] = shape(pool, rule, group, len(group), scratch)
        bases[c, :] = scratch.base


@njit(cache=True, fastmath=False, nogil=True)
def adopt(
    pool: Pool, rule: Rule, members: NDArray[np.int32], start: NDArray[np.int64], first: int
) -> NDArray[np.int64]:
    """Return for each vertex from `first` on the cohort whose price it raises least.

    Cohort c is `members[start[c]:start[c + 1]]`. NONE where a cohort of its own, filled with
    inserted vertices, costs less.
    """
    n_cohorts = len(start) - 1
    longest = 1
    for c in range(n_cohorts):
        longest = max(longest, start[c + 1] - start[c] + 4)
    n_columns = pool.rows.shape[1]
    scratch = Scratch(
        np.zeros(n_columns, dtype=np.int32),
        np.zeros(n_columns, dtype=np.int32),
        np.zeros(longest, dtype=np.int32),
    )
    n_new = len(pool.sizes) - first
    group = np.zeros((n_cohorts, longest), dtype=np.int32)
    count = np.zeros(n_cohorts, dtype=np.int64)
    sensitive = np.zeros(n_cohorts, dtype=np.int64)
    prices = np.zeros(n_cohorts, dtype=np.int64)
    for c in range(n_cohorts):
        for at in range(start[c], start[c + 1]):
            group[c, count[c]] = members[at]
            count[c] += 1
            sensitive[c] += pool.is_sensitive[members[at]]
        size, _ = shape(pool, rule, group[c], count[c], scratch)
        prices[c] = price(rule, size, count[c], sensitive[c])
    best = np.full(n_new, NONE, dtype=np.int64)
    for i in range(n_new):
        v = first + i
        # Those that remain alone share the inserted members of their cohort.
        rise = price(rule, pool.sizes[v], 1, np.int64(pool.is_sensitive[v])) // n_new
        for c in range(n_cohorts):
            if count[c] == longest:
                continue
            group[c, count[c]] = v
            size, _ = shape(pool, rule, group[c], count[c] + 1, scratch)
            after = price(rule, size, count[c] + 1, sensitive[c] + pool.is_sensitive[v])
            if after - prices[c] < rise:
                best[i], rise = c, after - prices[c]
        if best[i] != NONE:
            c = best[i]
            group[c, count[c]] = v
            count[c] += 1
            sensitive[c] += pool.is_sensitive[v]
            prices[c] += rise
    return best


@njit(cache=True, fastmath=False, nogil=True)
def join(
    table: Table,
    rule: Rule,
    cls: int,
    degree: int,
    row: NDArray[np.int32],
    sensitive: int,
    reach: int,
) -> int:
    """Return the cheapest settled location that dominates `row`, at most `reach` edges away.

    A sensitive vertex joins only where its protection set stays within alpha. Returns NONE where
    no location qualifies.
    """
    cap = table.bucket_start[cls + 1] - table.bucket_start[cls] - 1
    for d in range(degree, min(cap, degree + reach) + 1):
        at = table.bucket_head[table.bucket_start[cls] + d]
        while at != NONE:
            dominates = True
            for x in range(len(row)):
                if table.hist[at, x] < row[x]:
                    dominates = False
                    break
            if dominates and locations.can_bear(table, rule, at, sensitive):
                return at
            at = table.bucket_next[at]
    return NONE
