"""The default strategy: the cheapest supergraph that the cohort search finds, or copies."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np

from ktsafe.cohort_search import copies_cost
from ktsafe.deletion import cheapest_release
from ktsafe.fallback import disjoint_copies
from ktsafe.graph import AttributedGraph
from ktsafe.options import AnonymizeOptions
from ktsafe.params import PrivacyParams
from ktsafe.strategies import Plan, Progress


def cohort(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    executor: Executor | None,  # noqa: ARG001 -- the search runs in the calling thread so far
    report: Progress,
) -> Plan:
    """Plan a kt-safe release by rounds of settling, targets, matching and inserting.

    Rounds of: settle what is safe, give the others targets (`cohorts`), serve their wants among
    each other, by settled vertices, and by inserted ones (`matching`); with edits
    `insert+delete` on a thinned graph, too (`deletion`). Single edges of the cheapest result are
    annealed (`annealing`). If nothing ends or beats them, disjoint copies (`fallback`) are
    released. Source: `ktsafe.strategies.Strategy`.
    """
    rounds, best = cheapest_release(graph, params, rng, options, report)
    used_fallback = best is None or best.cost > copies_cost(graph, params)
    if best is None or used_fallback:
        inserted, edges = disjoint_copies(graph, params)
        kept = graph.edges
    else:
        inserted, edges = best.arrays.cls[graph.n_vertices : best.n], best.inserted_edges
        kept = best.original_edges
    return Plan(inserted, np.concatenate((kept, edges)), rounds, used_fallback)
