"""Kernels of Definition 3's attribute distance at every radius, in integers.

See `ktsafe.verify._attribute_distance_core`, which has the same sum for stars.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel
from ktsafe.verify._attribute_distance_core import scaled_limit


class NeighbourhoodCounts(NamedTuple):
    """What sizes and distributions say about each neighbourhood, one row each.

    `sizes[v, L]` are the vertices within L + 1 hops of v, `edges[v]` the edges of HN(v, n),
    `counts[v, L * columns + c]` how often column c occurs within L + 1 hops. The columns of
    attribute a are `offsets[a]:offsets[a + 1]`.
    """

    classes: NDArray[np.int64]
    sizes: NDArray[np.int32]
    edges: NDArray[np.int64]
    counts: NDArray[np.int32]
    offsets: NDArray[np.int64]


@inner_kernel
def distributions_agree(
    profiles: NeighbourhoodCounts, u: int, v: int, tolerance: tuple[int, int]
) -> bool:
    """Return whether attributes' distances are within t at every radius.

    That is, sum |c1 * n2 - c2 * n1| <= 2 * t * n1 * n2 for every attribute.
    """
    width = profiles.offsets[-1]
    for hop in range(profiles.sizes.shape[1]):
        n_1 = np.int64(profiles.sizes[u, hop])
        n_2 = np.int64(profiles.sizes[v, hop])
        limit = scaled_limit(n_1, n_2, tolerance[0], tolerance[1])
        for a in range(profiles.offsets.shape[0] - 1):
            distance = np.int64(0)
            for c in range(profiles.offsets[a], profiles.offsets[a + 1]):
                one = np.int64(profiles.counts[u, hop * width + c])
                two = np.int64(profiles.counts[v, hop * width + c])
                distance += abs(one * n_2 - two * n_1)
            if distance > limit:
                return False
    return True
