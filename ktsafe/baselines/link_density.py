"""How sure a tie is: the greatest density of edges between and within groups."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph


def link_max(graph: AttributedGraph, groups: ArrayLike) -> Fraction:
    """Return the greatest edge density between two groups, or within one.

    Who knows the groups of two persons, and nothing else, holds them for tied with the density
    between their groups. 1 means that some tie is certain; epsilon = t = 0 does not prevent it.

    Parameters
    ----------
    graph:
        A released graph.
    groups:
        Integers, shape (n,): the group of each vertex, such as its cohort.

    Returns
    -------
    Fraction
        In [0, 1]; 0 without edges. Groups of one vertex count: then the density may be 1, too.

    Raises
    ------
    InvalidGraph
        If there is not one group per vertex.

    *Complexity*: O(m log m) for m edges, whatever the number of groups.
    """
    given = np.asarray(groups)
    if given.shape != (graph.n_vertices,):
        raise InvalidGraph("There must be one group per vertex.")
    if not graph.n_edges:
        return Fraction(0)
    dense = np.unique(given, return_inverse=True)[1].reshape(-1).astype(np.int64)
    sizes = np.bincount(dense)
    ends = np.sort(dense[graph.edges], axis=1)
    keys, counts = np.unique(ends[:, 0] * len(sizes) + ends[:, 1], return_counts=True)
    one, two = keys // len(sizes), keys % len(sizes)
    pairs = np.where(one == two, sizes[one] * (sizes[one] - 1) // 2, sizes[one] * sizes[two])
    best = np.flatnonzero(counts / pairs == (counts / pairs).max())
    return max(Fraction(int(counts[i]), int(pairs[i])) for i in best)


def equal_neighbourhoods(graph: AttributedGraph) -> NDArray[np.int64]:
    """Return groups of vertices that epsilon = t = 0 and one hop cannot tell apart.

    Two vertices are in one group iff quasi-identifier, degree and, per quasi-identifier attribute,
    the counts of the neighbours' values are equal: these are the protection sets of link safety.

    Returns
    -------
    int64, shape (n,)
    """
    n, q = graph.n_vertices, graph.codes.shape[1] - 1
    group = graph.qi_classes.astype(np.int64)
    group = np.unique(np.column_stack((group, graph.degrees)), axis=0, return_inverse=True)[
        1
    ].reshape(-1)
    source = np.repeat(np.arange(n), graph.degrees)
    for j in range(q):
        width = len(graph.categories[j])
        counts = np.bincount(source * width + graph.codes[graph.indices, j], minlength=n * width)
        rows = np.column_stack((group, counts.reshape(n, width)))
        group = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return group.astype(np.int64)
