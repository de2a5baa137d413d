"""Serving wants: vertex to vertex first, then settled vertices, inserted ones last.

One edge between two vertices that want each other's class serves both; that is what makes a
release cheaper than copies. An edge to a settled vertex that can bear it serves one. A vertex is
inserted only for what remains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe import _matching_core as core
from ktsafe._matching_core import Wants
from ktsafe.locations import LocationTable
from ktsafe.working import WorkingGraph


def match_wants(working: WorkingGraph, wants: Wants) -> None:
    """Insert edges that serve two wants each, neediest vertices first."""
    start, members = _grouped(working.arrays.cls[wants.vertices], working.space.n_classes)
    working.reserve_edges(int(wants.stubs.sum()))
    core.match(working.arrays, wants, start, members)


def absorb_leftovers(
    working: WorkingGraph,
    table: LocationTable,
    wants: Wants,
    rng: np.random.Generator,
    *,
    tries_max: int,
) -> None:
    """Settle what is complete, then serve leftover stubs by settled vertices that can bear it."""
    n, g = working.n, working.arrays
    is_open = np.zeros(n, dtype=np.bool_)
    core.settle_complete(g, table.arrays, table.rule, wants, is_open)
    shuffled = rng.permutation(n).astype(np.int32)
    start, members = _grouped(g.cls[shuffled], working.space.n_classes)
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


def insert_for_leftovers(working: WorkingGraph, wants: Wants, degree_max: int) -> None:
    """Insert vertices for the stubs that nobody served; their own wants arise next round."""
    stubs = int(wants.stubs.sum())
    if stubs == 0:
        return
    fake_class = np.zeros(stubs, dtype=np.int32)
    edges = np.zeros((stubs, 2), dtype=np.int32)
    n_fakes, n_edges = core.plan_inserted(
        wants, fake_class=fake_class, edges=edges, degree_max=degree_max
    )
    new = working.add_vertices(fake_class[:n_fakes])
    working.reserve_edges(n_edges)
    planned = np.column_stack((new[edges[:n_edges, 0]], wants.vertices[edges[:n_edges, 1]]))
    core.insert_edges(working.arrays, np.ascontiguousarray(planned))


def _grouped(
    classes: NDArray[np.int32], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions grouped by class, in order within each, and where each class starts."""
    members = np.argsort(classes, kind="stable")
    start = np.zeros(n_classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(classes, minlength=n_classes), out=start[1:])
    return start, members
