"""Kernels that group lifted vertices and choose the neighbourhoods they shall share."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.cohorts._shapes_core import Pool, lacking_real, price, scratch_for, shape
from ktsafe.index import _table_core as locations
from ktsafe.index._table_core import ALPHA_DEN, ALPHA_NUM, NONE, Rule, Table


@njit(cache=True, fastmath=False, nogil=True)
def seed(pool: Pool, rule: Rule, size: int) -> NDArray[np.int32]:
    """Group one class, given in descending degree, into consecutive cohorts of `size`.

    A cohort that has its fill of sensitive members takes the next others instead; sensitive ones
    wait for the next cohort. Where there are no others, and real members are lacking, it takes
    more of them. Returns the cohort of each vertex; the last may be too small.
    """
    n = len(pool.sizes)
    cohort = np.full(n, NONE, dtype=np.int32)
    sensitive_max = size * rule.limits[ALPHA_NUM] // rule.limits[ALPHA_DEN]
    first, current = 0, 0
    while first < n:
        taken, sensitive, real = 0, 0, 0
        for is_strict in (True, False):
            for i in range(first, n):
                if taken >= size and not lacking_real(rule, real):
                    break
                if not is_strict and not (pool.is_real[i] and lacking_real(rule, real)):
                    continue
                is_full = is_strict and sensitive >= sensitive_max
                if cohort[i] != NONE or (pool.is_sensitive[i] and is_full):
                    continue
                cohort[i] = current
                taken += 1
                sensitive += pool.is_sensitive[i]
                real += pool.is_real[i]
        current += 1
        while first < n and cohort[first] != NONE:
            first += 1
    return cohort


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
    scratch = scratch_for(pool.rows.shape[1], longest)
    n_new = len(pool.sizes) - first
    group = np.zeros((n_cohorts, longest), dtype=np.int32)
    count = np.zeros(n_cohorts, dtype=np.int64)
    sensitive = np.zeros(n_cohorts, dtype=np.int64)
    real = np.zeros(n_cohorts, dtype=np.int64)
    prices = np.zeros(n_cohorts, dtype=np.int64)
    for c in range(n_cohorts):
        for at in range(start[c], start[c + 1]):
            group[c, count[c]] = members[at]
            count[c] += 1
            sensitive[c] += pool.is_sensitive[members[at]]
            real[c] += pool.is_real[members[at]]
        size, _ = shape(pool, rule, group[c], count[c], scratch)
        prices[c] = price(rule, size, count[c], sensitive[c], real[c])
    best = np.full(n_new, NONE, dtype=np.int64)
    for i in range(n_new):
        v = first + i
        # Those that remain alone share the inserted members of their cohort.
        is_sensitive, is_real = np.int64(pool.is_sensitive[v]), np.int64(pool.is_real[v])
        rise = price(rule, pool.sizes[v], 1, is_sensitive, is_real) // n_new
        for c in range(n_cohorts):
            if count[c] == longest:
                continue
            group[c, count[c]] = v
            size, _ = shape(pool, rule, group[c], count[c] + 1, scratch)
            after = price(rule, size, count[c] + 1, sensitive[c] + is_sensitive, real[c] + is_real)
            if after - prices[c] < rise:
                best[i], rise = c, after - prices[c]
        if best[i] != NONE:
            c = best[i]
            group[c, count[c]] = v
            count[c] += 1
            sensitive[c] += is_sensitive
            real[c] += is_real
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
    real: int,
) -> int:
    """Return the cheapest settled location that dominates `row`, at most `reach` edges away.

    A sensitive vertex joins only where its protection set stays within alpha, a real one only
    where it sees enough real ones. Returns NONE where no location qualifies.
    """
    cap = table.bucket_start[cls + 1] - table.bucket_start[cls] - 1
    for d in range(degree, min(cap, degree + reach) + 1):
        block = table.bucket_head[table.bucket_start[cls] + d]
        while block != NONE:
            for lane in range(table.block_count[block]):
                at = table.block_rows[block, lane]
                dominates = True
                for x in range(len(row)):
                    if table.hist[at, x] < row[x]:
                        dominates = False
                        break
                enough = not real or table.ps_real[at] + 1 >= table.floor[cls]
                if dominates and enough and locations.can_bear(table, rule, at, sensitive):
                    return at
            block = table.block_next[block]
    return NONE
