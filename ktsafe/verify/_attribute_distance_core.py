"""Kernels of the attribute distance (Definition 3), in exact integers.

They use no float and allocate nothing.

The distance of two neighbourhoods of sizes n1 and n2 in one attribute is half the L1 distance of
their value distributions. It is at most t iff the *scaled* distance sum |c1 * n2 - c2 * n1| is at
most 2 * t * n1 * n2. Two forms of the same sum: of dense rows of small neighbourhoods, many at
once; of sorted runs, for hubs. Bounds are checked by the caller.

Loops may be rearranged; every product must fit its type, and no float may enter.
tests/ktsafe/verify/test_verifier.py goes to the greatest sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel


class WideRows(NamedTuple):
    """Histograms as runs.

    Attribute a of row r is run `r * n_columns + a` of `pointer`.
    """

    pointer: NDArray[np.int64]
    column: NDArray[np.int32]
    frequency: NDArray[np.int64]


class Locations(NamedTuple):
    """Distinct (class, size, histogram), sorted by class and size.

    Equal pairs form a segment.

    `flagged[f, i]` counts the vertices at location i that carry flag f.
    """

    multiplicity: NDArray[np.int64]
    flagged: NDArray[np.int64]
    segment_of: NDArray[np.int64]
    segment_start: NDArray[np.int64]
    segment_size: NDArray[np.int64]
    segment_stop: NDArray[np.int64]
    histogram: NDArray[np.int16]
    offsets: NDArray[np.int64]
    row: NDArray[np.int64]


@kernel
def scaled_limit(size_1: int, size_2: int, numerator: int, denominator: int) -> int:
    """Return floor(2 * t * size_1 * size_2) exactly.

    t = numerator / denominator <= 1.

    Splitting off the quotient keeps every step at or below 2 * size_1 * size_2.
    """
    twice = 2 * size_1 * size_2
    return (twice // denominator) * numerator + (twice % denominator) * numerator // denominator


@inner_kernel
def wide_similar(
    wide: WideRows, n_columns: int, row_1: int, row_2: int, size_1: int, size_2: int, limit: int
) -> bool:
    """Return whether every attribute's scaled distance is within its limit.

    That is, sum |c1 * size_2 - c2 * size_1| <= limit.
    """
    for a in range(n_columns):
        x = wide.pointer[row_1 * n_columns + a]
        x_stop = wide.pointer[row_1 * n_columns + a + 1]
        y = wide.pointer[row_2 * n_columns + a]
        y_stop = wide.pointer[row_2 * n_columns + a + 1]
        distance = 0
        while x < x_stop or y < y_stop:
            if y == y_stop or (x < x_stop and wide.column[x] < wide.column[y]):
                distance += wide.frequency[x] * size_2
                x += 1
            elif x == x_stop or wide.column[y] < wide.column[x]:
                distance += wide.frequency[y] * size_1
                y += 1
            else:
                distance += abs(wide.frequency[x] * size_2 - wide.frequency[y] * size_1)
                x += 1
                y += 1
        if distance > limit:
            return False
    return True


@inner_kernel
def narrow_distances(
    locations: Locations,
    i: int,
    begin: int,
    size_1: int,
    size_2: int,
    total: NDArray[np.int16],
    worst: NDArray[np.int16],
) -> None:
    """Set `worst[j]` to locations' greatest attribute distance, scaled.

    The locations are i and begin + j.

    Plain loops over one column at a time, truncated to int16 after each step, which is exact
    because no value exceeds 2 * 127 * 127; the compiler turns them into vector instructions.
    """
    length = worst.shape[0]
    n_1 = np.int16(size_1)
    for j in range(length):
        worst[j] = np.int16(0)
    for a in range(locations.offsets.shape[0] - 1):
        for j in range(length):
            total[j] = np.int16(0)
        for c in range(locations.offsets[a], locations.offsets[a + 1]):
            x = np.int16(locations.histogram[c, i] * size_2)
            line = locations.histogram[c, begin : begin + length]
            for j in range(length):
                y = np.int16(line[j] * n_1)
                total[j] = np.int16(total[j] + np.int16(max(x, y) - min(x, y)))
        for j in range(length):
            worst[j] = max(worst[j], total[j])
