"""The swap search of the kt-tree: members change places so that cohorts deviate less."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels import inner_kernel, kernel


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
    sensitive:
        int64, shape (cohorts,): sensitive members.
    middle:
        int32, shape (cohorts, c, 3): of the sorted counts of a column the one before the middle,
        the middle (of an even number the lower and the upper: entries 0 and 1), and the next.
    """

    rows: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    cohort: NDArray[np.int32]
    members: NDArray[np.int32]
    place: NDArray[np.int32]
    first: NDArray[np.int64]
    sensitive: NDArray[np.int64]
    middle: NDArray[np.int32]


@kernel
def find_middles(places: Places) -> None:
    """Count the middle values of all cohorts."""
    values = np.empty(len(places.members), np.int32)
    for leaf in range(len(places.first) - 1):
        for column in range(places.rows.shape[1]):
            find_middle(places, leaf, column, values)


@inner_kernel
def find_middle(places: Places, leaf: int, column: int, values: NDArray[np.int32]) -> None:
    """Count the middle values of column j of cohort i anew; `values` is scratch."""
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
    if size % 2:
        places.middle[leaf, column, 0] = values[max(half - 1, 0)]
        places.middle[leaf, column, 1] = values[half]
        places.middle[leaf, column, 2] = values[min(half + 1, size - 1)]
    else:
        places.middle[leaf, column, 0] = values[half - 1]
        places.middle[leaf, column, 1] = values[half]
        places.middle[leaf, column, 2] = values[half]


@inner_kernel
def apart(middle: NDArray[np.int32], is_odd: bool, gone: int, x: int) -> int:
    """Return how far x is from the middle of a cohort's column without a member who has `gone`."""
    low, mid = middle[0], middle[1]
    left = low if gone >= mid else mid
    if not is_odd:
        return abs(x - left)
    # An even number is left: all between the two in the middle are in the middle.
    right = middle[2] if gone <= mid else mid
    return max(left - x, 0) + max(x - right, 0)


@inner_kernel
def note_apart(places: Places, leaf: int, far: NDArray[np.int64]) -> None:
    """Note how much less a cohort would deviate without each of its members."""
    is_odd = (places.first[leaf + 1] - places.first[leaf]) % 2 == 1
    for i in range(places.first[leaf], places.first[leaf + 1]):
        v = np.int64(places.members[i])
        far[v] = 0
        for column in range(places.rows.shape[1]):
            x = places.rows[v, column]
            far[v] += apart(places.middle[leaf, column], is_odd, x, x)


@kernel
def swap_members(
    places: Places,
    bearable: NDArray[np.int64],
    near: NDArray[np.int32],
    movers: NDArray[np.int32],
    n_swaps: int,
    rng: np.random.Generator,
) -> int:
    """Try swaps of two members of near cohorts; keep those that do not raise the deviation.

    Parameters
    ----------
    places:
        Changed in place.
    bearable:
        int64, shape (cohorts,): sensitive members that each may have.
    near:
        int32, shape (cohorts, any): the cohorts with which each changes members; itself is left
        out.
    movers:
        int32: members of whom one is drawn for each swap.
    n_swaps:
        Swaps to try.
    rng:
        Draws members.

    Returns
    -------
    int
        By how much the deviation grew; at most 0.
    """
    values = np.empty(len(places.members), np.int32)
    far = np.empty(len(places.members), np.int64)
    for leaf in range(len(places.first) - 1):
        note_apart(places, leaf, far)
    total = 0
    for _ in range(n_swaps):
        u = np.int64(movers[int(rng.random() * len(movers))])
        c = np.int64(places.cohort[u])
        d = np.int64(near[c, int(rng.random() * near.shape[1])])
        if c == d:
            continue
        size = places.first[d + 1] - places.first[d]
        v = np.int64(places.members[places.first[d] + int(rng.random() * size)])
        moved = int(places.is_sensitive[v]) - int(places.is_sensitive[u])
        if places.sensitive[c] + moved > bearable[c] or places.sensitive[d] - moved > bearable[d]:
            continue
        is_odd_c = (places.first[c + 1] - places.first[c]) % 2 == 1
        is_odd_d = size % 2 == 1
        more = -far[u] - far[v]
        for column in range(places.rows.shape[1]):
            x, y = places.rows[u, column], places.rows[v, column]
            more += apart(places.middle[c, column], is_odd_c, x, y)
            more += apart(places.middle[d, column], is_odd_d, y, x)
            if more > 0:
                break
        if more > 0:
            continue
        total += more
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
    return total
