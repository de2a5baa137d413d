"""Locations of a release's vertices, and their protection sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace
from ktsafe_lab.tolerant import _locations_core as core


def located(
    graph: AttributedGraph,
    edges: NDArray[np.int32],
    params: PrivacyParams,
) -> tuple[core.LocationTable, core.Vertices, core.Tolerance]:
    """Return all vertices at their locations, for one-hop walks.

    Parameters
    ----------
    graph:
        The true graph; its edges are not used.
    edges:
        int32, shape (m, 2): the released edges.
    params:
        The guarantee. Where all protection sets of a class have k people, it is part of the rule
        that they keep them.

    Complexity
    ----------
    O(n * locations of a class).
    """
    classes = graph.qi_classes.astype(np.int64)
    n = len(classes)
    space = QuasiIdentifierSpace.of_graph(graph)
    values, offsets = space.columns[classes], space.offsets
    everybody = np.ones(n)
    kinds = np.column_stack((everybody, graph.is_sensitive, everybody)).astype(np.int64)
    rows = np.zeros((n, space.n_columns + 1), dtype=np.int64)
    rows[:, -1] = 1 + np.bincount(edges.reshape(-1), minlength=n)
    for column in values.T:
        rows[np.arange(n), column] += 1
        np.add.at(rows, (edges, column[edges[:, ::-1]]), 1)
    of_class = np.bincount(classes)
    first = np.cumsum(of_class) - of_class
    at = core.LocationTable(
        of_vertex=np.full(n, -1, dtype=np.int64),
        first=first,
        top=first.copy(),
        size=np.full(n, core.NOWHERE, dtype=np.int64),
        histogram=np.zeros((n, space.n_columns), dtype=np.int64),
        offsets=offsets,
        here=np.zeros((n, 3), dtype=np.int64),
        in_set=np.zeros((n, 3), dtype=np.int64),
        floor=np.zeros(len(first), dtype=np.int64),
        unsafe=np.zeros(1, dtype=np.int64),
        found=np.zeros(n, dtype=np.int64),
    )
    vertices = core.Vertices(classes, values, kinds)
    alpha, t = params.alpha, params.t
    rule = core.Tolerance(
        k=params.k,
        degrees_apart=params.epsilon // 2,
        alpha=(alpha.numerator, alpha.denominator),
        t=(t.numerator, t.denominator),
    )
    for v in range(n):
        core.arrive(at, vertices, rule, v, rows[v])
    people = np.full(len(first), n)
    np.minimum.at(people, classes, at.in_set[at.of_vertex, 2])
    at.floor[:] = np.where(people >= params.k, params.k, 0)
    return at, vertices, rule
