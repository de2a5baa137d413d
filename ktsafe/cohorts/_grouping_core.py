"""The kernel that anneals the cohorts of one class."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.cohorts._shapes_core import (
    Pool,
    Scratch,
    clear_slot,
    price,
    scratch_for,
    set_slot,
    shape_of_slots,
    slots_for,
)
from ktsafe.index._table_core import K, Rule
from ktsafe.working._random_core import below, uniform

MOVES_SHARE = 0.1


class Cohorts(NamedTuple):
    """Cohorts with their members in slots: `members[c, :counts[c]]`, also as cells and sizes.

    `place[v]` is the slot of vertex v in its cohort `cohort[v]`.
    """

    cohort: NDArray[np.int32]
    place: NDArray[np.int64]
    members: NDArray[np.int32]
    cells: NDArray[np.int32]
    sizes: NDArray[np.int32]
    counts: NDArray[np.int64]
    sensitive: NDArray[np.int64]
    real: NDArray[np.int64]
    prices: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def _in_slots(pool: Pool, rule: Rule, cohort: NDArray[np.int32], scratch_count: int) -> Cohorts:
    """Return the cohorts with room for `scratch_count` members each, priced."""
    n_cohorts, n_columns = cohort.max() + 1, pool.rows.shape[1]
    slots = slots_for(scratch_count)
    s = Cohorts(
        cohort,
        np.zeros(len(cohort), dtype=np.int64),
        np.zeros((n_cohorts, slots), dtype=np.int32),
        np.zeros((n_cohorts, n_columns, slots), dtype=np.int32),
        np.zeros((n_cohorts, slots), dtype=np.int32),
        np.zeros(n_cohorts, dtype=np.int64),
        np.zeros(n_cohorts, dtype=np.int64),
        np.zeros(n_cohorts, dtype=np.int64),
        np.zeros(n_cohorts, dtype=np.int64),
    )
    for v in range(len(cohort)):
        c = cohort[v]
        _hold(s, pool, c, s.counts[c], v)
        s.place[v] = s.counts[c]
        s.counts[c] += 1
        s.sensitive[c] += pool.is_sensitive[v]
        s.real[c] += pool.is_real[v]
    scratch = scratch_for(n_columns, slots)
    for c in range(n_cohorts):
        s.prices[c] = _price(s, rule, c, s.counts[c], (s.sensitive[c], s.real[c]), scratch)
    return s


@njit(cache=True, fastmath=False, nogil=True)
def _hold(s: Cohorts, pool: Pool, c: int, slot: int, v: int) -> None:
    """Let a slot of cohort c hold vertex v."""
    s.members[c, slot] = v
    set_slot(pool, v, slot, s.cells[c], s.sizes[c])


@njit(cache=True, fastmath=False, nogil=True)
def _price(
    s: Cohorts, rule: Rule, c: int, count: int, kinds: tuple[int, int], scratch: Scratch
) -> int:
    """Return the price of cohort c; `kinds` says how many members are sensitive, and real."""
    size, _ = shape_of_slots(rule, s.cells[c], s.sizes[c], count, scratch, False)
    return price(rule, size, count, kinds[0], kinds[1])


@njit(cache=True, fastmath=False, nogil=True)
def _try_swap(
    s: Cohorts, pool: Pool, rule: Rule, v: int, u: int, worst: float, scratch: Scratch
) -> None:
    """Let two members of different cohorts change places unless prices then exceed `worst`."""
    a, b = s.cohort[v], s.cohort[u]
    at_v, at_u = s.place[v], s.place[u]
    gain = np.int64(pool.is_sensitive[u]) - np.int64(pool.is_sensitive[v])
    real = np.int64(pool.is_real[u]) - np.int64(pool.is_real[v])
    _hold(s, pool, a, at_v, u)
    price_a = _price(s, rule, a, s.counts[a], (s.sensitive[a] + gain, s.real[a] + real), scratch)
    if price_a >= worst:
        _hold(s, pool, a, at_v, v)
        return
    _hold(s, pool, b, at_u, v)
    price_b = _price(s, rule, b, s.counts[b], (s.sensitive[b] - gain, s.real[b] - real), scratch)
    if price_a + price_b > worst:
        _hold(s, pool, a, at_v, v)
        _hold(s, pool, b, at_u, u)
        return
    s.place[v], s.place[u] = at_u, at_v
    s.cohort[v], s.cohort[u] = b, a
    s.sensitive[a] += gain
    s.sensitive[b] -= gain
    s.real[a] += real
    s.real[b] -= real
    s.prices[a], s.prices[b] = price_a, price_b


@njit(cache=True, fastmath=False, nogil=True)
def _try_move(
    s: Cohorts, pool: Pool, rule: Rule, v: int, b: int, worst: float, scratch: Scratch
) -> None:
    """Let a member enter cohort b, which has room, unless prices then exceed `worst`."""
    a, at_v = s.cohort[v], s.place[v]
    count_a, count_b = s.counts[a] - 1, s.counts[b] + 1
    last = s.members[a, count_a]
    leaves, real = np.int64(pool.is_sensitive[v]), np.int64(pool.is_real[v])
    _hold(s, pool, a, at_v, last)
    clear_slot(count_a, s.cells[a], s.sizes[a])
    price_a = _price(s, rule, a, count_a, (s.sensitive[a] - leaves, s.real[a] - real), scratch)
    accepted = price_a < worst
    price_b = price_a
    if accepted:
        _hold(s, pool, b, count_b - 1, v)
        kinds = (s.sensitive[b] + leaves, s.real[b] + real)
        price_b = _price(s, rule, b, count_b, kinds, scratch)
        accepted = price_a + price_b <= worst
        if not accepted:
            clear_slot(count_b - 1, s.cells[b], s.sizes[b])
    if not accepted:
        _hold(s, pool, a, count_a, last)
        _hold(s, pool, a, at_v, v)
        return
    s.place[last] = at_v
    s.place[v] = count_b - 1
    s.cohort[v] = b
    s.counts[a], s.counts[b] = count_a, count_b
    s.sensitive[a] -= leaves
    s.sensitive[b] += leaves
    s.real[a] -= real
    s.real[b] += real
    s.prices[a], s.prices[b] = price_a, price_b


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
    of a generator. A small class can end dearer than it began, still warm; it keeps its start.
    """
    n = len(cohort)
    start = cohort.copy()
    largest = np.bincount(cohort).max()
    room = largest + rule.limits[K]
    s = _in_slots(pool, rule, cohort, room)
    price_at_start = s.prices.sum()
    scratch = scratch_for(pool.rows.shape[1], room)
    cooling = (temperatures[1] / temperatures[0]) ** (1.0 / max(steps, 1))
    temperature = temperatures[0]
    for _ in range(steps):
        temperature *= cooling
        v = below(random, n)
        a = cohort[v]
        model = s.members[a, below(random, s.counts[a])]
        u = nearest[model, below(random, nearest.shape[1])]
        b = cohort[u]
        if a == b or model == v:
            continue
        is_move = uniform(random) < MOVES_SHARE and s.counts[a] > rule.limits[K]
        worst = s.prices[a] + s.prices[b] - temperature * np.log(1.0 - uniform(random))
        if is_move and s.counts[b] < room:
            _try_move(s, pool, rule, v, b, worst, scratch)
        else:
            _try_swap(s, pool, rule, v, u, worst, scratch)
    if s.prices.sum() > price_at_start:
        cohort[:] = start
