"""Swap search of the kt-tree: members change places to lower deviation.

`TRIED` may be tuned and loops may be rearranged; both change the bytes of releases, as does the
order of draws. tests/ktsafe/anonymization/test_kt_tree.py searches small cohorts for the best swap.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

TRIED: Final = 16
"""Members of a cohort of whom a swap is sought: those who may gain most. In cohorts of 100 all of
them find nothing better; cohorts that are far larger would take the square of their sizes."""


class Places(NamedTuple):
    """The members of one class and their cohorts.

    Attributes
    ----------
    rows:
        int32, shape (n, c): neighbour counts.
    is_sensitive:
        bool, shape (n,).
    cohort:
        int32, shape (n,): the cohort of each member.
    members:
        int32, shape (n,): members by cohort; those of i are members[first[i]:first[i + 1]].
    place:
        int32, shape (n,): where each member stands in `members`.
    first:
        int64, shape (cohorts + 1,).
    is_odd:
        bool, shape (cohorts,): whether the number of members is odd.
    sensitive:
        int64, shape (cohorts,): sensitive members.
    low, middle, high:
        int32, shape (cohorts, c): of the sorted counts of a column the one before the middle, the
        middle, and the next. Of an even number the two in the middle are the first two, and the
        third is the upper one again.
    """

    rows: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    cohort: NDArray[np.int32]
    members: NDArray[np.int32]
    place: NDArray[np.int32]
    first: NDArray[np.int64]
    is_odd: NDArray[np.bool_]
    sensitive: NDArray[np.int64]
    low: NDArray[np.int32]
    middle: NDArray[np.int32]
    high: NDArray[np.int32]


@kernel
def find_middles(places: Places) -> None:
    """Count the middle values of all cohorts."""
    values = np.empty(len(places.members), np.int32)
    for leaf in range(len(places.first) - 1):
        for column in range(places.rows.shape[1]):
            find_middle(places, leaf, column, values)


@inner_kernel
def find_middle(places: Places, leaf: int, column: int, values: NDArray[np.int32]) -> None:
    """Count the middle values of column j of cohort i anew.

    `values` is scratch.
    """
    low = places.first[leaf]
    size = places.first[leaf + 1] - low
    for s in range(size):
        x = places.rows[places.members[low + s], column]
        t = s
        while t > 0 and values[t - 1] > x:
            values[t] = values[t - 1]
            t -= 1
        values[t] = x
    half = size // 2
    if places.is_odd[leaf]:
        places.low[leaf, column] = values[max(half - 1, 0)]
        places.middle[leaf, column] = values[half]
        places.high[leaf, column] = values[min(half + 1, size - 1)]
    else:
        places.low[leaf, column] = values[half - 1]
        places.middle[leaf, column] = values[half]
        places.high[leaf, column] = values[half]


@inner_kernel
def apart(
    low: NDArray[np.int32],
    middle: NDArray[np.int32],
    high: NDArray[np.int32],
    is_odd: bool,
    gone: NDArray[np.int32],
    row: NDArray[np.int32],
) -> int:
    """Return a row's distance from the middle of a cohort without `gone`."""
    total = 0
    if is_odd:
        # An even number is left: all between the two in the middle are in the middle.
        for column in range(len(row)):
            left = low[column] if gone[column] >= middle[column] else middle[column]
            right = high[column] if gone[column] <= middle[column] else middle[column]
            total += max(left - row[column], 0) + max(row[column] - right, 0)
    else:
        for column in range(len(row)):
            left = low[column] if gone[column] >= middle[column] else middle[column]
            total += abs(row[column] - left)
    return total


@inner_kernel
def apart_at_least(low: NDArray[np.int32], high: NDArray[np.int32], row: NDArray[np.int32]) -> int:
    """Return a row's distance from all that lies between two others.

    From low to high: how far it is at least from the middle of a cohort, whoever goes.
    """
    total = 0
    for column in range(len(row)):
        total += max(low[column] - row[column], 0) + max(row[column] - high[column], 0)
    return total


@inner_kernel
def note_apart(places: Places, leaf: int, far: NDArray[np.int64]) -> None:
    """Note how much less a cohort deviates without each member."""
    low, middle, high = places.low[leaf], places.middle[leaf], places.high[leaf]
    for i in range(places.first[leaf], places.first[leaf + 1]):
        v = places.members[i]
        far[v] = apart(low, middle, high, places.is_odd[leaf], places.rows[v], places.rows[v])


@inner_kernel
def rank(
    places: Places,
    leaf: int,
    other: int,
    far: NDArray[np.int64],
    who: NDArray[np.int64],
    gain: NDArray[np.int64],
) -> int:
    """Note members that may do best elsewhere; return their number.

    `gain`, which descends, is by how much at most both cohorts would deviate less for each.
    """
    low, high = places.low[other], places.high[other]
    count = 0
    for i in range(places.first[leaf], places.first[leaf + 1]):
        v = places.members[i]
        less = far[v] - apart_at_least(low, high, places.rows[v])
        t = count
        if count < TRIED:
            count += 1
        elif less <= gain[TRIED - 1]:
            continue
        else:
            t = TRIED - 1
        while t > 0 and gain[t - 1] < less:
            gain[t], who[t] = gain[t - 1], who[t - 1]
            t -= 1
        gain[t], who[t] = less, v
    return count


