"""Serving wants: vertex to vertex first, then settled vertices, inserted ones last.

One edge between two vertices that want each other's class serves both; that is what makes a
release cheaper than copies. An edge to a settled vertex that can bear it serves one. A vertex is
inserted only for what remains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts import _matching_core as core
from ktsafe.cohorts import _raising_core as raising
from ktsafe.cohorts._wants_core import Wants
from ktsafe.index.table import LocationTable
from ktsafe.working.counting_sort import counting_sorted
from ktsafe.working.graph import WorkingGraph

PASSES_MAX = 9
# Locations of each class that inserted vertices may be modelled on.
MODELS_MAX = 64
RAISES_PER_ROUND = PASSES_MAX * (raising.RAISES_MAX + 1)


def match_wants(working: WorkingGraph, wants: Wants, rng: np.random.Generator) -> None:
    """Insert edges that serve two wants each, neediest vertices first.

    Where more wants are left than partners, whole cohorts are raised by one common neighbour, so
    that their members become partners; also where what somebody wants cannot be had at all.
    """
    start, members = counting_sorted(working.arrays.cls[wants.vertices], working.space.n_classes)
    group_start, rows = _cohort_rows(working, wants, rng)
    for pass_ in range(PASSES_MAX):
        counts = raising.demand(working.arrays, wants)
        classes = rng.permutation(working.space.n_classes)
        raised = raising.relieve(working.arrays, wants, counts, group_start, rows, classes)
        if 0 < pass_ < PASSES_MAX - 1:
            raised += raising.serve_demand(working.arrays, wants, counts, group_start, rows)
        if pass_ and not raised:
            break
        working.reserve_edges(int(wants.stubs.sum()))
        for exactly in (True, False):
            core.match(working.arrays, wants, start, members, exactly)


def _cohort_rows(
    working: WorkingGraph, wants: Wants, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of wants grouped by cohort, cohorts in random order, and their starts."""
    cohort = working.cohort[wants.vertices]
    rows = np.flatnonzero(cohort >= 0)
    labels, compact = np.unique(cohort[rows], return_inverse=True)
    shuffled = rng.permutation(len(labels))[compact.reshape(-1)]
    start, members = counting_sorted(shuffled, len(labels))
    return start, rows[members]


def absorb_leftovers(
    working: WorkingGraph,
    table: LocationTable,
    wants: Wants,
    rng: np.random.Generator,
    *,
    tries_max: int,
) -> None:
    """Settle what is safe, then serve leftover stubs by settled vertices that can bear it."""
    n, g = working.n, working.arrays
    core.settle(g, table.arrays, table.rule, wants)
    shuffled = rng.permutation(n).astype(np.int32)
    start, members = counting_sorted(g.cls[shuffled], working.space.n_classes)
    working.reserve_edges(int(wants.stubs.sum()))
    core.absorb(
        working.arrays,
        table.arrays,
        table.rule,
        wants,
        shuffled[members],
        start,
        tries_max,
        int(rng.integers(1 << 30)),
    )


def insert_for_leftovers(
    working: WorkingGraph,
    table: LocationTable,
    wants: Wants,
    rng: np.random.Generator,
) -> None:
    """Insert vertices for the stubs that nobody served, each modelled on a settled location.

    What an inserted vertex itself still lacks to its model is a want of the next round.
    """
    stubs = int(wants.stubs.sum())
    if stubs == 0:
        return
    models, start = _models(table, working.space.n_classes, rng)
    plan = core.Plan(
        np.zeros(stubs, dtype=np.int32),
        np.zeros((stubs, 2), dtype=np.int32),
        np.zeros(2, dtype=np.int64),
    )
    core.plan_inserted(working.arrays, table.arrays, wants, models, start, plan)
    n_vertices, n_edges = int(plan.size[0]), int(plan.size[1])
    new = working.add_vertices(plan.classes[:n_vertices])
    inserted, seeker = plan.edges[:n_edges, 0], plan.edges[:n_edges, 1]
    working.insert_edges(np.column_stack((new[inserted], wants.vertices[seeker])))


def _models(
    table: LocationTable, n_classes: int, rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return up to `MODELS_MAX` safe populated locations of each class, and where each starts."""
    safe = table.safe_locations()
    safe = rng.permutation(safe[table.arrays.degree[safe] > 0])
    start, members = counting_sorted(table.arrays.cls[safe], n_classes)
    kept = [members[start[b] : start[b + 1]][:MODELS_MAX] for b in range(n_classes)]
    ends = np.cumsum([0] + [len(part) for part in kept])
    return safe[np.concatenate(kept)], ends.astype(np.int64)
