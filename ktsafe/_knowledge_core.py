"""Kernels that count who contains whose true neighbours, and take insertions back under that."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe._hashing_core import row_hash
from ktsafe._locations_core import T_DEN, T_NUM, WIDTH, K, Rule, Table, can_spare, lift
from ktsafe._trimming_core import _can_lose, withdraw_if_safe
from ktsafe._working_core import INSERTED, Working, see


class Truth(NamedTuple):
    """What the original vertices truly have, and who might contain it.

    `counts` (originals, tuples) are closed neighbourhoods by quasi-identifier tuple, whose columns
    of a histogram row begin at `first[0]`. `members[start[c]:start[c + 1]]` are the vertices of
    class c, ascending, so that the originals come first; `reals[c]` says how many they are.
    """

    counts: NDArray[np.int32]
    first: NDArray[np.int64]
    start: NDArray[np.int64]
    members: NDArray[np.int64]
    reals: NDArray[np.int64]


class Runs(NamedTuple):
    """Vertices with equal neighbourhoods, counted together.

    Run r stands for the vertices that look like `model[r]`; runs `start[c]:start[c + 1]` are those
    of class c, in ascending degree. `of_vertex` names the run of every vertex.
    """

    model: NDArray[np.int64]
    start: NDArray[np.int64]
    of_vertex: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def hashes(g: Working, n: int) -> NDArray[np.uint64]:
    """Return a hash of the histogram of each of the first n vertices."""
    values = np.empty(n, dtype=np.uint64)
    for v in range(n):
        values[v] = row_hash(g.hist[v], 0)
    return values


@njit(cache=True, fastmath=False, nogil=True)
def runs_of(g: Working, order: NDArray[np.int64], n_classes: int) -> Runs:
    """Return the runs of equal neighbourhoods in `order`: by class, degree and hash."""
    n = len(order)
    model = np.empty(n, dtype=np.int64)
    of_vertex = np.empty(n, dtype=np.int64)
    start = np.zeros(n_classes + 1, dtype=np.int64)
    top = 0
    for i in range(n):
        v = order[i]
        if top > 0:
            u = model[top - 1]
            same = g.cls[u] == g.cls[v] and g.degree[u] == g.degree[v]
            for x in range(g.hist.shape[1]):
                same = same and g.hist[u, x] == g.hist[v, x]
            if same:
                of_vertex[v] = top - 1
                continue
        model[top] = v
        of_vertex[v] = top
        top += 1
        start[g.cls[v] + 1] = top
    for c in range(n_classes):
        start[c + 1] = max(start[c + 1], start[c])
    return Runs(model[:top].copy(), start, of_vertex)


@njit(cache=True, fastmath=False, nogil=True)
def _within(rule: Rule, a: NDArray[np.int32], n_a: int, b: NDArray[np.int32], n_b: int) -> bool:
    """Whether two closed histograms are within t, attribute by attribute, on whole numbers."""
    bound = 2 * rule.limits[T_NUM] * np.int64(n_a) * np.int64(n_b)
    for j in range(len(rule.offsets) - 1):
        total = np.int64(0)
        for x in range(rule.offsets[j], rule.offsets[j + 1]):
            total += abs(np.int64(a[x]) * n_b - np.int64(b[x]) * n_a)
        if total * rule.limits[T_DEN] > bound:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def knows(g: Working, rule: Rule, truth: Truth, u: int, v: int) -> bool:
    """Whether u is similar to the original v of its class and contains v's true neighbours."""
    du, dv = g.degree[u], g.degree[v]
    if abs(du - dv) > rule.limits[WIDTH]:
        return False
    first = truth.first[0]
    for x in range(truth.counts.shape[1]):
        if g.hist[u, first + x] < truth.counts[v, x]:
            return False
    return _within(rule, g.hist[u], du + 1, g.hist[v], dv + 1)


@njit(cache=True, fastmath=False, nogil=True)
def known_of(g: Working, rule: Rule, truth: Truth, v: int) -> int:
    """Count the candidates of one original who contain its true neighbours."""
    c = g.cls[v]
    count = 0
    for at in range(truth.start[c], truth.start[c + 1]):
        count += knows(g, rule, truth, truth.members[at], v)
    return count


@njit(cache=True, fastmath=False, nogil=True)
def known_by_runs(
    g: Working,
    rule: Rule,
    truth: Truth,
    runs: Runs,
    is_placed: NDArray[np.bool_],
    limit: int,
) -> NDArray[np.int64]:
    """Count the placed candidates of every placed original, up to `limit`; -1 for the others."""
    count = np.zeros(len(runs.model), dtype=np.int64)
    for v in range(len(is_placed)):
        count[runs.of_vertex[v]] += is_placed[v]
    known = np.full(len(truth.counts), -1, dtype=np.int64)
    width = rule.limits[WIDTH]
    for v in range(len(known)):
        if not is_placed[v]:
            continue
        low, stop = runs.start[g.cls[v]], runs.start[g.cls[v] + 1]
        high = stop
        while low < high:
            middle = (low + high) // 2
            if g.degree[runs.model[middle]] < g.degree[v] - width:
                low = middle + 1
            else:
                high = middle
        known[v] = 0
        for r in range(low, stop):
            u = runs.model[r]
            if g.degree[u] > g.degree[v] + width or known[v] >= limit:
                break
            if count[r] > 0 and knows(g, rule, truth, u, v):
                known[v] += count[r]
    return known


