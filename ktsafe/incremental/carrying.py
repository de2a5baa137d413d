"""From the last release to a working graph of the new truth, with as little changed as possible.

    last release          new truth                working graph
    person, still there   position by key          the same vertex
    person, left          class still exists       inserted vertex with the former ties as inserted
    inserted vertex       class still exists       inserted vertex
    true tie, removed                              inserted edge (lazy deletion)
    inserted edge, now true                        true tie, at no cost
    true tie, new                                  a switch if there is one, else an edge more

A class that nobody is of any more goes with its inserted vertices: it would only tell of people
who were there.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph, edge_keys
from ktsafe.incremental import _switching_core as switching
from ktsafe.incremental._alternating_core import edges_by_end
from ktsafe.index._table_core import NONE
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph

Numbers = NDArray[np.int64]
Ties = NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Release:
    """A release with what its readers do not know.

    Attributes
    ----------
    graph:
        What is published: people first, in ascending order of their keys, then inserted vertices.
    keys:
        int64, shape (people,), ascending: who each person is, for one life.
    ties, inserted:
        int32, shape (m, 2) each: the true ties and the inserted edges. The order of the latter
        decides ties of the search, so it is part of what must be kept.
    """

    graph: AttributedGraph
    keys: Numbers
    ties: Ties
    inserted: Ties

    @property
    def cost(self) -> int:
        """Inserted vertices and edges."""
        return self.graph.n_vertices - len(self.keys) + len(self.inserted)

    def working(self) -> WorkingGraph:
        """Return the release as a working graph: true ties, and what is inserted."""
        people = len(self.keys)
        true = AttributedGraph.from_codes(
            self.graph.schema, self.graph.categories, self.graph.codes[:people], self.ties
        )
        working = WorkingGraph(true, QuasiIdentifierSpace.of_graph(self.graph))
        working.add_vertices(self.graph.qi_classes[people:])
        working.arrays.is_sensitive[:] = self.graph.is_sensitive
        working.insert_edges(self.inserted)
        return working


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """The new truth as far as the last release serves it.

    Attributes
    ----------
    working:
        True ties and what was inserted before; nobody is made safe yet.
    origin:
        int32, shape (n,): the vertex of the last release behind each, NONE for newcomers.
    is_changed:
        bool, shape (vertices of the last release,): who is gone, left a place, or shows another
        sensitivity.
    sensitive_codes:
        int32, shape (inserted vertices,): the sensitive attribute of those that keep it, by the
        new graph's codes, NONE for places that lost their person.
    changes:
        People and ties that are not as they were.
    """

    working: WorkingGraph
    origin: NDArray[np.int32]
    is_changed: NDArray[np.bool_]
    sensitive_codes: NDArray[np.int32]
    changes: int


def carry(last: Release, graph: AttributedGraph, keys: Numbers) -> Carried:
    """Bring the last release up to a new true graph, `keys[v]` ascending being the key of v."""
    n, n_before = graph.n_vertices, last.graph.n_vertices
    position = np.full(n_before, NONE, dtype=np.int64)
    people = len(last.keys)
    position[:people] = _position_of(last.keys, keys)
    classes, codes = _classes_in(last.graph, graph)
    # Places that are nobody's: those of before, then those of people who left.
    free = np.flatnonzero((position == NONE) & (classes >= 0))
    places = np.concatenate((free[free >= people], free[free < people]))
    position[places] = n + np.arange(len(places))
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    working.add_vertices(classes[places])
    kept_codes = np.where(places >= people, codes[places], NONE).astype(np.int32)
    shown = kept_codes >= 0
    working.arrays.is_sensitive[n:][shown] = last.graph.is_sensitive[places][shown]
    inserted, added, tie_changes = _ties_now(last, graph, position)
    working.insert_edges(inserted)
    _switch(working, added)
    origin = np.full(working.n, NONE, dtype=np.int32)
    there = position >= 0
    origin[position[there]] = np.flatnonzero(there)
    is_changed = ~there
    flags = working.arrays.is_sensitive
    is_changed[there] = last.graph.is_sensitive[there] != flags[position[there]]
    is_changed[:people] |= position[:people] >= n
    stayed = np.flatnonzero((position[:people] >= 0) & (position[:people] < n))
    moved = classes[stayed] != graph.qi_classes[position[stayed]]
    changed = int((moved | is_changed[stayed]).sum()) + people + n - 2 * len(stayed)
    return Carried(working, origin, is_changed, kept_codes, changed + tie_changes)


def _position_of(old: Numbers, new: Numbers) -> Numbers:
    """Return where each old key is among the new ones, NONE where it is not; both ascend."""
    at = np.searchsorted(new, old)
    known = np.append(new, NONE)[at] == old
    return np.where(known, at, NONE)


def _classes_in(
    last: AttributedGraph, graph: AttributedGraph
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return class and sensitive code of every released vertex in terms of another graph.

    NONE where that graph knows no such class, or no such text.
    """
    code_of = [{text: code for code, text in enumerate(texts)} for texts in graph.categories]
    translated = [
        np.array([codes.get(text, NONE) for text in texts], dtype=np.int32)
        for codes, texts in zip(code_of, last.categories, strict=True)
    ]
    tuples = QuasiIdentifierSpace.of_graph(graph).tuples
    class_of = {tuple(row): number for number, row in enumerate(tuples.tolist())}
    former = QuasiIdentifierSpace.of_graph(last).tuples
    rows = np.column_stack(
        [translated[j][former[:, j]] for j in range(former.shape[1])]
        or [np.zeros((len(former), 0), dtype=np.int32)]
    )
    numbers = [class_of.get(tuple(row), NONE) for row in rows.tolist()]
    classes = np.array(numbers, dtype=np.int32)[last.qi_classes]
    return classes, translated[-1][last.codes[:, -1]]


