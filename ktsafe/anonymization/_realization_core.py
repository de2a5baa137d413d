"""Edges are added until every vertex of a pair has its degree.

Another order of trials changes the bytes of releases. No vertex may get another degree, nor lose a
kept edge while there is room: tests/ktsafe/anonymization/test_realization.py.
"""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel


class Wiring(NamedTuple):
    """Edges of a pair, with room for all that degrees allow.

    Attributes
    ----------
    ends:
        int32, shape (edges at last, 2): column 0 in the first class, column 1 in the second.
    is_kept:
        bool, shape (edges at last,): whether an edge was there at first.
    size:
        int64, shape (1,): edges so far.
    first:
        int64, shape (n + 1,): where the edges of each vertex begin in `at`.
    at:
        int32: numbers of edges, by vertex.
    count:
        int64, shape (n,): edges of each vertex so far.
    n_first:
        int64, shape (1,): vertices below it are in the first class; n if there is one class.
    """

    ends: NDArray[np.int32]
    is_kept: NDArray[np.bool_]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    at: NDArray[np.int32]
    count: NDArray[np.int64]
    n_first: NDArray[np.int64]


@inner_kernel
def adjacent(wiring: Wiring, u: int, v: int) -> bool:
    """Return whether u and v are one vertex or neighbours."""
    if u == v:
        return True
    if wiring.count[v] < wiring.count[u]:
        u, v = v, u
    for i in range(wiring.first[u], wiring.first[u] + wiring.count[u]):
        edge = wiring.at[i]
        if wiring.ends[edge, 0] == v or wiring.ends[edge, 1] == v:
            return True
    return False


@inner_kernel
def attach(wiring: Wiring, v: int, edge: int) -> None:
    """Note an edge at v."""
    wiring.at[wiring.first[v] + wiring.count[v]] = edge
    wiring.count[v] += 1


@inner_kernel
def detach(wiring: Wiring, v: int, edge: int) -> None:
    """Forget an edge at v."""
    last = wiring.first[v] + wiring.count[v] - 1
    for i in range(wiring.first[v], last + 1):
        if wiring.at[i] == edge:
            wiring.at[i] = wiring.at[last]
            break
    wiring.count[v] -= 1


@inner_kernel
def join(wiring: Wiring, u: int, v: int, is_kept: bool) -> None:
    """Add an edge."""
    edge = wiring.size[0]
    wiring.ends[edge, 0], wiring.ends[edge, 1] = u, v
    wiring.is_kept[edge] = is_kept
    attach(wiring, u, edge)
    attach(wiring, v, edge)
    wiring.size[0] += 1


@inner_kernel
def move_end(wiring: Wiring, edge: int, side: int, to: int) -> None:
    """Let an edge end in another vertex."""
    detach(wiring, wiring.ends[edge, side], edge)
    wiring.ends[edge, side] = to
    wiring.is_kept[edge] = False
    attach(wiring, to, edge)


@kernel
def realize(
    wiring: Wiring, kept: NDArray[np.int64], wanting: NDArray[np.int64], rng: np.random.Generator
) -> int:
    """Load kept edges, add others; return how many find no place.

    Parameters
    ----------
    wiring:
        Empty; filled in place.
    kept:
        int64, shape (k, 2): edges that are there.
    wanting:
        int64, shape (f, 2): vertices that lack an edge, once for each edge; in random order.
    rng:
        Draws the edges with which partners are exchanged.
    """
    for i in range(len(kept)):
        join(wiring, kept[i, 0], kept[i, 1], True)
    late = np.empty(len(wanting), np.int64)
    n_late = 0
    for i in range(len(wanting)):
        u, v = wanting[i, 0], wanting[i, 1]
        if adjacent(wiring, u, v):
            late[n_late] = i
            n_late += 1
        else:
            join(wiring, u, v, False)
    n_left = 0
    for i in range(n_late):
        u, v = wanting[late[i], 0], wanting[late[i], 1]
        if not (
            exchanged(wiring, u, v, len(kept), rng)
            or along_path(wiring, u, v, False)
            or along_path(wiring, u, v, True)
        ):
            late[n_left] = late[i]
            n_left += 1
    return with_other_partners(wiring, wanting, late[:n_left])