@njit(cache=True, fastmath=False, nogil=True)
def _provide(
    g: Working, rule: Rule, truth: Truth, u: int, change: int, known: NDArray[np.int64]
) -> None:
    """Add `change` to the count of everybody who has u as a candidate."""
    c = g.cls[u]
    for at in range(truth.start[c], truth.start[c] + truth.reals[c]):
        v = truth.members[at]
        if knows(g, rule, truth, u, v):
            known[v] += change


@njit(cache=True, fastmath=False, nogil=True)
def _suffices(rule: Rule, truth: Truth, cls: int, known: NDArray[np.int64]) -> bool:
    """Whether every original of a class has k candidates."""
    for at in range(truth.start[cls], truth.start[cls] + truth.reals[cls]):
        if known[truth.members[at]] < rule.limits[K]:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def _copy(truth: Truth, cls: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> None:
    """Copy the counts of the originals of one class."""
    for at in range(truth.start[cls], truth.start[cls] + truth.reals[cls]):
        target[truth.members[at]] = source[truth.members[at]]


@njit(cache=True, fastmath=False, nogil=True)
def _unsee(g: Working, rule: Rule, truth: Truth, u: int, v: int, known: NDArray[np.int64]) -> bool:
    """Let u and v see each other once less; return whether everybody keeps k candidates.

    Counts of candidates follow.
    """
    _provide(g, rule, truth, u, -1, known)
    _provide(g, rule, truth, v, -1, known)
    see(g, u, v, -1)
    see(g, v, u, -1)
    _provide(g, rule, truth, u, 1, known)
    _provide(g, rule, truth, v, 1, known)
    # Both have moved, so that their own candidates are others.
    if u < len(known):
        known[u] = known_of(g, rule, truth, u)
    if v < len(known):
        known[v] = known_of(g, rule, truth, v)
    return _suffices(rule, truth, g.cls[u], known) and _suffices(rule, truth, g.cls[v], known)


@njit(cache=True, fastmath=False, nogil=True)
def trim_known(
    g: Working,
    table: Table,
    rule: Rule,
    truth: Truth,
    known: NDArray[np.int64],
    order: NDArray[np.int64],
    work_max: int,
) -> int:
    """Take back inserted edges, in the given order, while all stay safe and known by k.

    `order` is a permutation of the positions of all inserted edges; it ends early after
    `work_max` comparisons of two vertices. Returns how many were taken.
    """
    row = np.zeros(table.hist.shape[1], dtype=np.int32)
    position = np.arange(len(order))
    # `withdraw_edge` moves the last edge into the gap: `holder` says which edge is where.
    holder = np.arange(len(order))
    before = known.copy()
    taken, work = 0, 0
    for i in range(len(order)):
        if work > work_max:
            break
        at = position[order[i]]
        last = g.size[INSERTED] - 1
        u, v = g.inserted[at, 0], g.inserted[at, 1]
        if g.cls[u] != g.cls[v] and not (
            _can_lose(g, table, rule, u, v, row) and _can_lose(g, table, rule, v, u, row)
        ):
            continue  # Cheaper to find out than candidates.
        for c in (g.cls[u], g.cls[v]):
            work += 2 * truth.reals[c] + truth.start[c + 1] - truth.start[c]
            _copy(truth, c, known, before)
        enough = _unsee(g, rule, truth, u, v, known)
        see(g, u, v, 1)
        see(g, v, u, 1)
        if enough and withdraw_if_safe(g, table, rule, at, row):
            holder[at] = holder[last]
            position[holder[last]] = at
            taken += 1
        else:
            for c in (g.cls[u], g.cls[v]):
                _copy(truth, c, before, known)
    return taken


@njit(cache=True, fastmath=False, nogil=True)
def drop_isolated(
    g: Working,
    table: Table,
    rule: Rule,
    truth: Truth,
    known: NDArray[np.int64],
    is_dropped: NDArray[np.bool_],
) -> None:
    """Drop inserted vertices without edges that nobody needs, as a candidate or otherwise."""
    for u in range(len(known), len(is_dropped)):
        if g.degree[u] > 0:
            continue
        _provide(g, rule, truth, u, -1, known)
        enough = _suffices(rule, truth, g.cls[u], known)
        if enough and can_spare(table, rule, table.of_vertex[u]):
            lift(table, rule, u, 0)
            is_dropped[u] = True
        else:
            _provide(g, rule, truth, u, 1, known)
