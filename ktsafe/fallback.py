"""What is safe by construction, for inputs on which the search does not end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams


def disjoint_copies(
    graph: AttributedGraph, params: PrivacyParams
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return classes and edges of m - 1 disjoint non-sensitive copies of the graph.

    With m = max(k, ceil(1 / alpha)) every location then holds at least m vertices, of which at
    most one in m is sensitive, and a protection set is a union of locations: safe for every
    input. Cost (m - 1)(n + edges).

    Returns
    -------
    classes: int32, shape ((m - 1) n,)
        The quasi-identifier class of each inserted vertex, which are numbered from n.
    edges: int32, shape ((m - 1) edges, 2)
    """
    n, copies = graph.n_vertices, params.group_size_min - 1
    classes = np.tile(graph.qi_classes, copies)
    shifts = np.repeat(np.arange(1, copies + 1, dtype=np.int64) * n, graph.n_edges)
    edges = np.tile(graph.edges.astype(np.int64), (copies, 1)) + shifts.reshape(-1, 1)
    return classes, edges.astype(np.int32)
