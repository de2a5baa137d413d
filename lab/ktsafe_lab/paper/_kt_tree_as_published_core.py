"""Kernels of candidate set detection.

The plain scan, and the kt-tree with pivot pruning.
"""

# mypy: disable-error-code="no-any-return,return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel
from ktsafe_lab.paper._growing_core import Growing, N, Rule, star_distance


class KtTree(NamedTuple):
    """The kt-tree's nodes, root first; empty arrays stand for "no tree".

    Attributes
    ----------
    parent, leaf_class:
        int64, per node: -1 for the root, and -1 for inner nodes.
    bits:
        uint64, per node and attribute: A_j.vec, the hashed values of its vertices.
    pivot_degree:
        int64, per node: degree of the pivot, whose neighbourhood is frozen; a leaf has its
        parent's.
    interval:
        int64, per node: pvt.I, least and greatest distance of its vertices from that pivot.
    children, child_bounds:
        int64: the children of node x are children[child_bounds[x]:child_bounds[x + 1]].
    leaf_of:
        int64, per class.
    class_bits:
        uint64, per class and attribute: the hashed values of one vertex.
    pivots:
        int64, (pivots,): their degrees.
    distances:
        int64, per vertex with room, and pivot: ged(HN(v), HN(pivot)).
    """

    parent: NDArray[np.int64]
    leaf_class: NDArray[np.int64]
    bits: NDArray[np.uint64]
    pivot_degree: NDArray[np.int64]
    interval: NDArray[np.int64]
    children: NDArray[np.int64]
    child_bounds: NDArray[np.int64]
    leaf_of: NDArray[np.int64]
    class_bits: NDArray[np.uint64]
    pivots: NDArray[np.int64]
    distances: NDArray[np.int64]


@inner_kernel
def note_change(tree: KtTree, g: Growing, v: int) -> None:
    """Update v's pivot distances, and widen the intervals above."""
    if len(tree.pivots) == 0:
        return
    for p in range(len(tree.pivots)):
        tree.distances[v, p] = star_distance(g.degree[v], tree.pivots[p])
    node = tree.leaf_of[g.cls[v]]
    while node >= 0:
        distance = star_distance(g.degree[v], tree.pivot_degree[node])
        tree.interval[node, 0] = min(tree.interval[node, 0], distance)
        tree.interval[node, 1] = max(tree.interval[node, 1], distance)
        node = tree.parent[node]


@inner_kernel
def pruned_by_pivots(one: NDArray[np.int64], two: NDArray[np.int64], epsilon: int) -> bool:
    """Return whether a pivot tells two vertices apart (Lemma 5.1).

    By their distances.
    """
    apart = False
    for p in range(len(one)):
        apart |= abs(one[p] - two[p]) > epsilon
    return apart


@kernel
def scan_candidates(g: Growing, rule: Rule, v: int, found: NDArray[np.int64]) -> int:
    """Write v.CS, ascending, by looking at every vertex (Algorithm initial_candidate)."""
    count = np.int64(0)
    for u in range(g.size[N]):
        if g.cls[u] == g.cls[v] and (
            rule.hops == 0 or star_distance(g.degree[u], g.degree[v]) <= rule.epsilon
        ):
            found[count] = u
            count += 1
    return count


@kernel
def tree_candidates(tree: KtTree, g: Growing, rule: Rule, v: int, found: NDArray[np.int64]) -> int:
    """Write v.CS, ascending, by descending the kt-tree.

    The same set as the scan's.
    """
    count, top = np.int64(0), np.int64(1)
    # Nodes wait at the far end of the buffer of candidates, which holds one place per node more.
    room = len(found)
    found[room - 1] = 0
    while top > 0:
        node = found[room - top]
        top -= 1
        distance = star_distance(g.degree[v], tree.pivot_degree[node])
        if rule.hops and (
            distance - tree.interval[node, 1] > rule.epsilon
            or tree.interval[node, 0] - distance > rule.epsilon
        ):
            continue
        apart = False
        for j in range(tree.bits.shape[1]):
            apart |= (tree.bits[node, j] & tree.class_bits[g.cls[v], j]) == 0
        if apart:
            continue
        if tree.leaf_class[node] < 0:
            for x in range(tree.child_bounds[node], tree.child_bounds[node + 1]):
                top += 1
                found[room - top] = tree.children[x]
            continue
        if tree.leaf_class[node] != g.cls[v]:  # hash values may collide
            continue
        u = g.class_head[g.cls[v]]
        while u >= 0:
            if rule.hops == 0 or (
                not pruned_by_pivots(tree.distances[v], tree.distances[u], rule.epsilon)
                and star_distance(g.degree[u], g.degree[v]) <= rule.epsilon
            ):
                found[count] = u
                count += 1
            u = g.class_next[u]
    return count
