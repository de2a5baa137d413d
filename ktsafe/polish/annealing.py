"""Annealing of single edges: what lowers the cost once everybody is safe.

One edge at a time is withdrawn, restored or deleted, or one end of it moves to another vertex of
the same class, which leaves the other end's neighbourhood as it was. A change is accepted only if
every vertex stays safe by exact counts; among those, changes that raise the cost are accepted
rarely, and ever more rarely (Metropolis). The budget is counted in trials, so results repeat.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.index._table_core import NONE, Rule
from ktsafe.index.columns import bands_of, packed
from ktsafe.polish import _annealing_core as core
from ktsafe.polish import _edits_core as edits_core
from ktsafe.polish._annealing_core import is_crowded
from ktsafe.polish._edits_core import Edits
from ktsafe.polish.trimming import found_little
from ktsafe.strategies import Progress
from ktsafe.working.counting_sort import counting_sorted
from ktsafe.working.graph import WorkingGraph

__all__ = [
    "INSERT_ONLY",
    "WITH_DELETION",
    "Schedule",
    "anneal",
    "enlarged",
    "is_crowded",
    "listed_edits",
    "scene_of",
    "split_edits",
    "sweep",
]

PARTS = 50


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How to anneal.

    Attributes
    ----------
    temperatures:
        First and last temperature; between them it falls geometrically. A change that costs one
        edit is accepted with probability exp(-1 / temperature).
    shares:
        Relative number of trials of each kind: withdraw an inserted edge, move an end of one,
        restore a deleted edge, delete an original one, move an end of one.
    """

    temperatures: tuple[float, float]
    shares: tuple[float, float, float, float, float]


INSERT_ONLY = Schedule((0.3, 0.1), (0.4, 0.6, 0, 0, 0))
WITH_DELETION = Schedule((0.4, 0.1), (0.2, 0.4, 0.1, 0.25, 0.05))


def anneal(
    working: WorkingGraph,
    rule: Rule,
    rng: np.random.Generator,
    schedule: Schedule,
    trials: int,
    report: Progress,
) -> None:
    """Lower the cost of a safe working graph, in place; it never rises in the end.

    Parameters
    ----------
    working:
        A graph all of whose vertices are safe; they stay so. Tables of it become stale.
    rule:
        From `ktsafe.index.table.similarity_rule`.
    rng:
        Draws the trials.
    schedule, trials:
        What is tried, and how often.
    report:
        Progress.
    """
    bands = bands_of(working, rule) if working.n and trials else None
    if bands is None:
        return
    before = working.cost, working.original_edges, working.deleted_edges, working.inserted_edges
    scene, edits = scene_of(working), listed_edits(working)
    shares = np.cumsum(schedule.shares) / sum(schedule.shares)
    random = rng.integers(1 << 63, size=1, dtype=np.uint64)
    hot, cold = schedule.temperatures
    factor = (cold / hot) ** (1.0 / trials)
    made = 0
    while made < trials:
        steps = min(trials - made, trials // PARTS + 1)
        cooling = (hot * factor**made, factor)
        made += core.anneal(bands, scene, edits, shares, steps, cooling, random)
        # What the kernel needs room for: it returns early where there is too little.
        if is_crowded(bands, edits):
            bands, edits = packed(bands), enlarged(edits)
        report("anneal", made / trials)
    kept, deleted, inserted = split_edits(edits)
    cost = working.n - working.n_original + len(deleted) + len(inserted)
    if cost <= before[0]:
        working.rewire(kept, deleted, inserted)


def sweep(working: WorkingGraph, rule: Rule, rng: np.random.Generator, passes_max: int) -> bool:
    """Withdraw inserted edges, each tried once per pass in random order, while all stay safe.

    The same as `ktsafe.polish.trimming.trim` does by its own table, and faster where classes are
    large; tables of the working graph become stale. Ends early once a pass finds little. Returns
    False, with nothing done, where a neighbourhood is too large to compare.
    """
    bands = bands_of(working, rule)
    if bands is None:
        return False
    for _ in range(passes_max):
        before = working.inserted_edges
        before[:] = before[rng.permutation(len(before))]
        scene, edits = scene_of(working), listed_edits(working)
        first = edits.counts[edits_core.ORIGINAL]
        at = edits.counts[edits_core.LISTED] - 1
        while at >= first:
            at = core.sweep(bands, scene, edits, at)
            if is_crowded(bands, edits):
                bands, edits = packed(bands), enlarged(edits)
        kept, deleted, inserted = split_edits(edits)
        taken = len(before) - len(inserted)
        working.rewire(kept, deleted, inserted)
        if found_little(taken, len(before)):
            break
    return True


def scene_of(working: WorkingGraph) -> core.Scene:
    """Return what annealing leaves as it is."""
    n, g, n_classes = working.n, working.arrays, working.space.n_classes
    start, members = counting_sorted(g.cls[:n], n_classes)
    return core.Scene(
        cls=g.cls[:n].copy(),
        is_sensitive=g.is_sensitive[:n].copy(),
        members=members.astype(np.int32),
        start=start,
        columns=working.space.columns,
    )


def listed_edits(working: WorkingGraph) -> Edits:
    """Return the edges of a working graph as a list of edits."""
    original = np.concatenate((working.original_edges, working.deleted_edges))
    n, d, i = len(original), len(working.deleted_edges), working.n_inserted_edges
    rank = np.full(n, NONE, dtype=np.int64)
    rank[n - d :] = np.arange(d)
    deleted = np.zeros(n, dtype=np.int64)
    deleted[:d] = np.arange(n - d, n)
    ends = np.concatenate((original, working.inserted_edges)).astype(np.int32)
    counts = np.array([n, n + i, d], dtype=np.int64)
    free = np.zeros(0, dtype=np.int64)
    return enlarged(Edits(counts, ends, deleted, rank, free, free))


def enlarged(edits: Edits) -> Edits:
    """Return the same list with room for half as many edges more."""
    listed = int(edits.counts[edits_core.LISTED])
    room = listed + listed // 2 + 1024
    ends = np.zeros((room, 2), dtype=np.int32)
    ends[:listed] = edits.ends[:listed]
    slots = 1 << (2 * room).bit_length()
    keys = np.full(slots, NONE, dtype=np.int64)
    larger = edits._replace(ends=ends, keys=keys, position=np.zeros(slots, dtype=np.int64))
    edits_core.load(larger, listed)
    return larger


def split_edits(
    edits: Edits,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the original edges that are kept, those that are deleted, and inserted ones."""
    n, listed = edits.counts[edits_core.ORIGINAL], edits.counts[edits_core.LISTED]
    is_kept = edits.rank == NONE
    original = edits.ends[:n]
    return original[is_kept], original[~is_kept], edits.ends[n:listed].copy()
