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
        int32, shape (cohorts, 3, c): of the sorted counts of a column the one before the middle,
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
def find_middles(p: Places) -> None:
    """Count the middle values of all cohorts."""
    values = np.empty(len(p.members), np.int32)
    for i in range(len(p.first) - 1):
        for j in range(p.rows.shape[1]):
            find_middle(p, i, j, values)


@inner_kernel
def find_middle(p: Places, i: int, j: int, values: NDArray[np.int32]) -> None:
    """Count the middle values of column j of cohort i anew; `values` is scratch."""
    low = p.first[i]
    size = p.first[i + 1] - low
    for s in range(size):
        x = p.rows[p.members[low + s], j]
        t = s
        while t > 0 and values[t - 1] > x:
            values[t] = values[t - 1]
            t -= 1
        values[t] = x
    half = size // 2
    if size % 2:
        p.middle[i, 0, j] = values[max(half - 1, 0)]
        p.middle[i, 1, j] = values[half]
        p.middle[i, 2, j] = values[min(half + 1, size - 1)]
    else:
        p.middle[i, 0, j] = values[half - 1]
        p.middle[i, 1, j] = values[half]
        p.middle[i, 2, j] = values[half]


@inner_kernel
def replacing(p: Places, i: int, out: int, into: int) -> int:
    """Return by how much the deviation of cohort i grows if `into` takes the place of `out`."""
    is_odd = (p.first[i + 1] - p.first[i]) % 2
    low, mid, high = p.middle[i, 0], p.middle[i, 1], p.middle[i, 2]
    more = 0
    for j in range(p.rows.shape[1]):
        x, y = p.rows[out, j], p.rows[into, j]
        if x == y:
            continue
        if is_odd:
            # Without x the median is a range: x itself is charged to the old median.
            left = low[j] if x >= mid[j] else mid[j]
            right = high[j] if x <= mid[j] else mid[j]
            more += max(left - y, 0) + max(y - right, 0) - abs(x - mid[j])
        else:
            rest = low[j] if x >= mid[j] else mid[j]
            more += abs(y - rest) - abs(x - rest)
    return more


@kernel
def swap_members(
    p: Places,
    bearable: NDArray[np.int64],
    near: NDArray[np.int32],
    movers: NDArray[np.int32],
    n_swaps: int,
    rng: np.random.Generator,
) -> int:
    """Try swaps of two members of near cohorts; keep those that do not raise the deviation.

    Parameters
    ----------
    p:
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
    values = np.empty(np.diff(p.first).max(), np.int32)
    total = 0
    for _ in range(n_swaps):
        u = np.int64(movers[int(rng.random() * len(movers))])
        c = np.int64(p.cohort[u])
        d = np.int64(near[c, int(rng.random() * near.shape[1])])
        if c == d:
            continue
        size = p.first[d + 1] - p.first[d]
        v = np.int64(p.members[p.first[d] + int(rng.random() * size)])
        moved = int(p.is_sensitive[v]) - int(p.is_sensitive[u])
        if p.sensitive[c] + moved > bearable[c] or p.sensitive[d] - moved > bearable[d]:
            continue
        more = replacing(p, c, u, v)
        more += replacing(p, d, v, u)
        if more > 0:
            continue
        total += more
        p.members[p.place[u]], p.members[p.place[v]] = v, u
        p.place[u], p.place[v] = p.place[v], p.place[u]
        p.cohort[u], p.cohort[v] = d, c
        p.sensitive[c] += moved
        p.sensitive[d] -= moved
        for j in range(p.rows.shape[1]):
            if p.rows[u, j] != p.rows[v, j]:
                find_middle(p, c, j, values)
                find_middle(p, d, j, values)
    return total
