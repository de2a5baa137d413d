"""State semantics as a page of dictionaries: slow, and independent of the package under test.

It keeps every change for ever and derives the graph from all of them at once, so it has no order,
no tombstones and nothing to delete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ktsafe.state.changes import Change, EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert

Vertices = dict[str, dict[str, str | None]]
Edges = set[frozenset[str]]

BEGINNING = Stamp(-(2**63), "", -1, -1)


def fold(changes: Iterable[Change]) -> tuple[Vertices, Edges]:
    """Return the vertices that exist with their attributes, and the edges that exist."""
    vertices, edges, _ = fold_with_waiting(changes)
    return vertices, edges


def fold_with_waiting(changes: Iterable[Change]) -> tuple[Vertices, Edges, Edges]:
    """Return vertices and edges that exist, and the edges that wait for an end."""
    up: dict[str, Stamp] = defaultdict(lambda: BEGINNING)
    down: dict[str, Stamp] = defaultdict(lambda: BEGINNING)
    attributes: dict[tuple[str, str], tuple[Stamp, str | None]] = {}
    present: dict[frozenset[str], tuple[Stamp, bool]] = {}
    for change in changes:
        stamp = change.stamp
        match change:
            case VertexUpsert(_, vertex, values):
                up[vertex] = max(up[vertex], stamp)
                for name, value in values.items():
                    register = attributes.get((vertex, name))
                    if register is None or stamp > register[0]:
                        attributes[vertex, name] = (stamp, value)
            case VertexDelete(_, vertex):
                down[vertex] = max(down[vertex], stamp)
            case EdgeAdd(_, source, target) | EdgeRemove(_, source, target):
                edge = frozenset((source, target))
                if edge not in present or stamp > present[edge][0]:
                    present[edge] = (stamp, isinstance(change, EdgeAdd))

    exists = {vertex for vertex in up if up[vertex] > down[vertex]}
    vertices: Vertices = {vertex: {} for vertex in exists}
    for (vertex, name), (stamp, value) in attributes.items():
        if vertex in exists and stamp > down[vertex]:
            vertices[vertex][name] = value
    counted = {
        edge
        for edge, (stamp, is_present) in present.items()
        if is_present and all(stamp > down[end] for end in edge)
    }
    edges = {edge for edge in counted if edge <= exists}
    return vertices, edges, counted - edges
