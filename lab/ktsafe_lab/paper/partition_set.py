"""Selection of a partitioning by the cost model.

Algorithm "Graph Partitioning Set".
"""

from __future__ import annotations

import numpy as np

from ktsafe.graph import AttributedGraph
from ktsafe_lab.paper.cost_model import CostModel
from ktsafe_lab.paper.partitioning import cluster_around, expand, number_of_parts
from ktsafe_lab.paper.subgraph import ExpandedSubgraph

ITERATIONS = 50
"""The paper's default of `ite`."""


def select_partitioning(
    graph: AttributedGraph,
    model: CostModel,
    rng: np.random.Generator,
    *,
    gamma: int,
    s: int,
    iterations: int = ITERATIONS,
) -> list[ExpandedSubgraph]:
    """Return the cheapest of `iterations` partitionings, each differing in one centre.

    Parameters
    ----------
    graph:
        The graph.
    model:
        Estimates what a partitioning costs.
    rng:
        Draws and replaces centres.
    gamma, s:
        Decide on the number of parts; a part takes at most gamma vertices.
    iterations:
        How many partitionings are tried.

    *Source*: Algorithm 4 and Section 5.1. *Reading*: the recursion decides how many centres there
    are; the graph is clustered around all of them at once.
    """
    parts = number_of_parts(graph.n_vertices, gamma, s)
    if parts == 1:
        return [ExpandedSubgraph.whole(graph)]
    parts = min(parts, graph.n_vertices)
    centres = rng.choice(graph.n_vertices, parts, replace=False).astype(np.int64)
    best = cluster_around(graph, centres, gamma)
    cost = model.estimate(graph, best, parts)
    for _ in range(1, iterations):
        replaced = centres.copy()
        place, vertex = int(rng.integers(parts)), int(rng.integers(graph.n_vertices))
        if vertex in centres:
            continue
        replaced[place] = vertex
        label = cluster_around(graph, replaced, gamma)
        estimated = model.estimate(graph, label, parts)
        if estimated < cost:
            centres, cost, best = replaced, estimated, label
    return expand(graph, best, parts)