@inner_kernel
def best_swap(
    places: Places,
    c: int,
    d: int,
    bearable: NDArray[np.int64],
    far: NDArray[np.int64],
    who: NDArray[np.int64],
    gain: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[int, int, int]:
    """Return the best swap of two cohorts, and its gain.

    Of swaps that change nothing one is drawn; those of members who are alike do not count. -1 is
    who does not swap. `who` and `gain`, shape (2, TRIED), are scratch.
    """
    n_here = rank(places, c, d, far, who[0], gain[0])
    n_there = rank(places, d, c, far, who[1], gain[1])
    low_c, middle_c, high_c = places.low[c], places.middle[c], places.high[c]
    low_d, middle_d, high_d = places.low[d], places.middle[d], places.high[d]
    best, best_u, best_v, n_equal = 0, -1, -1, 0
    for i in range(n_here):
        if gain[0, i] + gain[1, 0] < best:
            break
        u = who[0, i]
        for j in range(n_there):
            if gain[0, i] + gain[1, j] < best:
                break
            v = who[1, j]
            moved = int(places.is_sensitive[v]) - int(places.is_sensitive[u])
            if places.sensitive[c] + moved > bearable[c]:
                continue
            if places.sensitive[d] - moved > bearable[d]:
                continue
            row_u, row_v = places.rows[u], places.rows[v]
            less = far[u] + far[v]
            less -= apart(low_c, middle_c, high_c, places.is_odd[c], row_u, row_v)
            less -= apart(low_d, middle_d, high_d, places.is_odd[d], row_v, row_u)
            if less > best:
                best, best_u, best_v = less, u, v
            elif less == 0 and best == 0 and apart_at_least(row_u, row_u, row_v) > 0:
                n_equal += 1
                if rng.random() * n_equal < 1:
                    best_u, best_v = u, v
    return best, best_u, best_v


@inner_kernel
def swap(places: Places, u: int, v: int, far: NDArray[np.int64], values: NDArray[np.int32]) -> None:
    """Let two members change places; `values` is scratch."""
    c, d = places.cohort[u], places.cohort[v]
    moved = int(places.is_sensitive[v]) - int(places.is_sensitive[u])
    places.members[places.place[u]], places.members[places.place[v]] = v, u
    places.place[u], places.place[v] = places.place[v], places.place[u]
    places.cohort[u], places.cohort[v] = d, c
    places.sensitive[c] += moved
    places.sensitive[d] -= moved
    for column in range(places.rows.shape[1]):
        if places.rows[u, column] != places.rows[v, column]:
            find_middle(places, c, column, values)
            find_middle(places, d, column, values)
    note_apart(places, c, far)
    note_apart(places, d, far)


@kernel
def swap_members(
    places: Places,
    bearable: NDArray[np.int64],
    near: NDArray[np.int32],
    order: NDArray[np.int64],
    sweeps: int,
    rng: np.random.Generator,
) -> int:
    """Swap members of near cohorts while both together deviate less.

    Two cohorts swap what is best, until nothing is better; then one swap that changes nothing,
    since others may be better after it. They are looked at again once one of them has changed.

    Parameters
    ----------
    places:
        Changed in place.
    bearable:
        int64, shape (cohorts,): sensitive members that each may have.
    near:
        int32, shape (cohorts, any): the cohorts with which each changes members; itself is left
        out.
    order:
        int64: cohorts, in the order in which they look for swaps.
    sweeps:
        How often each does.
    rng:
        Draws among swaps that change nothing.

    Returns
    -------
    int
        By how much the deviation grew; at most 0.
    """
    n_cohorts = len(places.first) - 1
    values = np.empty(len(places.members), np.int32)
    far = np.empty(len(places.members), np.int64)
    for leaf in range(n_cohorts):
        note_apart(places, leaf, far)
    who, gain = np.empty((2, TRIED), np.int64), np.empty((2, TRIED), np.int64)
    n_swaps, total = 0, 0
    # After how many swaps a cohort changed last, and two of them looked for one.
    changed = np.zeros(n_cohorts, np.int64)
    looked = np.full(near.shape, -1, np.int64)
    for _ in range(sweeps):
        for c in order:
            for slot in range(near.shape[1]):
                d = near[c, slot]
                if c == d or looked[c, slot] >= max(changed[c], changed[d]):
                    continue
                is_better = True
                while is_better:
                    less, u, v = best_swap(places, c, d, bearable, far, who, gain, rng)
                    if u >= 0:
                        swap(places, u, v, far, values)
                        n_swaps += 1
                        changed[c], changed[d] = n_swaps, n_swaps
                    total -= less
                    is_better = less > 0
                looked[c, slot] = n_swaps
    return total
