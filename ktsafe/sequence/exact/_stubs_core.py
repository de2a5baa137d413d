"""Kernels for stubs: which classes they name, and which of them become edges."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.working._graph_core import Working, forget_edge, has_edge, insert_edge, remember_edge
from ktsafe.working._random_core import below, uniform

NO_CLASS = -1
"""Of a combination of values that nobody has."""

STRAY_SHARE = 0.02
"""Share of the stubs that exchange values although their class has not too many like them."""

TRIES_MAX = 400
"""Others with whom two that cannot meet try to exchange partners."""


@njit(cache=True, fastmath=False, nogil=True)
def _count(counts: NDArray[np.int64], a: int, b: int, by: int) -> int:
    """Count `by` more stubs of class a that want class b; return how much imbalance that adds.

    Stubs of two classes for each other shall be equally many, those of a class for itself even.
    """
    if b == NO_CLASS:
        return by
    if a == b:
        before = counts[a, a] & 1
        counts[a, a] += by
        return (counts[a, a] & 1) - before
    surplus = counts[a, b] - counts[b, a]
    counts[a, b] += by
    return abs(surplus + by) - abs(surplus)


@njit(cache=True, fastmath=False, nogil=True)
def _is_surplus(counts: NDArray[np.int64], a: int, b: int) -> bool:
    """Whether class a has more stubs for b than find a counterpart."""
    if b == NO_CLASS:
        return True
    return counts[a, a] & 1 == 1 if a == b else counts[a, b] > counts[b, a]


@njit(cache=True, fastmath=False, nogil=True)
def _crowded(
    digits: NDArray[np.int64], begin: int, end: int, codes: tuple[int, int], most: int
) -> bool:
    """Whether a vertex has `most` stubs of one of these codes already."""
    if end - begin <= most:
        return False
    found_first, found_second = 0, 0
    for s in range(begin, end):
        code = np.int64(0)
        for j in range(digits.shape[1]):
            code += digits[s, j]
        found_first += code == codes[0]
        found_second += code == codes[1]
    return max(found_first, found_second) >= most


@njit(cache=True, fastmath=False, nogil=True)
def reconcile(
    start: NDArray[np.int64],
    cls: NDArray[np.int64],
    digits: NDArray[np.int64],
    class_of: NDArray[np.int64],
    counts: NDArray[np.int64],
    most: NDArray[np.int64],
    steps: int,
    random: NDArray[np.uint64],
) -> None:
    """Let stubs of one vertex exchange values, until classes want each other equally often.

    A step takes a stub, mostly one that its class has too many of, and exchanges the value of one
    attribute with another stub of the same vertex, unless that adds imbalance. Exchanges that
    change nothing are made too: they carry surplus stubs to where they meet their counterparts.

    Parameters
    ----------
    start, cls:
        Of each vertex its first stub (and, at the end, the number of stubs), and its class.
    digits:
        int64, shape (stubs, attributes), changed in place: for each value a number; they add up
        to the code of a combination.
    class_of:
        The class of each code, NO_CLASS where there is none.
    counts:
        int64, shape (classes, classes), kept in step: stubs of each class for each other.
    most:
        int64, shape (vertices,): stubs for one class beyond which a vertex does not go.
    steps, random:
        How many steps; the state of a generator.
    """
    n, q = digits.shape
    owner = np.empty(n, dtype=np.int64)
    for v in range(len(cls)):
        owner[start[v] : start[v + 1]] = v
    for _ in range(steps):
        s = below(random, n)
        v = owner[s]
        r = start[v] + below(random, start[v + 1] - start[v])
        j = below(random, q)
        if digits[s, j] == digits[r, j]:
            continue
        code_s, code_r = digits[s].sum(), digits[r].sum()
        a, b, c = cls[v], class_of[code_s], class_of[code_r]
        if not _is_surplus(counts, a, b) and uniform(random) > STRAY_SHARE:
            continue
        change = digits[r, j] - digits[s, j]
        d, e = class_of[code_s + change], class_of[code_r - change]
        if _crowded(digits, start[v], start[v + 1], (code_s + change, code_r - change), most[v]):
            continue
        worse = _count(counts, a, b, -1) + _count(counts, a, c, -1)
        worse += _count(counts, a, d, 1) + _count(counts, a, e, 1)
        if worse <= 0:
            digits[s, j] += change
            digits[r, j] -= change
        else:
            _count(counts, a, e, -1)
            _count(counts, a, d, -1)
            _count(counts, a, c, 1)
            _count(counts, a, b, 1)


@njit(cache=True, fastmath=False, nogil=True)
def _can_meet(g: Working, u: int, v: int) -> bool:
    """Whether there can be a new edge."""
    return u != v and not has_edge(g, u, v)


@njit(cache=True, fastmath=False, nogil=True)
def join(
    g: Working, left: NDArray[np.int64], right: NDArray[np.int64], random: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Insert an edge between each vertex of `left` and one of `right`, which is rearranged.

    Where two cannot meet they exchange partners with others, at random. Returns which positions
    have no edge in the end.
    """
    n = len(left)
    is_missing = np.ones(n, dtype=np.bool_)
    for i in range(n):
        if _can_meet(g, left[i], right[i]):
            remember_edge(g, left[i], right[i])
            is_missing[i] = False
            continue
        for _ in range(TRIES_MAX):
            j = below(random, n)
            if _exchange(g, left, right, is_missing, i, j):
                break
    for i in range(n):
        if not is_missing[i]:
            forget_edge(g, left[i], right[i])
            insert_edge(g, left[i], right[i])
    return is_missing


@njit(cache=True, fastmath=False, nogil=True)
def _exchange(
    g: Working,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    is_missing: NDArray[np.bool_],
    i: int,
    j: int,
) -> bool:
    """Let position i, which has no edge, and j exchange partners, if that gives i one."""
    had = not is_missing[j]
    if had:
        forget_edge(g, left[j], right[j])
    if i != j and _can_meet(g, left[i], right[j]):
        remember_edge(g, left[i], right[j])
        if not had or _can_meet(g, left[j], right[i]):
            right[i], right[j] = right[j], right[i]
            is_missing[i] = False
            if had:
                remember_edge(g, left[j], right[j])
            return True
        forget_edge(g, left[i], right[j])
    if had:
        remember_edge(g, left[j], right[j])
    return False
