"""Insert the edges that a pair of classes lacks.

Every vertex gets its number of neighbours.

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

from ktsafe.anonymization import _realization_core as core
from ktsafe.anonymization.pair_program import Pair


def realize(
    pair: Pair,
    r: NDArray[np.int64],
    s: NDArray[np.int64],
    kept: NDArray[np.int32],
    *,
    rng: np.random.Generator,
) -> NDArray[np.int32] | None:
    """Return all edges of the pair, None for impossible degrees.

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
    sides = lack[:n_a].sum(), lack[n_a:].sum()
    if sides[0] % 2 if pair.is_one else sides[0] != sides[1]:
        return None
    edges, missing = joined(n_a, lack, ends, rng)
    return None if missing else vertices[edges]


def joined(
    n_first: int, lack: NDArray[np.int64], kept: NDArray[np.integer], rng: np.random.Generator
) -> tuple[NDArray[np.int32], int]:
    """Join the stubs of two classes, or of one.

    Parameters
    ----------
    n_first:
        Vertices of the first class, which are 0..n_first-1; all of them if there is one class.
    lack:
        int64, shape (n,): stubs of each vertex. Where one side has more, some are left over.
    kept:
        int, shape (m, 2): edges that stay if that is possible, the first end in the first class.
    rng:
        The only randomness.

    Returns
    -------
    (int32, shape (edges, 2), int)
        The edges, the kept ones first, and how many find no place.
    """
    n = len(lack)
    stubs = np.repeat(np.arange(n, dtype=np.int32), lack)
    if n_first == n:
        stubs = rng.permutation(stubs)
        near, far = stubs[::2], stubs[1::2]
    else:
        near, far = stubs[stubs < n_first], rng.permutation(stubs[stubs >= n_first])
    n_new = min(len(near), len(far))
    wanting = np.column_stack((near[:n_new], far[:n_new]))
    n_edges = len(kept) + n_new
    # While edges are shifted along a path, its vertices have one more than they shall have.
    room = lack + np.bincount(kept.reshape(-1), minlength=n) + 1
    wiring = core.Wiring(
        ends=np.zeros((n_edges, 2), dtype=np.int32),
        is_kept=np.zeros(n_edges, dtype=np.bool_),
        size=np.zeros(1, dtype=np.int64),
        first=np.concatenate(([0], np.cumsum(room))),
        at=np.zeros(int(room.sum()), dtype=np.int32),
        count=np.zeros(n, dtype=np.int64),
        n_first=np.array([n_first], dtype=np.int64),
    )
    missing = core.realize(wiring, kept.astype(np.int64), wanting.astype(np.int64), rng)
    return wiring.ends[: wiring.size[0]], int(missing)
