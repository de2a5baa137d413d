"""Candidate set detection (Algorithm initial_candidate), plain and through the kt-tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe_lab.paper import _growing_core as growing_core
from ktsafe_lab.paper import _kt_tree_as_published_core as core
from ktsafe_lab.paper.kt_tree_as_published import build_kt_tree
from ktsafe_lab.paper.subgraph import ExpandedSubgraph
from ktsafe_lab.paper.vertex_generation import Setting, empty_subgraph


def initial_candidates(part: ExpandedSubgraph, setting: Setting) -> list[NDArray[np.int64]]:
    """Return v.CS of every vertex of a subgraph.

    Same QI, and ged <= epsilon.

    Parameters
    ----------
    part:
        The subgraph.
    setting:
        With pivots, the kt-tree prunes; the sets are the same.

    Returns
    -------
    list of int64
        Ascending; v itself is in v.CS.

    *Source*: Algorithm 6 (initial_candidate). *Departure*: a symmetric ged, see
    `_kt_tree_as_published_core.pruned_by_pivots`.
    """
    n = len(part.origin)
    classes = setting.classes[part.origin]
    g = empty_subgraph(setting, n, len(part.edges))
    growing_core.load(g, classes, part.edges)
    found = np.zeros(4 * n + 16, dtype=np.int64)
    if not len(setting.pivot_degrees):
        return [found[: core.scan_candidates(g, setting.rule, v, found)].copy() for v in range(n)]
    degrees = g.degree.astype(np.int64)
    tree = build_kt_tree(setting.space.tuples, classes, degrees, setting.pivot_degrees, n)
    return [found[: core.tree_candidates(tree, g, setting.rule, v, found)].copy() for v in range(n)]
