"""The kt-safe graph generation framework (Algorithm 1): partition, make safe, merge."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.request import Request
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe_lab.paper.cost_model import sampled_cost_model
from ktsafe_lab.paper.merging import MergedGraph, merge_subgraphs
from ktsafe_lab.paper.partition_set import select_partitioning
from ktsafe_lab.paper.pivots import select_pivots
from ktsafe_lab.paper.subgraph import AnonymizedSubgraph, ExpandedSubgraph
from ktsafe_lab.paper.vertex_generation import (
    Setting,
    anonymize_subgraph,
    processing_order,
)


@dataclasses.dataclass(frozen=True)
class Variant:
    """The paper's optimizations and variations in use.

    Attributes
    ----------
    partition:
        Divide and conquer; else the graph is its only subgraph.
    pruning:
        Find candidates through pivots and kt-tree. Changes the time, nothing else.
    queue_halo:
        Whether halo vertices are made safe in every subgraph that they are in, as the text has it;
        else each vertex is in its own.
    gamma, s:
        Vertices of a part, at most, and parts that one is divided into.
    """

    partition: bool = True
    pruning: bool = True
    queue_halo: bool = True
    gamma: int = 1000
    s: int = 4


def kt_safe_graph(request: Request, variant: Variant) -> MergedGraph:
    """Return G' by Algorithm 1, in general *not* kt-safe.

    Parameters
    ----------
    request:
        The graph, and the guarantee that is aimed at, `n_hops` 0 or 1. Partitioning and pivots draw
        from generators of their own, so pruning changes no result. Its options are not used.
    variant:
        Optimizations and variations.

    Raises
    ------
    InvalidParams
        If `n_hops` is above 1, or the output would not fit 32-bit vertex numbers.
    """
    graph, params = request.graph, request.params
    executor, report = request.executor, request.report
    for_partitioning, for_pivots = request.rng.spawn(2)
    setting = Setting.of_graph(graph, params)
    parts = [ExpandedSubgraph.whole(graph)]
    if variant.partition and graph.n_vertices > variant.gamma:
        model = sampled_cost_model(graph, params, setting, for_partitioning, s=variant.s)
        parts = select_partitioning(
            graph, model, for_partitioning, gamma=variant.gamma, s=variant.s
        )
    report("partition", 1.0)
    if variant.pruning and graph.n_vertices:
        pivots = select_pivots(graph, params, for_pivots)
        setting = dataclasses.replace(setting, pivot_degrees=graph.degrees[pivots])
    work = partial(_anonymized, setting=setting, queue_halo=variant.queue_halo)
    done: list[AnonymizedSubgraph] = []
    for finished in map(work, parts) if executor is None else executor.map(work, parts):
        done.append(finished)
        report("anonymize", len(done) / len(parts))
    return merge_subgraphs(graph, done)


def _anonymized(
    part: ExpandedSubgraph, setting: Setting, *, queue_halo: bool
) -> AnonymizedSubgraph:
    """Make a subgraph kt-safe; a module's function, so processes can run it."""
    queue = processing_order(part)
    return anonymize_subgraph(part, setting, queue if queue_halo else queue[queue < part.n_owned])


def near_optimal(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    orders: int,
    executor: Executor | None = None,
) -> tuple[AnonymizedSubgraph, NDArray[np.int64]]:
    """Anonymize in random execution orders and keep the cheapest result.

    Parameters
    ----------
    graph, params:
        The graph, undivided, and the guarantee that is aimed at.
    rng:
        Draws pivots and orders.
    orders:
        How many of the n! orders are tried; the paper tries 3,000 on Cora.
    executor:
        Tries orders at the same time; the result is the same without.

    Returns
    -------
    AnonymizedSubgraph
        The cheapest result, the first of several.
    int64, shape (orders,)
        The cost of every order.

    *Source*: Appendix, "Additional Cost Evaluation of the Generated kt-Safe Graph".
    """
    pivots = select_pivots(graph, params, rng)
    setting = Setting.of_graph(graph, params, pivot_degrees=graph.degrees[pivots])
    whole = ExpandedSubgraph.whole(graph)
    # An order follows from its seed, so thousands of results need not be kept.
    seeds = rng.integers(2**63, size=orders).tolist()
    run = map if executor is None else executor.map
    costs = np.array(list(run(partial(_cost_in_order, whole, setting), seeds)), dtype=np.int64)
    if not orders:
        return anonymize_subgraph(whole, setting), costs
    return _in_order(whole, setting, seeds[int(costs.argmin())]), costs


def _cost_in_order(part: ExpandedSubgraph, setting: Setting, seed: int) -> int:
    """Return what the random execution order of a seed costs."""
    return _in_order(part, setting, seed).cost


def _in_order(part: ExpandedSubgraph, setting: Setting, seed: int) -> AnonymizedSubgraph:
    """Make a subgraph kt-safe in the random execution order of a seed."""
    queue = np.random.default_rng(seed).permutation(len(part.origin)).astype(np.int32)
    return anonymize_subgraph(part, setting, queue)
