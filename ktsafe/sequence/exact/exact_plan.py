"""A supergraph on exact locations: every vertex shares its closed histogram with m - 1 others.

The search for one release (`ktsafe.cohorts.search`) serves what is left over by settled vertices
that can bear one neighbour more. On exact locations nobody can, and vertices that are inserted
instead need cohorts, too, which lack further neighbours, and so on. Here all stubs are made to fit
before an edge is inserted, so that hardly a vertex is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts.choose import choose_targets
from ktsafe.cohorts.search import BUDGETS, degree_caps
from ktsafe.graph import AttributedGraph
from ktsafe.index.table import LocationTable, real_floors, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.options import Effort
from ktsafe.params import PrivacyParams
from ktsafe.sequence.exact.completing import Cohorts, complete
from ktsafe.sequence.exact.naming import Lacking
from ktsafe.strategies import Plan
from ktsafe.working.graph import WorkingGraph

SWAPS_PER_VERTEX: dict[Effort, int] = {"fast": 10, "balanced": 1000, "thorough": 4000}
"""Steps of the search for cohorts: more than for one release, since all later ones profit."""

NOBODY = np.zeros(0, dtype=np.int32)


def exact_plan(
    graph: AttributedGraph, params: PrivacyParams, effort: Effort, rng: np.random.Generator
) -> Plan | None:
    """Search as often as the effort allows; return the cheapest plan, None where none was found.

    Parameters
    ----------
    graph:
        The true graph.
    params:
        The guarantee, with t = 0 and epsilon = 0.
    effort, rng:
        How hard to search; the randomness.
    """
    best: WorkingGraph | None = None
    for own in rng.spawn(BUDGETS[effort].searches(graph)):
        found = _search(graph, params, SWAPS_PER_VERTEX[effort], own)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    if best is None:
        return None
    inserted = best.arrays.cls[graph.n_vertices : best.n]
    return Plan(inserted, np.concatenate((best.original_edges, best.inserted_edges)))


def _search(
    graph: AttributedGraph, params: PrivacyParams, swaps: int, rng: np.random.Generator
) -> WorkingGraph | None:
    """Choose cohorts and complete them; None where that was not found."""
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    rule = similarity_rule(working.space, params)
    table = LocationTable(working, rule, degree_caps(working), real_floors(working, rule))
    # Step 1: who shares a location with enough others already may stay; cohorts for the rest.
    lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
    wants = choose_targets(working, table, lifted, NOBODY, params, rng, swaps_per_vertex=swaps)
    residual = np.zeros((working.n, working.target_space.n_columns), dtype=np.int64)
    residual[wants.vertices] = wants.residual
    cls = working.arrays.cls[: working.n].astype(np.int64)
    lacking = Lacking(working.target_space, cls, residual)
    if not lacking.can_be_named:
        return None
    # Step 2: edges for all that is lacking.
    cohorts = Cohorts(working, _groups(working, table), params)
    if not complete(working, lacking, cohorts, params, rng):
        return None
    table = LocationTable(working, rule, degree_caps(working), table.arrays.floor)
    return None if len(table.unsafe_vertices()) else working


def _groups(working: WorkingGraph, table: LocationTable) -> NDArray[np.int64]:
    """Return for each vertex the number of its cohort, or of the location where it is settled."""
    groups: NDArray[np.int64] = working.cohort[: working.n].copy()
    alone = np.flatnonzero(groups < 0)
    at = table.arrays.of_vertex[alone]
    # The table may tell neighbourhoods apart that are equal attribute by attribute.
    hist = table.arrays.hist[at, : working.space.n_columns]
    rows = np.column_stack((table.arrays.cls[at], hist))
    _, number = np.unique(rows, axis=0, return_inverse=True)
    groups[alone] = working.n_cohorts + number.reshape(-1)
    return groups
