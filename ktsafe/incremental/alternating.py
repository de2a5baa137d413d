"""Repair along alternating paths: what changed is led to where it is borne.

Thirty people who gained a tie leave some eighty unsafe, since half of all protection sets hold k
members and no more. To lift whole places for them unsettles others, and so on. But what a person
gained can be passed from one person to the next by handing inserted edges over, until somebody
bears it; that concerns a few dozen vertices and makes hardly an edge more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.incremental import _alternating_core as core
from ktsafe.incremental import _turning_core as turning
from ktsafe.incremental.indexed import IndexedGraph
from ktsafe.working import WorkingGraph

# How often everybody who lacks something has a turn, at most; it ends once nobody turned.
PASSES_MAX = 8
# More vertices that moved than so many times those who lack something are not asked first.
MOVED_MAX = 4
# How many ways of bringing others of its class and somebody who lacks members together are tried.
TRIES_MAX = 200
# Room in the edge set, at least: a quarter of it is more than one turn can use up.
GAPS_MIN = 512
# Steps of a turn at most.
STEPS_MAX = 64


def lead_away(indexed: IndexedGraph, rng: np.random.Generator, *, wishes: bool = True) -> None:
    """Let vertices exchange inserted edges as long as that lowers what all lack together.

    Parameters
    ----------
    indexed:
        The graph, changed in place, and its index, which is in step before and afterwards.
    wishes:
        Whether also for those who are safe and see fewer real ones than they should.
    """
    wishing = indexed.wishing() if wishes else indexed.table.unsafe_vertices()
    if not len(wishing):
        return
    # Turns are of use to members of one's own class only.
    classes = indexed.working.arrays.cls[: indexed.working.n]
    is_concerned = indexed.is_moved & np.isin(classes, classes[wishing])
    moved = np.flatnonzero(is_concerned).astype(np.int32)
    # Where the index was made anew, everybody counts as moved.
    if len(moved) <= MOVED_MAX * len(wishing):
        _turn(indexed, moved, rng)
    for _ in range(PASSES_MAX):
        wishing = indexed.wishing() if wishes else indexed.table.unsafe_vertices()
        if not len(wishing):
            return
        if not _turn(indexed, wishing, rng) and not _turn(indexed, wishing, rng, together=True):
            return


def _turn(
    indexed: IndexedGraph,
    vertices: NDArray[np.int32],
    rng: np.random.Generator,
    *,
    together: bool = False,
) -> int:
    """Give each vertex a turn, alone or together with others; return how many took it."""
    working, table = indexed.working, indexed.table.arrays
    scene = scene_of(working, turning.PARTS * len(vertices))
    order, random = rng.permutation(vertices), rng.integers(1 << 63, size=1, dtype=np.uint64)
    if together:
        turned = turning.bring_together(
            working.arrays, table, indexed.rule, scene, order, TRIES_MAX, random
        )
    else:
        turned = turning.turn_each(working.arrays, table, indexed.rule, scene, order, random)
    working.keep_inserted(~scene.is_gone[: working.n_inserted_edges])
    return int(turned)


def scene_of(working: WorkingGraph, room: int) -> core.Scene:
    """Return who is there and whose inserted edges are whose; make room for so many more."""
    count = working.n_inserted_edges
    start = np.zeros(working.n + 1, dtype=np.int64)
    edges = np.zeros(2 * count, dtype=np.int64)
    core.edges_by_end(working.arrays, start, edges)
    # Beyond the edges themselves for the gaps that undone turns leave (`is_crowded`).
    working.reserve_edges(room + GAPS_MIN)
    is_gone = np.zeros(count + room, dtype=np.bool_)
    steps = np.zeros((STEPS_MAX, 4), dtype=np.int64)
    members, class_start = by_class(working)
    return core.Scene(
        members, class_start, edges, start, is_gone, steps, np.zeros(1, dtype=np.int64)
    )


def by_class(
    working: WorkingGraph, vertices: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return vertices, all unless given, grouped by class, and where each class starts."""
    classes = working.arrays.cls[: working.n]
    if vertices is None:
        members = np.argsort(classes, kind="stable").astype(np.int32)
    else:
        members = vertices[np.argsort(classes[vertices], kind="stable")]
    start = np.zeros(working.space.n_classes + 1, dtype=np.int64)
    np.cumsum(np.bincount(classes[members], minlength=working.space.n_classes), out=start[1:])
    return members, start
