"""The kt-tree synopsis (Section "kt-Tree"): bit vectors and distance intervals over clusters.

Leaves hold the vertices of one quasi-identifier. Leaves are clustered around the pivots, those
around a square root of them, and so on up to one root. A node keeps, per attribute, the OR of its
vertices' hashed values, and the interval of their distances from its pivot. The tree is built over
a subgraph before it is anonymized; an edit widens the intervals above it.

*What it prunes*: with one leaf for each quasi-identifier, no candidate is ruled out by an interval
that the quasi-identifier would not have ruled out: the own leaf holds the own distance, all other
leaves fall to the bit vectors. Intervals spare visits of inner nodes, whose joined bits say little,
where quasi-identifiers go with the degree. Against a hash on the quasi-identifier nothing is saved.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ktsafe_lab.paper._kt_tree_as_published_core import KtTree

BITS = 64
"""Size B of a bit vector."""

_NO_NODES = np.zeros(0, dtype=np.int64)
_NO_BITS = np.zeros((0, 0), dtype=np.uint64)
_NO_PAIRS = np.zeros((0, 2), dtype=np.int64)
NO_TREE = KtTree(
    parent=_NO_NODES,
    leaf_class=_NO_NODES,
    bits=_NO_BITS,
    pivot_degree=_NO_NODES,
    interval=_NO_PAIRS,
    children=_NO_NODES,
    child_bounds=_NO_NODES,
    leaf_of=_NO_NODES,
    class_bits=_NO_BITS,
    pivots=_NO_NODES,
    distances=_NO_PAIRS,
)
"""Stands for candidate detection without a tree."""


def build_kt_tree(
    tuples: NDArray[np.int32],
    classes: NDArray[np.int32],
    degrees: NDArray[np.int64],
    pivot_degrees: NDArray[np.int64],
    room: int,
) -> KtTree:
    """Build the tree over a subgraph, bottom up.

    Parameters
    ----------
    tuples:
        int32, shape (classes, q): the codes of each quasi-identifier.
    classes, degrees:
        Per vertex of the subgraph.
    pivot_degrees:
        int64, shape (p,), p >= 1: degrees of the pivots, which stand for their neighbourhoods.
    room:
        Vertices to make room for.

    *Reading*: a supernode has at most ceil(nodes / supernodes) children ("similar sizes"), and a
    node joins the nearest pivot that has room.
    """
    if len(classes) == 0:
        return NO_TREE
    n_classes = len(tuples)
    class_bits = np.left_shift(np.uint64(1), (tuples % BITS).astype(np.uint64))
    present = np.unique(classes)
    means = np.zeros(n_classes)
    sizes = np.bincount(classes, minlength=n_classes)
    np.divide(np.bincount(classes, degrees, n_classes), sizes, out=means, where=sizes > 0)
    parent_up, pivot_up = _levels(means[present], pivot_degrees)
    # They are numbered from the leaves up; here from the root down.
    n_nodes = len(parent_up)
    last = n_nodes - 1
    up = np.array(parent_up[::-1], dtype=np.int64)
    parent = np.where(up >= 0, last - up, -1)
    leaf_class = np.full(n_nodes, -1, dtype=np.int64)
    leaf_class[last - np.arange(len(present))] = present
    pivot_degree = np.array(pivot_up[::-1], dtype=np.int64)
    is_leaf = leaf_class >= 0
    pivot_degree[is_leaf] = pivot_degree[parent[is_leaf]]
    bits = np.zeros((n_nodes, class_bits.shape[1]), dtype=np.uint64)
    bits[is_leaf] = class_bits[leaf_class[is_leaf]]
    interval = np.tile(np.array([2**62, -1], dtype=np.int64), (n_nodes, 1))
    leaf_of = np.full(n_classes, -1, dtype=np.int64)
    leaf_of[leaf_class[is_leaf]] = np.flatnonzero(is_leaf)
    node = leaf_of[classes]
    while np.any(node >= 0):
        inside = node >= 0
        distance = 2 * np.abs(degrees[inside] - pivot_degree[node[inside]])
        np.minimum.at(interval[:, 0], node[inside], distance)
        np.maximum.at(interval[:, 1], node[inside], distance)
        node = np.where(inside, parent[node], -1)
    for x in range(n_nodes - 1, 0, -1):  # children have greater numbers than their parents
        bits[parent[x]] |= bits[x]
    children = np.argsort(parent[1:], kind="stable") + 1
    bounds = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(parent[1:], minlength=n_nodes), out=bounds[1:])
    distances = np.zeros((room, len(pivot_degrees)), dtype=np.int64)
    distances[: len(degrees)] = 2 * np.abs(degrees[:, np.newaxis] - pivot_degrees)
    return KtTree(
        parent,
        leaf_class,
        bits,
        pivot_degree,
        interval,
        children.astype(np.int64),
        bounds,
        leaf_of,
        class_bits,
        pivot_degrees,
        distances,
    )


def _levels(
    centre: NDArray[np.float64], pivot_degrees: NDArray[np.int64]
) -> tuple[list[int], list[int]]:
    """Return the parent and the pivot of each node.

    Leaves come first, the root last.

    `centre` is the mean degree of each leaf.
    """
    n_leaves = len(centre)
    parent, pivot = [-1] * n_leaves, [0] * n_leaves
    level, wanted = list(range(n_leaves)), len(pivot_degrees)
    while len(level) > 1 or len(parent) == n_leaves:
        wanted = max(1, min(wanted, len(level)))
        chosen = pivot_degrees[:wanted]
        room_each = math.ceil(len(level) / wanted) if len(parent) > n_leaves else len(level)
        groups: list[list[int]] = [[] for _ in range(wanted)]
        for x, node in enumerate(level):
            for p in np.argsort(np.abs(centre[x] - chosen), kind="stable"):
                if len(groups[p]) < room_each:
                    groups[p].append(node)
                    break
        above = []
        for p, group in enumerate(groups):
            if not group:
                continue
            number = len(parent)
            above.append((number, int(chosen[p])))
            parent.append(-1)
            pivot.append(int(chosen[p]))
            for node in group:
                parent[node] = number
        level = [number for number, _ in above]
        centre = np.array([float(degree) for _, degree in above])
        wanted = math.isqrt(wanted)
    return parent, pivot
