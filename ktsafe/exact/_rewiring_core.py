"""Exchanges of ends between inserted edges that make them look like ties."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels import inner_kernel, kernel


class RewiringState(NamedTuple):
    """A release whose inserted edges may exchange ends; degrees never change.

    Attributes
    ----------
    classes:
        int32, shape (n,).
    first, near:
        int64 (n + 1), int32: the neighbours of v are near[first[v]:first[v + 1]].
    ends:
        int32, shape (f, 2): inserted edges, the class of the first end at most the second's.
    own_first, own:
        int64 (n + 1), int32: the inserted edges at v are own[own_first[v]:own_first[v + 1]].
    worth:
        float64, shape (bins + 1,): how much an edge looks like a tie, by the share of common
        neighbours: their number over the root of the degrees' product, in `bins` equal steps.
    mark:
        int64, shape (n + 1,): scratch; the last entry counts.
    """

    classes: NDArray[np.int32]
    first: NDArray[np.int64]
    near: NDArray[np.int32]
    ends: NDArray[np.int32]
    own_first: NDArray[np.int64]
    own: NDArray[np.int32]
    worth: NDArray[np.float64]
    mark: NDArray[np.int64]


@inner_kernel
def mark_neighbours(g: RewiringState, u: int) -> int:
    """Mark the neighbours of u; return the mark."""
    g.mark[-1] += 1
    for i in range(g.first[u], g.first[u + 1]):
        g.mark[g.near[i]] = g.mark[-1]
    return g.mark[-1]


@inner_kernel
def share_bin(g: RewiringState, u: int, v: int, common: int) -> int:
    """Return the bin of u and v with so many common neighbours."""
    degrees = (g.first[u + 1] - g.first[u]) * (g.first[v + 1] - g.first[v])
    bins = len(g.worth) - 1
    return min(int(common / np.sqrt(max(degrees, 1)) * bins), bins)


@inner_kernel
def count_marked(g: RewiringState, v: int, mark: int) -> int:
    """Return how many neighbours of v carry a mark."""
    count = 0
    for i in range(g.first[v], g.first[v + 1]):
        count += g.mark[g.near[i]] == mark
    return count


@kernel
def bins_of(g: RewiringState, edges: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the bin of each edge, shape (m,)."""
    bins = np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        bins[e] = share_bin(g, u, v, count_marked(g, v, mark_neighbours(g, u)))
    return bins


@inner_kernel
def replace(g: RewiringState, u: int, old: int, new: int) -> None:
    """Let u have another neighbour in place of an old one."""
    for i in range(g.first[u], g.first[u + 1]):
        if g.near[i] == old:
            g.near[i] = new
            return


@inner_kernel
def hand_over(g: RewiringState, old: int, new: int, e: int, f: int) -> None:
    """Let edge e, that ended in `old`, end in `new`, and edge f the other way round."""
    for i in range(g.own_first[old], g.own_first[old + 1]):
        if g.own[i] == e:
            g.own[i] = f
            break
    for i in range(g.own_first[new], g.own_first[new + 1]):
        if g.own[i] == f:
            g.own[i] = e
            break


@kernel
def rewire(g: RewiringState, n_trials: int, rng: np.random.Generator) -> int:
    """Try exchanges of ends; keep those after which the edges look more like ties.

    Each begins at an inserted edge (u, v) and a neighbour's neighbour x of u that has an inserted
    edge (w, x) of the same two classes: they become (u, x) and (w, v).
    """
    taken = 0
    for _ in range(n_trials):
        e = int(rng.random() * len(g.ends))
        side = int(rng.random() * 2)
        u, v = g.ends[e, side], g.ends[e, 1 - side]
        y = g.near[g.first[u] + int(rng.random() * (g.first[u + 1] - g.first[u]))]
        x = g.near[g.first[y] + int(rng.random() * (g.first[y + 1] - g.first[y]))]
        n_own = g.own_first[x + 1] - g.own_first[x]
        if x in (u, v) or g.classes[x] != g.classes[v] or n_own == 0:
            continue
        f = g.own[g.own_first[x] + int(rng.random() * n_own)]
        at = 0 if g.ends[f, 1] == x else 1
        w = g.ends[f, at]
        if w in (u, v) or g.classes[w] != g.classes[u] or f == e:
            continue
        mark = mark_neighbours(g, u)
        if g.mark[x] == mark:
            continue
        beside_w = int(g.mark[w] == mark)
        uv, ux = count_marked(g, v, mark), count_marked(g, x, mark)
        mark = mark_neighbours(g, w)
        if g.mark[v] == mark:
            continue
        wx, wv = count_marked(g, x, mark), count_marked(g, v, mark)
        # What went through the edges that leave is no longer common.
        lost = beside_w
        for i in range(g.first[v], g.first[v + 1]):
            lost += g.near[i] == x
        before = g.worth[share_bin(g, u, v, uv)] + g.worth[share_bin(g, w, x, wx)]
        after = g.worth[share_bin(g, u, x, ux - lost)] + g.worth[share_bin(g, w, v, wv - lost)]
        if after <= before:
            continue
        taken += 1
        replace(g, u, v, x)
        replace(g, v, u, w)
        replace(g, w, x, v)
        replace(g, x, w, u)
        hand_over(g, v, x, e, f)
        # Edge e keeps u, edge f keeps w.
        g.ends[e, 1 - side], g.ends[f, 1 - at] = x, v
    return taken
