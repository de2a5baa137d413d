"""The worth of a release in exact cohorts, estimated in milliseconds.

Members of a leaf of the kt-tree are brought to their mean. A count that exceeds it shows as many
ties as the mean; what the mean has more is inserted, and a mean between two whole numbers is as
many of either. Both ends of an edge must agree, so of a pair of classes the worse side counts.
As many edges are shown as there are ties, so the ties shown are the F1. Nothing here is a
bound: degrees of both sides must fit each other, which shows fewer, and the swap search of a
release finds better cohorts, which shows more.
"""

from __future__ import annotations

import numpy as np

from ktsafe.anonymization.exact.kt_tree import neighbour_counts
from ktsafe.anonymization.exact.tree_cuts import leaves_of
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams


def estimated_worth(graph: AttributedGraph, params: PrivacyParams) -> tuple[float, float]:
    """Return the likely F1 of ties, and the share of people shown.

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
    >>> from ktsafe.graph.datasets.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> f1, people = estimated_worth(graph, PrivacyParams(k=5))
    >>> 0.5 < f1 < 1, people
    (True, 1.0)
    """
    classes, counts = graph.qi_classes, neighbour_counts(graph)
    sizes = np.bincount(classes)
    is_shown = sizes >= params.k
    shown, n = np.flatnonzero(is_shown), int(is_shown.sum())
    # Classes that are not shown can be very many: they have no place in the table.
    place = np.full(len(sizes), -1, dtype=np.int64)
    place[shown] = np.arange(n)
    ends_shown = np.zeros((n, n))
    nobody = np.zeros(graph.n_vertices, dtype=np.bool_)
    members = np.split(np.argsort(classes, kind="stable"), np.cumsum(sizes)[:-1])
    for c in shown:
        block = counts[members[c]]
        columns = np.unique(block.indices)
        columns = columns[is_shown[columns]]
        rows = np.ascontiguousarray(block[:, columns].toarray(), dtype=np.int32)
        for leaf in leaves_of(rows, nobody[: len(rows)], params):
            of_leaf = rows[leaf]
            mean = of_leaf.mean(axis=0)
            least = np.floor(mean)
            both = np.minimum(of_leaf, least) + (mean - least) * (of_leaf > least)
            ends_shown[place[c], place[columns]] += both.sum(axis=0)
    ties = float(np.minimum(ends_shown, ends_shown.T).sum()) / 2
    people = float(sizes[is_shown].sum()) / max(graph.n_vertices, 1)
    return ties / max(graph.n_edges, 1), people
