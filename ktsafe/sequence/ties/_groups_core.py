"""Kernels that choose which groups a matching covers: none or enough members of each."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.sequence.ties._matching_core import (
    REMOVED,
    UNMATCHED,
    Copy,
    Search,
    augment,
    copied,
    keep,
    restore,
)

STEPS_MAX = 300
"""Groups that are opened or closed one after the other."""

TRIES_MAX = 5
"""Groups of which the best is opened or closed in a step."""

TENURE = 6
"""Steps for which a group stays as it is after a step."""

PENALTY = 15
"""Matched vertices that one that is lacking weighs as much as."""

TIE = 20
"""Matched vertices that a tie between covered groups is worth: about what a raise would cost."""


class Groups(NamedTuple):
    """Which groups take part, and room for a search.

    Attributes
    ----------
    ptr, members:
        The vertices of each group, compressed.
    need:
        Of each group the members that must be matched if it is open; 0 if it can never be.
    is_open, until:
        Of each group whether it takes part, and the step before which it stays as it is.
    ties:
        int64, shape (t, 2): vertices that are worth being covered together.
    found, mark, queue:
        Candidates of a step, those already found, and vertices to be looked at.
    """

    ptr: NDArray[np.int64]
    members: NDArray[np.int64]
    need: NDArray[np.int64]
    is_open: NDArray[np.bool_]
    until: NDArray[np.int64]
    ties: NDArray[np.int64]
    found: NDArray[np.int64]
    mark: NDArray[np.int64]
    queue: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def choose_groups(search: Search, ties: NDArray[np.int64], chances: NDArray[np.float64]) -> None:
    """Close groups until of each other one enough members are matched, and few are closed.

    Parameters
    ----------
    search:
        A largest matching, in which no group is closed.
    ties:
        int64, shape (t, 2): vertices whose groups should both stay open, if possible.
    chances:
        float64, not empty: uniform random numbers; used again from the start when all were used.

    Complexity
    ----------
    `STEPS_MAX` times `TRIES_MAX` exchanges, each of a few searches for alternating paths.
    """
    groups = _all_open(search, ties)
    best = copied(search)
    value = _walk(search, groups, chances, best)
    if value > 0:
        restore(search, best)
    else:
        _close_failing(search, groups)


@njit(cache=True, fastmath=False, nogil=True)
def _all_open(search: Search, ties: NDArray[np.int64]) -> Groups:
    """Open every group of which enough members have a neighbour."""
    n, n_groups = len(search.group), len(search.need)
    ptr = np.zeros(n_groups + 1, dtype=np.int64)
    able = np.zeros(n_groups, dtype=np.int64)
    for v in range(n):
        ptr[search.group[v] + 1] += 1
        able[search.group[v]] += search.indptr[v + 1] > search.indptr[v]
    need = search.need.copy()
    is_open = np.ones(n_groups, dtype=np.bool_)
    for g in range(n_groups):
        ptr[g + 1] += ptr[g]
        if able[g] < need[g]:
            is_open[g] = False
            need[g] = 0
    members = np.empty(n, dtype=np.int64)
    filled = ptr.copy()
    for v in range(n):
        members[filled[search.group[v]]] = v
        filled[search.group[v]] += 1
    groups = Groups(
        ptr,
        members,
        need,
        is_open,
        np.zeros(n_groups, dtype=np.int64),
        ties,
        np.empty(n_groups, dtype=np.int64),
        np.full(n_groups, -1, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )
    for g in range(n_groups):
        if not is_open[g]:
            search.need[g] = 0
            _remove(search, groups, g)
    return groups


@njit(cache=True, fastmath=False, nogil=True)
def _walk(
    search: Search,
    groups: Groups,
    chances: NDArray[np.float64],
    best: Copy,
) -> int:
    """Open and close groups where members are lacking; note the best matching without a lack.

    Whoever lacks a partner depends on the vertices that alternating paths from it reach. One of
    their groups must be closed, or one next to them opened. Where nobody lacks one, a closed group
    is opened. Returns the value of the best matching, 0 if there is none.
    """
    before, after = copied(search), copied(search)
    best_value = 0
    drawn = 0
    _serve_failing(search)
    for step in range(STEPS_MAX):
        root = _failing(search, groups.queue, chances[drawn % len(chances)])
        drawn += 1
        if root < 0:
            value = _value(search, groups)
            if value > best_value:
                best_value = value
                keep(search, best)
            count, tries = _closed(groups, step), 1
        else:
            count, tries = _depending(search, groups, root, step), TRIES_MAX
        keep(search, before)
        least, chosen = 0, -1
        for i in range(min(tries, count)):
            j = i + int(chances[drawn % len(chances)] * (count - i))
            drawn += 1
            g = groups.found[j]
            groups.found[j] = groups.found[i]
            if groups.until[g] > step:
                continue
            _toggle(search, groups, g)
            energy = PENALTY * _lacking(search) - _value(search, groups)
            if chosen < 0 or energy < least:
                least, chosen = energy, g
                keep(search, after)
            restore(search, before)
            groups.is_open[g] = not groups.is_open[g]
        if chosen >= 0:
            restore(search, after)
            groups.is_open[chosen] = not groups.is_open[chosen]
            groups.until[chosen] = step + TENURE
        elif root < 0:
            break
    return best_value


@njit(cache=True, fastmath=False, nogil=True)
def _close_failing(search: Search, groups: Groups) -> None:
    """Close the groups that lack most until none lacks any."""
    while True:
        worst = np.argmax(search.need - search.matched)
        if search.matched[worst] >= search.need[worst]:
            return
        _toggle(search, groups, worst)


@njit(cache=True, fastmath=False, nogil=True)
def _toggle(search: Search, groups: Groups, g: int) -> None:
    """Close an open group, or open a closed one, and serve who lacks a partner then."""
    is_open = groups.is_open[g]
    groups.is_open[g] = not is_open
    if is_open:
        # Others rob it first, so that few of them lose a partner when it goes.
        search.need[g] = 0
        _serve_failing(search)
        _remove(search, groups, g)
    else:
        search.need[g] = groups.need[g]
        for i in range(groups.ptr[g], groups.ptr[g + 1]):
            v = groups.members[i]
            if search.indptr[v] < search.indptr[v + 1]:
                search.mate[v] = UNMATCHED
    _serve_failing(search)


@njit(cache=True, fastmath=False, nogil=True)
def _remove(search: Search, groups: Groups, g: int) -> None:
    """Let no member of a group take part; their partners lack one then."""
    mate, matched = search.mate, search.matched
    for i in range(groups.ptr[g], groups.ptr[g + 1]):
        v = groups.members[i]
        if mate[v] >= 0:
            matched[search.group[mate[v]]] -= 1
            mate[mate[v]] = UNMATCHED
            matched[g] -= 1
        mate[v] = REMOVED


@njit(cache=True, fastmath=False, nogil=True)
def _serve_failing(search: Search) -> None:
    """Serve groups that lack members at the expense of those that have more than they need."""
    group, mate, need, matched = search.group, search.mate, search.need, search.matched
    for v in range(len(mate)):
        if mate[v] == UNMATCHED and matched[group[v]] < need[group[v]]:
            augment(search, v, True)


@njit(cache=True, fastmath=False, nogil=True)
def _failing(search: Search, queue: NDArray[np.int64], chance: float) -> int:
    """Return a random vertex without a partner whose group lacks members, -1 if there is none."""
    group, mate, need, matched = search.group, search.mate, search.need, search.matched
    count = 0
    for v in range(len(mate)):
        if mate[v] == UNMATCHED and matched[group[v]] < need[group[v]]:
            queue[count] = v
            count += 1
    return queue[int(chance * count)] if count else -1


@njit(cache=True, fastmath=False, nogil=True)
def _closed(groups: Groups, step: int) -> int:
    """Find the closed groups that may be opened; return how many."""
    count = 0
    for g in range(len(groups.need)):
        if groups.need[g] > 0 and not groups.is_open[g] and groups.until[g] <= step:
            groups.found[count] = g
            count += 1
    return count


@njit(cache=True, fastmath=False, nogil=True)
def _depending(search: Search, groups: Groups, root: int, step: int) -> int:
    """Find the groups of vertices that alternating paths from a vertex reach, return how many.

    They are those of vertices that could be left without a partner instead, and closed ones with
    somebody who could become one.
    """
    indptr, indices, group, mate, seen = (
        search.indptr,
        search.indices,
        search.group,
        search.mate,
        search.seen,
    )
    queue, found, mark = groups.queue, groups.found, groups.mark
    seen[-1] += 1
    reached = seen[-1]
    seen[root] = reached
    queue[0] = root
    found[0] = group[root]
    mark[group[root]] = step
    count, head, tail = 1, 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        for e in range(indptr[v], indptr[v + 1]):
            w = indices[e]
            if seen[w] == reached:
                continue
            seen[w] = reached
            x = mate[w]
            if x >= 0:
                if seen[x] == reached:
                    continue
                seen[x] = reached
                queue[tail] = x
                tail += 1
            g = group[x] if x >= 0 else group[w]
            may_change = x >= 0 or (x == REMOVED and groups.need[g] > 0)
            if may_change and mark[g] != step:
                mark[g] = step
                found[count] = g
                count += 1
    return count


@njit(cache=True, fastmath=False, nogil=True)
def _lacking(search: Search) -> int:
    """Return how many members are lacking."""
    need, matched = search.need, search.matched
    lacking = 0
    for g in range(len(need)):
        lacking += max(0, need[g] - matched[g])
    return lacking


@njit(cache=True, fastmath=False, nogil=True)
def _value(search: Search, groups: Groups) -> int:
    """Return how many vertices are matched, and what the ties between open groups are worth."""
    value = 0
    mate, matched, ties = search.mate, search.matched, groups.ties
    for g in range(len(matched)):
        value += matched[g]
    for t in range(len(ties)):
        if mate[ties[t, 0]] != REMOVED and mate[ties[t, 1]] != REMOVED:
            value += TIE
    return value
