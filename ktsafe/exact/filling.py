"""The edges that a pair of classes lacks: inserted so that every vertex has its degree.

    each vertex has one stub for each neighbour that it lacks
    stubs of one side are joined with random stubs of the other
    where that gives a loop or a double edge, an inserted edge exchanges partners
    where none can, edges are shifted along a shortest alternating path,
        at last through shown ties too

Between two classes the last step finds a place whenever the degrees have any simple graph at all,
so that a failure says that the degrees are not possible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact import _filling_core as core
from ktsafe.exact.pair_program import Pair


def fill(
    pair: Pair,
    r: NDArray[np.int64],
    s: NDArray[np.int64],
    kept: NDArray[np.int32],
    *,
    rng: np.random.Generator,
) -> NDArray[np.int32] | None:
    """Return all edges of the pair, or None where the degrees are not possible.

    Parameters
    ----------
    pair:
        Cohorts of the two classes.
    r, s:
        Neighbours that each member of the cohorts `pair.a` and `pair.b` gets.
    kept:
        int32, shape (m, 2): edges that stay if that is possible, the first end in a.
    rng:
        The only randomness.

    Returns
    -------
    int32, shape (edges, 2), or None
        The kept edges first, in their order, as far as they stayed.
    """
    degree = np.zeros(len(pair.sizes), dtype=np.int64)
    degree[pair.b], degree[pair.a] = s, r
    vertices = pair.members()
    n, n_a = len(vertices), int(pair.sizes[pair.a].sum())
    local = np.empty(len(pair.cohort), dtype=np.int32)
    local[vertices] = np.arange(n, dtype=np.int32)
    wanted = degree[pair.cohort[vertices]]
    ends = local[kept]
    lack = wanted - np.bincount(ends.reshape(-1), minlength=n)
    assert (lack >= 0).all(), "More edges are shown at a vertex than its cohort's degree."
    stubs = np.repeat(np.arange(n, dtype=np.int32), lack)
    if pair.is_one:
        stubs = rng.permutation(stubs)
        near, far = stubs[::2], stubs[1::2]
    else:
        near, far = stubs[stubs < n_a], rng.permutation(stubs[stubs >= n_a])
    if len(near) != len(far):
        return None
    n_edges = len(kept) + len(near)
    # While edges are shifted along a path, its vertices have one more than they shall have.
    room = wanted + 1
    wiring = core.Wiring(
        ends=np.zeros((n_edges, 2), dtype=np.int32),
        is_kept=np.zeros(n_edges, dtype=np.bool_),
        size=np.zeros(1, dtype=np.int64),
        first=np.concatenate(([0], np.cumsum(room))),
        at=np.zeros(int(room.sum()), dtype=np.int32),
        held=np.zeros(n, dtype=np.int64),
        n_first=np.array([n_a], dtype=np.int64),
    )
    wanting = np.column_stack((near, far))
    if core.fill(wiring, ends.astype(np.int64), wanting.astype(np.int64), rng):
        return None
    return vertices[wiring.ends]
