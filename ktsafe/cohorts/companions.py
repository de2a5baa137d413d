"""What is safe by construction, for inputs on which the search does not end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.index.table import LocationTable
from ktsafe.params import PrivacyParams
from ktsafe.working.graph import WorkingGraph


def add_companions(
    working: WorkingGraph,
    table: LocationTable,
    unsafe: NDArray[np.int32],
    params: PrivacyParams,
) -> None:
    """Give each unsafe location m inserted vertices, connected to inserted neighbours only.

    The m centres see the same classes as the vertex they accompany. Their neighbours form rings
    in which all of one class see equally many centres, so that these, too, share one location.
    Nothing that exists changes, and harmless vertices never hurt a protection set that is large
    enough; a neighbour's location may still be too sensitive, which a further call repairs.
    """
    chosen = _one_of_each_location(table, unsafe)
    hist = working.joint_histograms(chosen)
    for v, row in zip(chosen, hist, strict=True):
        count = params.group_size_min
        centres = working.add_vertices(np.repeat(working.arrays.cls[v : v + 1], count))
        edges = []
        for c in np.flatnonzero(row):
            wanted = int(row[c])
            ring = working.add_vertices(np.full(max(count, wanted), c, dtype=np.int32))
            near = np.repeat(np.arange(count), wanted)
            far = (near + np.tile(np.arange(wanted), count)) % len(ring)
            edges.append(np.column_stack((centres[near], ring[far])))
        if edges:
            working.insert_edges(np.concatenate(edges))


def companions_cost(
    working: WorkingGraph,
    table: LocationTable,
    unsafe: NDArray[np.int32],
    params: PrivacyParams,
) -> int:
    """Return how many vertices and edges `add_companions` would insert."""
    hist = working.joint_histograms(_one_of_each_location(table, unsafe)).astype(np.int64)
    m = params.group_size_min
    rings = np.maximum(hist, m)[hist > 0].sum()
    return int(m * (len(hist) + hist.sum()) + rings)


def _one_of_each_location(table: LocationTable, vertices: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the first of the given vertices at each location."""
    _, first = np.unique(table.arrays.of_vertex[vertices], return_index=True)
    return vertices[first]