@inner_kernel
def with_other_partners(wiring: Wiring, wanting: NDArray[np.int64], left: NDArray[np.int64]) -> int:
    """Rejoin what found no place; return how many still find none.

    Where degrees are possible, a path leads from each vertex that lacks an edge to one that does,
    and that is not always the one that it drew.
    """
    n = len(left)
    i = j = 0
    while i < n:
        u, v = wanting[left[i], 0], wanting[left[j], 1]
        if u != v and along_path(wiring, u, v, True):
            wanting[left[j], 1] = wanting[left[i], 1]
            n -= 1
            left[i] = left[n]
            i = j = 0
        elif j + 1 < n:
            j += 1
        else:
            i, j = i + 1, 0
    return n


@inner_kernel
def exchanged(wiring: Wiring, u: int, v: int, n_kept: int, rng: np.random.Generator) -> bool:
    """Connect u and v through an added edge (x, y).

    It becomes (u, y), and (x, v) is new.
    """
    n_added = wiring.size[0] - n_kept
    is_one = wiring.n_first[0] == len(wiring.count)
    for _ in range(min(4 * n_added, 400)):
        edge = n_kept + int(rng.random() * n_added)
        flip = int(is_one and rng.random() < 0.5)
        x, y = np.int64(wiring.ends[edge, flip]), np.int64(wiring.ends[edge, 1 - flip])
        if adjacent(wiring, u, y) or adjacent(wiring, x, v):
            continue
        move_end(wiring, edge, flip, u)
        join(wiring, x, v, False)
        return True
    return False


@inner_kernel
def along_path(wiring: Wiring, u: int, v: int, also_kept: bool) -> bool:
    """Connect u and v by a shortest alternating path.

    Its edges come and go in turn.

    Parameters
    ----------
    wiring:
        Changed in place if there is such a path.
    u, v:
        Vertices that lack an edge; u in the first class, v in the second.
    also_kept:
        Whether edges that were there at first may go.
    """
    n, border = len(wiring.count), wiring.n_first[0]
    is_one = border == n
    # A vertex x on u's side is reached when an edge (x, y) goes so that (former, y) can come.
    by_edge = np.full(n, -1, np.int32)
    former = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    is_used = np.zeros(n, np.bool_)
    queue[0], head, tail = u, 0, 1
    former[u] = u
    while head < tail:
        x = np.int64(queue[head])
        head += 1
        if not adjacent(wiring, x, v):
            return apply_path(wiring, x, u, v, by_edge, former)
        for y in range(0 if is_one else border, n):
            if is_used[y] or y in (v, u) or adjacent(wiring, x, y):
                continue
            is_used[y] = True
            for i in range(wiring.first[y], wiring.first[y] + wiring.count[y]):
                edge = wiring.at[i]
                z = wiring.ends[edge, 0] if wiring.ends[edge, 1] == y else wiring.ends[edge, 1]
                if z != v and former[z] < 0 and (also_kept or not wiring.is_kept[edge]):
                    former[z], by_edge[z] = x, edge
                    queue[tail] = z
                    tail += 1
    return False


@inner_kernel
def apply_path(
    wiring: Wiring,
    x: int,
    u: int,
    v: int,
    by_edge: NDArray[np.int32],
    former: NDArray[np.int32],
) -> bool:
    """Shift edges along the path to x, and connect x with v."""
    end = x
    while x != u:
        edge, w = np.int64(by_edge[x]), np.int64(former[x])
        side = 0 if wiring.ends[edge, 0] == x else 1
        y = np.int64(wiring.ends[edge, 1 - side])
        if adjacent(wiring, w, y):
            # In one class a path may cross itself; its shifts are valid only together.
            undo_path(wiring, end, x, by_edge, former)
            return False
        move_end(wiring, edge, side, w)
        x = w
    if adjacent(wiring, end, v):
        undo_path(wiring, end, u, by_edge, former)
        return False
    join(wiring, end, v, False)
    return True


@inner_kernel
def undo_path(
    wiring: Wiring, end: int, x: int, by_edge: NDArray[np.int32], former: NDArray[np.int32]
) -> None:
    """Take back the shifts of `apply_path` from its end to x."""
    while end != x:
        edge, w = np.int64(by_edge[end]), np.int64(former[end])
        move_end(wiring, edge, 0 if wiring.ends[edge, 0] == w else 1, end)
        end = w
