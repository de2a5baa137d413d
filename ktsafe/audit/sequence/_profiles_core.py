"""Kernels of the auditor's own profiles: exact integers, no float.

A *profile* is one run of int64: `degree, code_1 .. code_q, column, count, column, count ...`, where
a column is `attribute << 32 | code` and the pairs count the values of the closed neighbourhood,
ascending by column. Equal profiles are equal locations.

They share nothing with the anonymizer, the sequence engine or the verifier, and must not. Bounds
are checked by the caller (`profiles.SIZE_MAX`). Loops may be made faster (test_parts.py counts
values), and `VALUES_PER_NEIGHBOUR`, a first guess of memory, be tuned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

VALUES_PER_NEIGHBOUR = 4
"""Up to so many values for each member of a neighbourhood they are counted in a table."""


class Profiles(NamedTuple):
    """Profiles one after another: row r is `flat[pointer[r]:pointer[r + 1]]`."""

    pointer: NDArray[np.int64]
    flat: NDArray[np.int64]


@kernel
def shared_ties(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    edges: NDArray[np.int32],
    ties: NDArray[np.int32],
    position: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which ties are edges, and which edges are ties.

    End u of a tie is vertex `position[u]`, below 0 for none; no two are one. The adjacency has
    neighbours in the order of the edges. Ties of one first end that follow each other are looked
    for together.
    """
    is_edge = np.zeros(ties.shape[0], dtype=np.bool_)
    is_met = np.zeros(indices.shape[0], dtype=np.bool_)
    # Of 32 bits, so it stays near.
    sought = np.full(indptr.shape[0], -1, dtype=np.int32)
    first = last = 0
    while first < ties.shape[0]:
        while last < ties.shape[0] and ties[last, 0] == ties[first, 0]:
            if position[ties[last, 1]] >= 0:
                sought[position[ties[last, 1]]] = last
            last += 1
        v = position[ties[first, 0]]
        if v >= 0:
            for i in range(indptr[v], indptr[v + 1]):
                tie = sought[indices[i]]
                # Earlier ones are of another end.
                if tie >= first:
                    is_edge[tie] = is_met[i] = True
        first = last
    is_tie = np.zeros(edges.shape[0], dtype=np.bool_)
    place = indptr[:-1].copy()
    for e in range(edges.shape[0]):
        u = edges[e, 0]
        v = edges[e, 1]
        is_tie[e] = is_met[place[u]]
        place[u] += 1
        is_tie[e] |= is_met[place[v]]
        place[v] += 1
    return is_edge, is_tie