def _ties_now(last: Release, graph: AttributedGraph, position: Numbers) -> tuple[Ties, Ties, int]:
    """Return the inserted edges as of now, the true ties that are new, and how many ties changed.

    New ties that were inserted edges so far are changes, and not among the new ones.
    """
    n = graph.n_vertices
    now = edge_keys(graph.edges)
    before, former = _moved(last.ties, position), _moved(last.inserted, position)
    lost = before[~_is_in(edge_keys(before), now)]
    is_true = _is_in(edge_keys(former), now)
    added = graph.edges[~_is_in(now, np.sort(edge_keys(before)))]
    added = without(added, former[is_true])
    inserted = np.concatenate((former[~is_true], lost))
    # Ties of people who left are counted with them.
    of_people = int((lost < n).all(axis=1).sum())
    return inserted, added, of_people + len(added) + int(is_true.sum())


def without(edges: Ties, others: Ties) -> Ties:
    """Return the edges that are not among others."""
    return edges[~_is_in(edge_keys(edges), np.sort(edge_keys(others)))]


def _moved(ties: Ties, position: Numbers) -> Ties:
    """Return the ties whose ends are still there, by their new positions."""
    ends = position[ties]
    return ends[(ends >= 0).all(axis=1)].astype(np.int32)


def _is_in(values: Numbers, ascending: Numbers) -> NDArray[np.bool_]:
    """Return which values are among the ascending ones."""
    found: NDArray[np.bool_] = _position_of(values, ascending) != NONE
    return found


def _switch(working: WorkingGraph, added: Ties) -> None:
    """Let new true ties take the place of inserted edges, where nobody's neighbours change."""
    is_gone = np.zeros(working.n_inserted_edges, dtype=np.bool_)
    start = np.zeros(working.n + 1, dtype=np.int64)
    edges = np.zeros(2 * len(is_gone), dtype=np.int64)
    edges_by_end(working.arrays, is_gone, start, edges)
    working.reserve_edges(len(added))
    if switching.switch(working.arrays, np.ascontiguousarray(added), start, edges, is_gone):
        working.keep_inserted(~is_gone)
