"""Graph partitioning: Algorithm partition_graph with gamma, s and halo expansion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe_lab.paper import _partitioning_core as core
from ktsafe_lab.paper.subgraph import ExpandedSubgraph


def partition_graph(
    graph: AttributedGraph, gamma: int, s: int, rng: np.random.Generator
) -> list[ExpandedSubgraph]:
    """Divide a graph by s, again and again, down to gamma.

    Subgraphs have similar sizes, in vertices.

    Each subgraph is then expanded by its border vertices' neighbours. A graph of at most gamma
    vertices is its own and only part.

    Parameters
    ----------
    graph:
        The graph.
    gamma, s:
        Greatest size of a subgraph, and number of subgraphs of a division; s >= 2 wherever there
        is something to divide (with s = 1 the graph stays whole).
    rng:
        Draws the centres.

    *Source*: Algorithm 5 (partition_graph). *Reading*: "similar sizes" means at most
    ceil(size / s) vertices; a division clusters around random centres, as Section 5.1 says.
    """
    part = np.zeros(graph.n_vertices, dtype=np.int32)
    waiting = [np.arange(graph.n_vertices, dtype=np.int64)]
    finished: list[NDArray[np.int64]] = []
    while waiting:
        vertices = waiting.pop()
        if len(vertices) <= gamma or s < 2:
            finished.append(vertices)
            continue
        centres = np.sort(rng.choice(vertices, s, replace=False))
        label = cluster_around(graph, centres, -(-len(vertices) // s), vertices)[vertices]
        waiting += [vertices[label == c] for c in range(s)]
    for number, vertices in enumerate(sorted(finished, key=lambda found: int(found[:1].sum()))):
        part[vertices] = number
    return expand(graph, part, len(finished))


def number_of_parts(n_vertices: int, gamma: int, s: int) -> int:
    """Return how many subgraphs the recursion ends with, where divisions are even."""
    parts = 1
    while s > 1 and n_vertices > gamma * parts:
        parts *= s
    return parts


def cluster_around(
    graph: AttributedGraph,
    centres: NDArray[np.int64],
    capacity: int,
    vertices: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """Assign each vertex to the nearest centre that has room for it.

    Parameters
    ----------
    graph:
        The graph.
    centres:
        Distinct vertices, int64, shape (c,).
    capacity:
        Greatest size of a cluster; c * capacity must suffice.
    vertices:
        The vertices to assign; None: all.

    Returns
    -------
    int32, shape (n,)
        The number of each vertex's centre; -1 for vertices that were not to be assigned.

    *Reading*: what no centre reaches, or none with room, goes to the smallest cluster.
    """
    inside = np.zeros(graph.n_vertices, dtype=np.bool_)
    inside[slice(None) if vertices is None else vertices] = True
    label: NDArray[np.int32] = core.cluster(graph.indptr, graph.indices, inside, centres, capacity)
    left = np.flatnonzero(inside & (label < 0))
    if len(left):
        sizes = np.bincount(label[label >= 0], minlength=len(centres))
        # The smallest cluster first, always: fill all up to a common level.
        free = np.repeat(np.arange(len(centres)), np.maximum(capacity - sizes, 0))
        level = np.concatenate([np.arange(size, capacity) for size in sizes if size < capacity])
        order = np.lexsort((free, level))
        label[left] = free[order[: len(left)]]
    return label


def expand(graph: AttributedGraph, part: NDArray[np.int32], parts: int) -> list[ExpandedSubgraph]:
    """Return the parts with duplicates of border neighbours (n = 1).

    *Departure*: edges between two halo vertices are left out; a star does not show them.
    """
    edges = graph.edges
    ends = part[edges]
    crossing = ends[:, 0] != ends[:, 1]
    numbers = np.concatenate((np.flatnonzero(~crossing), *[np.flatnonzero(crossing)] * 2))
    owner = np.concatenate((ends[~crossing, 0], ends[crossing, 0], ends[crossing, 1]))
    order = np.lexsort((numbers, owner))
    numbers, owner = numbers[order], owner[order]
    bounds = np.searchsorted(owner, np.arange(parts + 1))
    by_part = np.argsort(part, kind="stable")
    vertex_bounds = np.searchsorted(part[by_part], np.arange(parts + 1))
    position = np.full(graph.n_vertices, -1, dtype=np.int32)
    found = []
    for p in range(parts):
        owned = by_part[vertex_bounds[p] : vertex_bounds[p + 1]].astype(np.int32)
        inside = edges[numbers[bounds[p] : bounds[p + 1]]]
        halo = np.unique(inside[part[inside] != p]).astype(np.int32)
        origin = np.concatenate((owned, halo))
        position[origin] = np.arange(len(origin), dtype=np.int32)
        found.append(ExpandedSubgraph(origin, len(owned), position[inside].reshape(-1, 2)))
    return found
