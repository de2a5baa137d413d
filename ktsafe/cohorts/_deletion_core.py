"""Kernels that choose original edges to delete before the search."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, fastmath=False, nogil=True)
def thin(
    edges: NDArray[np.int32], order: NDArray[np.int64], excess: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Delete edges while they take from a vertex what exceeds its cap; return which are kept.

    `excess` is how far each vertex is above its cap, and is used up. Edges between two vertices
    that are above it go first, because one deletion then serves both.
    """
    kept = np.ones(len(edges), dtype=np.bool_)
    for wanted in (2, 1):
        for i in order:
            u, v = edges[i, 0], edges[i, 1]
            if kept[i] and (excess[u] > 0) + (excess[v] > 0) >= wanted:
                kept[i] = False
                excess[u] -= 1
                excess[v] -= 1
    return kept
