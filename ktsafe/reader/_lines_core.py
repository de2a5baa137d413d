"""Kernel that reads the edges of a release from bytes.

Small tables are read without it, so it is no part of the toy runs that compile kernels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel

BLOCK = 1024
"""Lines that are read before their ids are looked for, so nothing waits for the slower work."""


@kernel
def edge_ends(
    lines: NDArray[np.uint8],
    digits: NDArray[np.uint64],
    ranked: NDArray[np.uint64],
    order: NDArray[np.int32],
    begins: NDArray[np.int32],
    shift: np.uint64,
    edges: NDArray[np.int32],
) -> bool:
    """Write the ends of each line; return whether all are ids.

    Parameters
    ----------
    lines:
        Shape (m, 34): two ids of 16 letters, a comma between them, a newline.
    digits:
        What each letter stands for; above 15 if it is no digit.
    ranked, order:
        The ids, ascending, and the vertex of each.
    begins:
        Where ids begin by their upper bits, those below `shift` left out, and where the last end.
    """
    numbers = np.empty((BLOCK, 2), dtype=np.uint64)
    former = np.uint64(0)
    place = np.int32(-1)
    for begin in range(0, lines.shape[0], BLOCK):
        stop = min(begin + BLOCK, lines.shape[0])
        for e in range(begin, stop):
            if lines[e, 16] != 44 or lines[e, 33] != 10:
                return False
            for side in range(2):
                number = np.uint64(0)
                every = np.uint64(0)
                for i in range(17 * side, 17 * side + 16):
                    digit = digits[lines[e, i]]
                    every |= digit
                    number = (number << np.uint64(4)) | digit
                if every > np.uint64(15):
                    return False
                numbers[e - begin, side] = number
        for e in range(begin, stop):
            for side in range(2):
                number = numbers[e - begin, side]
                if side == 0 and place >= 0 and number == former:
                    # Sources come in runs.
                    edges[e, 0] = place
                    continue
                near = np.int64(number >> shift)
                if not 0 <= near < begins.shape[0] - 1:
                    return False
                low = begins[near]
                high = begins[near + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if ranked[middle] < number:
                        low = middle + 1
                    else:
                        high = middle
                if low == ranked.shape[0] or ranked[low] != number:
                    return False
                edges[e, side] = order[low]
                if side == 0:
                    former, place = number, order[low]
    return True
