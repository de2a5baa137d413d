"""Repair along alternating paths: what changed is led to where it is borne.

Thirty people who gained a tie leave some eighty unsafe, since half of all protection sets hold k
members and no more. To lift whole places for them unsettles others, and so on. But what a person
gained can be passed from one person to the next by handing inserted edges over, until somebody
bears it; that concerns a few dozen vertices and makes hardly an edge more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ktsafe.incremental import _alternating_core as core
from ktsafe.incremental import _inviting_core as inviting
from ktsafe.incremental import _turning_core as turning
from ktsafe.incremental.indexed import IndexedGraph
from ktsafe.index._table_core import Rule, Table
from ktsafe.working._graph_core import Working
from ktsafe.working.counting_sort import counting_sorted
from ktsafe.working.graph import WorkingGraph

# How often everybody who lacks something has a turn, at most; it ends once nobody turned.
PASSES_MAX = 16
# More vertices that moved than so many times those who lack something are not asked first.
MOVED_MAX = 4
# How many ways of bringing others of its class and somebody who lacks members together are tried.
TRIES_MAX = 200
# How many are asked to come to somebody who lacks members, from how many neighbours away.
INVITED_MAX, APART_MAX = 6, 3
# How many who lack members others are invited to in one release, or brought together with at a
# time, at most: where a batch leaves more, the rounds of the search serve them at less.
SERVED_MAX = 500
# Room in the edge set, at least: a quarter of it is more than one turn can use up.
GAPS_MIN = 512
# Steps of a turn at most.
STEPS_MAX = 64


def lead_away(indexed: IndexedGraph, rng: np.random.Generator, asked: set[int]) -> None:
    """Let vertices exchange inserted edges as long as that lowers what all lack together.

    Parameters
    ----------
    indexed:
        The graph, changed in place, and its index, which is in step before and afterwards.
    asked:
        Vertices for whom others were invited before, which is done once for each: such who are
        safe by now, and see fewer real ones than they should, are let be. Others are added.
    """
    wishing = _wishing(indexed, asked)
    if not len(wishing):
        return
    paths = Paths(indexed, rng)
    # Turns are of use to members of one's own class only.
    classes = indexed.working.arrays.cls[: indexed.working.n]
    is_wished_in = np.zeros(indexed.working.space.n_classes, dtype=np.bool_)
    is_wished_in[classes[wishing]] = True
    moved = np.flatnonzero(indexed.is_moved & is_wished_in[classes]).astype(np.int32)
    # Where the index was made anew, everybody counts as moved.
    if len(moved) <= MOVED_MAX * len(wishing):
        paths.turn(moved)
    let_be = asked.copy()
    for _ in range(PASSES_MAX):
        wishing = _wishing(indexed, let_be)
        turned = paths.turn(wishing) or paths.invite(wishing, asked)
        if not turned and not paths.bring_together(wishing):
            break
    paths.close()


def _wishing(indexed: IndexedGraph, let_be: set[int]) -> NDArray[np.int32]:
    """Return who is unsafe, or short of real ones and not to be let be, ascending."""
    short = indexed.table.short_of_real()
    heard = np.array([v not in let_be for v in short.tolist()], dtype=np.bool_)
    return np.union1d(indexed.table.unsafe_vertices(), short[heard]).astype(np.int32)


class Paths:
    """Who is there and whose inserted edges are whose, while vertices turn.

    Parameters
    ----------
    indexed:
        The graph and its index; edges that are gone stay in its list until `close`.
    """

    def __init__(self, indexed: IndexedGraph, rng: np.random.Generator) -> None:
        self._indexed = indexed
        self._rng = rng
        self.scene = scene_of(indexed.working)

    def turn(self, vertices: NDArray[np.int32]) -> int:
        """Give each vertex a turn; return how many took it."""
        return self._regroup(self._each(vertices, turning.turn_each))

    def bring_together(self, vertices: NDArray[np.int32]) -> int:
        """Lead vertices and others of their class to one place; return how many were."""
        if len(vertices) > SERVED_MAX:
            vertices = self._rng.permutation(vertices)[:SERVED_MAX]
        return self._regroup(self._each(vertices, _bring_together))

    def invite(self, vertices: NDArray[np.int32], asked: set[int]) -> int:
        """Give a turn to who is nearly similar to one of the vertices; return how many took it.

        Nothing is done for those in `asked`; the others are added, up to a limit.
        """
        indexed, turned = self._indexed, 0
        new = [v for v in vertices.tolist() if v not in asked]
        for v in self._rng.permutation(new)[: max(0, SERVED_MAX - len(asked))].tolist():
            g, table, scene = indexed.working.arrays, indexed.table.arrays, self.scene
            members = scene.members[scene.start[g.cls[v]] : scene.start[g.cls[v] + 1]]
            invited = np.zeros(INVITED_MAX, dtype=np.int32)
            n = inviting.invite(g, table, indexed.rule, members, v, APART_MAX, invited)
            if n:
                turned += self._each(invited[:n], turning.turn_each)
            asked.add(v)
        return self._regroup(turned)

    def close(self) -> None:
        """Take the edges that are gone off the list."""
        working = self._indexed.working
        working.keep_inserted(~self.scene.is_gone[: working.n_inserted_edges])

    def _each(self, vertices: NDArray[np.int32], kernel: Callable[..., int], turns: int = 1) -> int:
        if not len(vertices):
            return 0
        indexed = self._indexed
        working, table = indexed.working, indexed.table.arrays
        self.scene = with_room(working, self.scene, turning.PARTS * len(vertices))
        order = self._rng.permutation(vertices)
        random = self._rng.integers(1 << 63, size=1, dtype=np.uint64)
        return int(kernel(working.arrays, table, indexed.rule, self.scene, order, random))

    def _regroup(self, turned: int) -> int:
        """Look up whose inserted edges are whose, if anybody turned; return how many did."""
        if turned:
            self.scene = regrouped(self._indexed.working, self.scene)
        return turned


def _bring_together(
    g: Working,
    table: Table,
    rule: Rule,
    scene: core.Scene,
    order: NDArray[np.int32],
    random: NDArray[np.uint64],
) -> int:
    met: int = turning.bring_together(g, table, rule, scene, order, TRIES_MAX, random)
    return met


def scene_of(working: WorkingGraph) -> core.Scene:
    """Return who is there, by class, and whose inserted edges are whose."""
    classes = working.arrays.cls[: working.n]
    class_start, members = counting_sorted(classes, working.space.n_classes)
    n_columns = int(working.space.offsets[-1])
    scene = core.Scene(
        members.astype(np.int32),
        class_start,
        edges=np.zeros(0, dtype=np.int64),
        edge_start=np.zeros(working.n + 1, dtype=np.int64),
        is_gone=np.zeros(working.n_inserted_edges, dtype=np.bool_),
        steps=np.zeros((STEPS_MAX, 4), dtype=np.int64),
        n_steps=np.zeros(1, dtype=np.int64),
        sums=np.zeros((4, working.space.n_classes), dtype=np.int64),
        is_near=np.zeros(n_columns, dtype=np.bool_),
    )
    return regrouped(working, scene)


def regrouped(working: WorkingGraph, scene: core.Scene) -> core.Scene:
    """Return the scene with the inserted edges of everybody as they are now."""
    edges = scene.edges
    if len(edges) < 2 * working.n_inserted_edges:
        edges = np.zeros(2 * working.n_inserted_edges + GAPS_MIN, dtype=np.int64)
    core.edges_by_end(working.arrays, scene.is_gone, scene.edge_start, edges)
    return scene._replace(edges=edges)


def with_room(working: WorkingGraph, scene: core.Scene, more: int) -> core.Scene:
    """Make room for so many more inserted edges in graph and scene."""
    # Beyond the edges themselves for the gaps that undone turns leave (`is_crowded`).
    working.reserve_edges(more + GAPS_MIN)
    lacking = working.n_inserted_edges + more - len(scene.is_gone)
    if lacking <= 0:
        return scene
    room = np.zeros(lacking + GAPS_MIN, dtype=np.bool_)
    return scene._replace(is_gone=np.concatenate((scene.is_gone, room)))
