"""Cohorts that are alike within t and epsilon: the cheapest that is found, or an aligned release.

The definition asks for no more. Within the tolerance each person stays nearest to itself, though,
which strategy `exact` avoids (ADR 0023).
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor

import numpy as np

from ktsafe.alignment.aligned_strategy import aligned
from ktsafe.cohorts.deletion import cheapest_release
from ktsafe.cohorts.search import copies_cost
from ktsafe.graph import AttributedGraph
from ktsafe.options import AnonymizeOptions, Effort
from ktsafe.params import PrivacyParams
from ktsafe.polish.closeness import draw_closer
from ktsafe.strategies import Plan, Progress

# How often inserted edges are drawn closer.
PASSES: dict[Effort, int] = {"fast": 0, "balanced": 3, "thorough": 10}


def tolerant(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    executor: Executor | None,
    report: Progress,
) -> Plan:
    """Plan a kt-safe release by rounds of settling, targets, matching and inserting.

    Rounds of: settle what is safe, give the others targets (`cohorts`), serve their wants among
    each other, by settled vertices, and by inserted ones (`matching`); unless edits are `insert`,
    on a thinned graph, too (`deletion`). Single edges of the cheapest result are
    annealed (`annealing`), then drawn to where people are close (`closeness`). If nothing ends,
    or only dearer than disjoint copies, an aligned release takes its place, which never is.
    Source: `ktsafe.strategies.Strategy`.
    """
    rounds, best = cheapest_release(graph, params, rng, options, report, executor)
    if best is None or best.cost > copies_cost(graph, params):
        plan = aligned(graph, params, rng=rng, options=options, executor=executor, report=report)
        return dataclasses.replace(plan, rounds=rounds, used_fallback=True)
    draw_closer(best, graph, params, rng, PASSES[options.effort])
    inserted, edges = best.arrays.cls[graph.n_vertices : best.n], best.inserted_edges
    return Plan(inserted, np.concatenate((best.original_edges, edges)), rounds)
