"""Kernels that read a neighbourhood HN(v, n) out of a graph.

Any radius, both readings.

Bounds are checked by the caller. Source: Definition 2.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel
from ktsafe_lab.verify_hops._rooted_graph_core import Rooted, prepared


class Reach(NamedTuple):
    """A graph and what of it belongs to a neighbourhood.

    `extent` = (n_hops, whether the reading is induced). Rows of `indices` ascend.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    extent: NDArray[np.int64]


@inner_kernel
def collect(
    reach: Reach, v: int, local: NDArray[np.int32], members: NDArray[np.int32]
) -> tuple[int, int]:
    """List vertices within reach of v, nearest first, with local numbers.

    These stand in `local`.

    Returns
    -------
    tuple
        How many there are, and how many of them lie within n - 1 hops.
    """
    local[v] = 0
    members[0] = v
    filled = 1
    begin = 0
    inner = 0
    for _ in range(reach.extent[0]):
        inner = filled
        for i in range(begin, inner):
            x = members[i]
            for y in reach.indices[reach.indptr[x] : reach.indptr[x + 1]]:
                if local[y] < 0:
                    local[y] = filled
                    members[filled] = y
                    filled += 1
        begin = inner
    return filled, inner


@inner_kernel
def cut_out(
    reach: Reach, v: int, local: NDArray[np.int32], members: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return HN(v, n) as adjacency and levels; rows ascend.

    Numbers are local, v being 0.

    `local` is -1 everywhere, before and after.
    """
    filled, inner = collect(reach, v, local, members)
    indptr = np.zeros(filled + 1, dtype=np.int64)
    induced = reach.extent[1] != 0
    for i in range(filled):
        x = members[i]
        count = 0
        for y in reach.indices[reach.indptr[x] : reach.indptr[x + 1]]:
            count += local[y] >= 0 and (induced or i < inner or local[y] < inner)
        indptr[i + 1] = indptr[i] + count
    indices = np.empty(indptr[filled], dtype=np.int32)
    for i in range(filled):
        x = members[i]
        at = indptr[i]
        for y in reach.indices[reach.indptr[x] : reach.indptr[x + 1]]:
            if local[y] >= 0 and (induced or i < inner or local[y] < inner):
                indices[at] = local[y]
                at += 1
        indices[indptr[i] : at].sort()
    level = np.zeros(filled, dtype=np.int32)
    for i in range(1, filled):
        # Levels ascend with the numbers, so the lowest neighbour is a parent.
        level[i] = level[indices[indptr[i]]] + 1
    for i in range(filled):
        local[members[i]] = -1
    return indptr, indices, level


@kernel
def neighbourhood(
    reach: Reach, v: int, local: NDArray[np.int32], members: NDArray[np.int32]
) -> Rooted:
    """Return HN(v, n), prepared for the search."""
    indptr, indices, level = cut_out(reach, v, local, members)
    return prepared(indptr, indices, level)
