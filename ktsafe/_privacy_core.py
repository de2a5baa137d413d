"""Kernels of the privacy figures. They may use the verifier's, never the anonymizer's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe._verify_core import WideRows, scaled_limit, wide_similar


class Candidates(NamedTuple):
    """Released vertices by class and ascending degree; i-th question: `order[begin[i]:stop[i]]`."""

    order: NDArray[np.int64]
    begin: NDArray[np.int64]
    stop: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def neighbour_runs(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], tuple_of: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return pointer, tuple and count: the multiset of tuples among each vertex's neighbours."""
    n = indptr.shape[0] - 1
    degree_max = 0
    for v in range(n):
        degree_max = max(degree_max, indptr[v + 1] - indptr[v])
    pointer = np.zeros(n + 1, dtype=np.int64)
    column = np.empty(indices.shape[0], dtype=np.int32)
    count = np.empty(indices.shape[0], dtype=np.int64)
    members = np.empty(max(degree_max, 1), dtype=np.int32)
    filled = 0
    for v in range(n):
        degree = indptr[v + 1] - indptr[v]
        for i in range(degree):
            members[i] = tuple_of[indices[indptr[v] + i]]
        members[:degree].sort()
        begin = filled
        for i in range(degree):
            if filled > begin and column[filled - 1] == members[i]:
                count[filled - 1] += 1
            else:
                column[filled] = members[i]
                count[filled] = 1
                filled += 1
        pointer[v + 1] = filled
    return pointer, column[:filled].copy(), count[:filled].copy()


@njit(cache=True, fastmath=False, nogil=True)
def contains(have: WideRows, u: int, want: WideRows, v: int) -> bool:
    """Return whether multiset u of `have` contains multiset v of `want`."""
    x = have.pointer[u]
    x_stop = have.pointer[u + 1]
    for y in range(want.pointer[v], want.pointer[v + 1]):
        while x < x_stop and have.column[x] < want.column[y]:
            x += 1
        if x == x_stop or have.column[x] != want.column[y]:
            return False
        if have.frequency[x] < want.frequency[y]:
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def known_candidates(
    asked: NDArray[np.int64],
    original_of: NDArray[np.int64],
    candidates: Candidates,
    want: WideRows,
    have: WideRows,
    attributes: WideRows,
    sizes: NDArray[np.int64],
    tolerance: tuple[int, int, int, int],
) -> NDArray[np.int64]:
    """Count for each asked vertex who contains its true neighbours: anywhere, and inside its PS.

    `tolerance` is (numerator of t, its denominator, epsilon, number of attributes).
    """
    numerator, denominator, epsilon, q = tolerance
    counts = np.zeros((2, asked.shape[0]), dtype=np.int64)
    for i in range(asked.shape[0]):
        v = asked[i]
        for position in range(candidates.begin[i], candidates.stop[i]):
            u = candidates.order[position]
            if not contains(have, u, want, original_of[v]):
                continue
            counts[0, i] += 1
            if 2 * abs(sizes[u] - sizes[v]) <= epsilon:
                limit = scaled_limit(sizes[v], sizes[u], numerator, denominator)
                if wide_similar(attributes, q, v, u, sizes[v], sizes[u], limit):
                    counts[1, i] += 1
    return counts
