"""Kernels of the privacy figures.

How pairs are walked through may be changed; what is counted is compared with the definitions in
tests/ktsafe/audit/test_release_audit.py. Distances stay whole numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel


class Multisets(NamedTuple):
    """Multisets of tuples: row r holds `frequency[e]` times `member[e]`, ascending in e."""

    pointer: NDArray[np.int64]
    member: NDArray[np.int32]
    frequency: NDArray[np.int32]


@kernel
def neighbour_runs(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    tuple_of: NDArray[np.int64],
    vertices: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return pointer, tuple and count.

    The multiset of tuples among each vertex's neighbours.

    Row r is that of `vertices[r]`, each vertex occurring at most once.
    """
    n = vertices.shape[0]
    degree_max = 0
    for v in vertices:
        degree_max = max(degree_max, indptr[v + 1] - indptr[v])
    pointer = np.zeros(n + 1, dtype=np.int64)
    column = np.empty(indices.shape[0], dtype=np.int32)
    count = np.empty(indices.shape[0], dtype=np.int32)
    members = np.empty(max(degree_max, 1), dtype=np.int64)
    filled = 0
    for r in range(n):
        v = vertices[r]
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
        pointer[r + 1] = filled
    return pointer, column[:filled].copy(), count[:filled].copy()


@kernel
def contains(have: Multisets, row: int, want: Multisets, v: int) -> bool:
    """Return whether multiset `row` of `have` contains multiset `v` of `want`."""
    x = have.pointer[row]
    x_stop = have.pointer[row + 1]
    for y in range(want.pointer[v], want.pointer[v + 1]):
        while x < x_stop and have.member[x] < want.member[y]:
            x += 1
        if x == x_stop or have.member[x] != want.member[y]:
            return False
        if have.frequency[x] < want.frequency[y]:
            return False
    return True


@kernel
def known_candidates(
    begin: NDArray[np.int64],
    stop: NDArray[np.int64],
    want: Multisets,
    have: Multisets,
) -> NDArray[np.int64]:
    """List the rows of `have` with the asked ones' true neighbours.

    Row i of `want` is that of the i-th asked one, whose candidates are rows `begin[i]` to
    `stop[i] - 1`: a scan reads memory in sequence. Pairs of i and a row, shape (pairs, 2), by i.
    """
    found = np.empty((1024, 2), dtype=np.int64)
    filled = 0
    for i in range(begin.shape[0]):
        for u in range(begin[i], stop[i]):
            if not contains(have, u, want, i):
                continue
            if filled == found.shape[0]:
                more = np.empty((2 * filled, 2), dtype=np.int64)
                # Not as arrays: that alone takes numba as long to compile as ten kernels.
                for x in range(filled):
                    more[x, 0], more[x, 1] = found[x, 0], found[x, 1]
                found = more
            found[filled, 0] = i
            found[filled, 1] = u
            filled += 1
    return found[:filled].copy()
