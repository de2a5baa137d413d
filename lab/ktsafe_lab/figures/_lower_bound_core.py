"""Kernel of the lower bound.

The block partition of one class's degrees, see `lower_bound.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel


@kernel
def cheapest_blocks(degrees: NDArray[np.int64], k: int, slack: int) -> int:
    """Return the least cost of partitioning descending `degrees`, in ends.

    It is a block partition.

    A vertex to be inserted counts 2 ends for itself beside those that it needs.

    Complexity: O(n * k * k) steps, O(k * k) memory.
    """
    n = degrees.shape[0]
    # best[p % (2k)][t]: cost of positions p.. when the block before left a tail of t.
    period = 2 * k
    best = np.zeros((period, k), dtype=np.int64)
    for p in range(n - 1, -1, -1):
        level = degrees[p]
        for tail in range(k):
            need = k - tail
            cost = 0
            least = -1
            for size in range(1, need + k):
                position = p + size - 1
                if position >= n:
                    break
                floor = level - slack if size <= need else level - 2 * slack
                cost += max(0, floor - degrees[position])
                if size < need:
                    continue
                # Without slack there is no room for a tail between L - h and L - 2h.
                left = size - need if slack > 0 else 0
                total = cost + best[(p + size) % period, left] if p + size < n else cost
                if least < 0 or total < least:
                    least = total
            missing = need - (n - p)
            if missing > 0:
                least = cost + missing * (2 + max(0, level - slack))
            # Ending with inserted vertices is never cheaper while real ones are left, see there.
            best[p % period, tail] = least
    return best[0, 0] if n else 0
