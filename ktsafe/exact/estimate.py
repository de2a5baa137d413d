"""What a release in exact cohorts would cost, in milliseconds and without making one.

Members of a leaf of the kt-tree are brought to their component-wise median. Each unit by which a
count changes is half an edge, and no pair of classes costs more than its ties. Nothing here is a
bound: degrees of both sides must fit each other, which costs more, and the swap search of a release
finds better cohorts, which costs less.
"""

from __future__ import annotations

import numpy as np

from ktsafe.exact.kt_tree import leaves_of, neighbour_counts
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams


def estimated_shares(graph: AttributedGraph, params: PrivacyParams) -> tuple[float, float]:
    """Return the likely edge cost, as a share of the ties, and the share of people shown.

    People of classes that are too small for a cohort are not shown. Whose sensitive value would
    have to be hidden is not looked at.

    Parameters
    ----------
    graph:
        The true graph.
    params:
        k and alpha are used.

    Examples
    --------
    >>> from ktsafe.datasets.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> cost, people = estimated_shares(graph, PrivacyParams(k=5))
    >>> 0 < cost < 1, people
    (True, 1.0)
    """
    classes, counts = graph.qi_classes, neighbour_counts(graph)
    sizes = np.bincount(classes)
    is_shown = sizes >= params.k
    n = len(sizes)
    off = np.zeros((n, n))
    nobody = np.zeros(graph.n_vertices, dtype=np.bool_)
    members = np.split(np.argsort(classes, kind="stable"), np.cumsum(sizes)[:-1])
    for c in np.flatnonzero(is_shown):
        block = counts[members[c]]
        columns = np.unique(block.indices)
        rows = np.ascontiguousarray(block[:, columns].toarray(), dtype=np.int32)
        for leaf in leaves_of(rows, nobody[: len(rows)], params):
            of_leaf = rows[leaf]
            off[c, columns] += np.abs(of_leaf - np.median(of_leaf, axis=0)).sum(axis=0)
    ties = np.zeros((n, n))
    low, high = np.sort(classes[graph.edges], axis=1).T
    np.add.at(ties, (low, high), 1)
    changed = (np.triu(off + off.T) - np.diag(np.diag(off))) / 2
    changed[~is_shown] = changed[:, ~is_shown] = np.inf
    cost = float(np.minimum(changed, ties).sum())
    people = float(sizes[is_shown].sum()) / max(graph.n_vertices, 1)
    return cost / max(graph.n_edges, 1), people
