"""Kernel of pivot set selection.

How many pairs a set of pivots tells apart.
"""

# mypy: disable-error-code="no-any-return,return-value"

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel
from ktsafe_lab.paper._growing_core import star_distance


@kernel
def pruned_pairs(degrees: NDArray[np.int64], pivot_degrees: NDArray[np.int64], epsilon: int) -> int:
    """Return ordered pairs that Lemma 5.1 rules out."""
    count = 0
    for i in range(len(degrees)):
        for j in range(i):
            for p in range(len(pivot_degrees)):
                one = star_distance(degrees[i], pivot_degrees[p])
                if abs(one - star_distance(degrees[j], pivot_degrees[p])) > epsilon:
                    count += 2
                    break
    return count
