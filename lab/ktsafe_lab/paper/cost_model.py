"""The sampled cost model of Eq. 3.

What a partitioning is expected to cost.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe_lab.paper import _partitioning_core as core
from ktsafe_lab.paper.merging import merge_subgraphs
from ktsafe_lab.paper.partitioning import partition_graph
from ktsafe_lab.paper.vertex_generation import Setting, anonymize_subgraph

SAMPLE_SIZE = 1_000
"""Vertices of the sample graph S ("sample graphs with 1,000 vertices")."""


@dataclasses.dataclass(frozen=True, eq=False)
class CostModel:
    """What vertices of each degree cost, as learnt from a sample graph.

    Attributes
    ----------
    anonymization, merging:
        float64, by degree: mean C_mkt and C_mer of the samples nearest in degree.
    """

    anonymization: NDArray[np.float64]
    merging: NDArray[np.float64]

    def estimate(self, graph: AttributedGraph, part: NDArray[np.int32], parts: int) -> float:
        """Return the estimated cost of anonymizing and merging a partitioning (Eq. 3)."""
        return float(
            core.estimate(
                graph.indptr, graph.indices, part, parts, self.anonymization, self.merging
            )
        )


def sampled_cost_model(
    graph: AttributedGraph,
    params: PrivacyParams,
    setting: Setting,
    rng: np.random.Generator,
    *,
    s: int,
    sample_size: int = SAMPLE_SIZE,
) -> CostModel:
    """Anonymize a sample by Algorithm 1, keeping each vertex's cost.

    The sample is what a walk in breadth finds from random vertices, so degrees inside it are
    like those of the graph. It is divided into s parts, so it has borders to merge.

    *Source*: Section 5.1, Eq. 3. *Departure*: the text's argmin over samples of the signed
    difference of sizes always names the smallest sample; here the absolute difference counts. Of
    two degrees that are equally near the lower one counts, at the mean cost of its samples.
    """
    inner = graph.subgraph(sampled_vertices(graph, min(sample_size, graph.n_vertices), rng))
    # The sample's quasi-identifiers are numbered for themselves.
    own = Setting.of_graph(inner, params)
    own = dataclasses.replace(own, rule=setting.rule, attached=setting.attached)
    parts = partition_graph(inner, max(1, -(-inner.n_vertices // s)), s, rng)
    done = [anonymize_subgraph(part, own) for part in parts]
    merged = merge_subgraphs(inner, done)
    top = int(graph.degrees.max(initial=0)) + 1
    degrees, spent = [], []
    for part in done:
        degrees.append(np.bincount(part.edges.reshape(-1), minlength=len(part.origin)))
        spent.append(part.spent)
    border = np.flatnonzero(merged.n_versions > 1)
    return CostModel(
        nearest_means(np.concatenate(degrees), np.concatenate(spent), top),
        nearest_means(
            inner.degrees[border],
            merged.merging_cost[border] / (merged.n_versions[border] - 1),
            top,
        ),
    )


def sampled_vertices(
    graph: AttributedGraph, size: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return the `size` vertices that a walk in breadth reaches first, ascending."""
    seen = np.zeros(graph.n_vertices, dtype=np.bool_)
    starts = rng.permutation(graph.n_vertices)
    order: list[int] = []
    head = 0
    for start in starts:
        if len(order) >= size:
            break
        if seen[start]:
            continue
        seen[start] = True
        order.append(int(start))
        while head < len(order) and len(order) < size:
            v = order[head]
            head += 1
            around = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
            fresh = around[~seen[around]][: size - len(order)]
            seen[fresh] = True
            order.extend(fresh.tolist())
    return np.sort(np.array(order[:size], dtype=np.int32))


def nearest_means(degrees: NDArray[Any], values: NDArray[Any], top: int) -> NDArray[np.float64]:
    """Return mean values at degrees up to `top`, nearest where missing.

    Of two nearest the lower one.
    """
    if not len(degrees):
        return np.zeros(top + 1)
    known, inverse = np.unique(degrees, return_inverse=True)
    means = np.bincount(inverse.reshape(-1), values) / np.bincount(inverse.reshape(-1))
    wanted = np.arange(top + 1)
    above = np.searchsorted(known, wanted).clip(0, len(known) - 1)
    below = (above - 1).clip(0)
    nearer_below = np.abs(known[below] - wanted) <= np.abs(known[above] - wanted)
    return means[np.where(nearer_below, below, above)]
