"""How sure a tie is.

The greatest density of edges between and within groups.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams


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
    """Return groups of vertices equal at one hop.

    For epsilon = t = 0.

    Two vertices are in one group iff quasi-identifier, degree and, per quasi-identifier attribute,
    the counts of the neighbours' values are equal: these are the protection sets of link safety.
    Counts are compared by sums of 64 random bits per value, which differ for different counts but
    for one pair in 2**64.

    Returns
    -------
    int64, shape (n,)
    """
    bits = np.random.default_rng(0)  # a hash function, drawn once; nothing else depends on it
    group = graph.qi_classes.astype(np.int64)
    keys = [graph.degrees.astype(np.uint64)]
    for j in range(graph.codes.shape[1] - 1):
        words = bits.integers(0, 2**64, len(graph.categories[j]), dtype=np.uint64)
        sums = np.zeros(len(graph.indices) + 1, dtype=np.uint64)
        np.cumsum(words[graph.codes[graph.indices, j]], out=sums[1:])
        keys.append(sums[graph.indptr[1:]] - sums[graph.indptr[:-1]])
    for key in keys:
        order = np.lexsort((key, group))
        fresh = np.ones(len(order), dtype=np.int64)
        fresh[1:] = np.diff(group[order]) != 0
        fresh[1:] |= key[order][1:] != key[order][:-1]
        group[order] = np.cumsum(fresh) - 1
    return group


def link_figures(released: AttributedGraph, params: PrivacyParams) -> dict[str, float | int]:
    """Return how sure a tie is to an attacker with the groups.

    The groups are those of equal neighbourhoods.

    Groups of fewer than k vertices tell by their size more than by their ties; they are put
    together as one.

    Returns
    -------
    dict
        `link_max`, see there, and `vertices_in_groups`, the vertices in groups of at least k.
    """
    groups = equal_neighbourhoods(released)
    is_large = (np.bincount(groups) >= params.k)[groups]
    density = link_max(released, np.where(is_large, groups, -1))
    return {"link_max": round(float(density), 6), "vertices_in_groups": int(is_large.sum())}
