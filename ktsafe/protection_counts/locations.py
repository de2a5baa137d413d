"""Where the vertices of a release are, and what protection sets they have there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe.protection_counts import _locations_core as core
from ktsafe.quasi_identifier_space import QuasiIdentifierSpace


def located(
    graph: AttributedGraph,
    inserted: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    edges: NDArray[np.int32],
    params: PrivacyParams,
) -> tuple[core.LocationTable, core.Vertices, core.Tolerance]:
    """Return all vertices at their locations, for one hop and the walk reading.

    Parameters
    ----------
    graph:
        The true graph; its edges are not used.
    inserted:
        int32, shape (i,): class of each inserted vertex; they are numbered from n on.
    is_sensitive:
        bool, shape (n + i,).
    edges:
        int32, shape (m, 2): the released edges.
    params:
        The guarantee. Where all protection sets of a class have k people, it is part of the rule
        that they keep them.

    Complexity
    ----------
    O(n * locations of a class).
    """
    classes = np.concatenate((graph.qi_classes, inserted)).astype(np.int64)
    n = len(classes)
    space = QuasiIdentifierSpace.of_graph(graph)
    values, offsets = space.columns[classes], space.offsets
    is_real = np.arange(n) < graph.n_vertices
    kinds = np.column_stack((np.ones(n), is_sensitive, is_real)).astype(np.int64)
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


def made_sensitive(
    places: tuple[core.LocationTable, core.Vertices, core.Tolerance],
    order: NDArray[np.int32],
    wanted: NDArray[np.int64],
) -> list[int]:
    """Return the vertices to turn sensitive, so that no safe vertex becomes unsafe.

    Parameters
    ----------
    places:
        From `located`.
    order:
        int32: vertices that are not sensitive, in the order in which they are tried.
    wanted:
        int64, shape (classes,): how many of each class shall turn.
    """
    at, vertices, rule = places
    left, found = wanted.copy(), []
    for v in order.tolist():
        c = vertices.classes[v]
        if left[c] == 0:
            continue
        row, unsafe = core.row_of(at, v), int(at.unsafe[0])
        for is_sensitive in (1, 0):
            core.leave(at, vertices, rule, v)
            vertices.counts_as[v, 1] = is_sensitive
            core.arrive(at, vertices, rule, v, row)
            if at.unsafe[0] == unsafe:
                break
        if is_sensitive:
            left[c] -= 1
            found.append(v)
    return found