@kernel
def difference(
    first: NDArray[np.int64], second: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what only `first` holds and what only `second` holds.

    Both ascend without repeats.
    """
    only_first = np.empty(first.shape[0], dtype=np.int64)
    only_second = np.empty(second.shape[0], dtype=np.int64)
    x = y = n_first = n_second = 0
    while x < first.shape[0] or y < second.shape[0]:
        if y == second.shape[0] or (x < first.shape[0] and first[x] < second[y]):
            only_first[n_first] = first[x]
            n_first += 1
            x += 1
        elif x == first.shape[0] or second[y] < first[x]:
            only_second[n_second] = second[y]
            n_second += 1
            y += 1
        else:
            x += 1
            y += 1
    return only_first[:n_first].copy(), only_second[:n_second].copy()


@kernel
def profiles(
    vertices: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    codes: NDArray[np.int64],
    n_values: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pointer and flat profiles of `vertices`.

    Codes (n, q) are below `n_values` (q).
    """
    n_columns = codes.shape[1]
    capacity = 0
    degree_max = 0
    for v in vertices:
        degree = indptr[v + 1] - indptr[v]
        degree_max = max(degree_max, degree)
        capacity += 1 + n_columns + 2 * n_columns * (degree + 1)
    pointer = np.zeros(vertices.shape[0] + 1, dtype=np.int64)
    flat = np.empty(capacity, dtype=np.int64)
    near = np.empty(degree_max + 1, dtype=np.int64)
    counts = np.zeros(VALUES_PER_NEIGHBOUR * (degree_max + 1), dtype=np.int64)
    filled = 0
    for r in range(vertices.shape[0]):
        v = vertices[r]
        degree = indptr[v + 1] - indptr[v]
        flat[filled] = degree
        filled += 1
        for a in range(n_columns):
            flat[filled] = codes[v, a]
            filled += 1
        for a in range(n_columns):
            if n_values[a] <= VALUES_PER_NEIGHBOUR * (degree + 1):
                # Few values: a table of all takes less than putting neighbours in order.
                counts[codes[v, a]] += 1
                for i in range(degree):
                    counts[codes[indices[indptr[v] + i], a]] += 1
                for value in range(n_values[a]):
                    if counts[value]:
                        flat[filled] = (a << 32) | value
                        flat[filled + 1] = counts[value]
                        filled += 2
                        counts[value] = 0
                continue
            near[0] = codes[v, a]
            for i in range(degree):
                near[i + 1] = codes[indices[indptr[v] + i], a]
            near[: degree + 1].sort()
            begin = filled
            for i in range(degree + 1):
                column = (a << 32) | near[i]
                if filled > begin and flat[filled - 2] == column:
                    flat[filled - 1] += 1
                else:
                    flat[filled] = column
                    flat[filled + 1] = 1
                    filled += 2
        pointer[r + 1] = filled
    return pointer, flat[:filled].copy()


@inner_kernel
def are_similar(
    pointer: NDArray[np.int64],
    flat: NDArray[np.int64],
    n_columns: int,
    rows: tuple[int, int],
    tolerance: tuple[int, int],
) -> bool:
    """Return whether every attribute's distance is at most t.

    It is half the L1 distance of distributions.

    That is sum |c1 * n2 - c2 * n1| * denominator <= 2 * numerator * n1 * n2 for t = numerator /
    denominator.
    """
    x = pointer[rows[0]]
    y = pointer[rows[1]]
    x_stop = pointer[rows[0] + 1]
    y_stop = pointer[rows[1] + 1]
    size_1 = flat[x] + 1
    size_2 = flat[y] + 1
    limit = 2 * tolerance[0] * size_1 * size_2
    x += 1 + n_columns
    y += 1 + n_columns
    attribute = 0
    distance = 0
    while x < x_stop or y < y_stop:
        if y == y_stop or (x < x_stop and flat[x] < flat[y]):
            column = flat[x]
            part = flat[x + 1] * size_2
            x += 2
        elif x == x_stop or flat[y] < flat[x]:
            column = flat[y]
            part = flat[y + 1] * size_1
            y += 2
        else:
            column = flat[x]
            part = abs(flat[x + 1] * size_2 - flat[y + 1] * size_1)
            x += 2
            y += 2
        if column >> 32 != attribute:
            attribute = column >> 32
            distance = 0
        distance += part
        if distance * tolerance[1] > limit:
            return False
    return True


@kernel
def similar_pairs(
    stored: Profiles,
    n_columns: int,
    is_new: NDArray[np.bool_],
    begin: NDArray[np.int64],
    stop: NDArray[np.int64],
    tolerance: tuple[int, int],
    first: int,
    last: int,
    found: NDArray[np.int64],
) -> int:
    """Write similar pairs of rows to `found`, shape (capacity, 2).

    Return how many.

    New rows x of first:last are compared with rows begin[x]:stop[x], which are of their class and
    degree band; each pair is written once, no row is paired with itself. The capacity must be at
    least the rows in all these bands.
    """
    written = 0
    for x in range(first, last):
        if not is_new[x]:
            continue
        for y in range(begin[x], stop[x]):
            if y == x or (is_new[y] and y < x):
                continue
            if are_similar(stored.pointer, stored.flat, n_columns, (x, y), tolerance):
                found[written, 0] = x
                found[written, 1] = y
                written += 1
    return written
