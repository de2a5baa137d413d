"""State semantics as a page of dictionaries: slow, and independent of the package under test.

It keeps every change for ever and derives the graph from all of them at once, so it has no order,
no tombstones and nothing to delete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ktsafe.state.changes import Change, EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert

Vertices = dict[str, dict[str, str | None]]
Edges = set[frozenset[str]]

BEGINNING = Stamp(-(2**63), "", -1, -1)


def fold(changes: Iterable[Change], ties: str | frozenset[str] = "any") -> tuple[Vertices, Edges]:
    """Return the vertices that exist with their attributes, and the edges that exist."""
    vertices, edges, _ = fold_with_waiting(changes, ties)
    return vertices, edges


def fold_with_waiting(
    changes: Iterable[Change], ties: str | frozenset[str] = "any"
) -> tuple[Vertices, Edges, Edges]:
    """Return vertices and edges that exist, and the edges that wait for an end."""
    up: dict[str, Stamp] = defaultdict(lambda: BEGINNING)
    down: dict[str, Stamp] = defaultdict(lambda: BEGINNING)
    attributes: dict[tuple[str, str], tuple[Stamp, str | None]] = {}
    present: dict[tuple[frozenset[str], object], tuple[Stamp, bool]] = {}
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
            case EdgeAdd(_, source, target, mark) | EdgeRemove(_, source, target, mark):
                said = mark and (mark[0], source if mark[1] else None)
                edge = frozenset((source, target)), said
                if edge not in present or stamp > present[edge][0]:
                    present[edge] = (stamp, isinstance(change, EdgeAdd))

    exists = {vertex for vertex in up if up[vertex] > down[vertex]}
    vertices: Vertices = {vertex: {} for vertex in exists}
    for (vertex, name), (stamp, value) in attributes.items():
        if vertex in exists and stamp > down[vertex]:
            vertices[vertex][name] = value
    said_of: dict[frozenset[str], list[object]] = defaultdict(list)
    for (edge, said), (stamp, is_present) in present.items():
        if is_present and all(stamp > down[end] for end in edge):
            said_of[edge].append(said)
    counted = {edge for edge, said in said_of.items() if is_tie(said, ties)}
    edges = {edge for edge in counted if edge <= exists}
    return vertices, edges, counted - edges


def is_tie(said: Sequence[Any], ties: str | frozenset[str]) -> bool:
    """Return whether a pair of which this is said is a tie; what says nothing always counts."""
    if ties == "any" or None in said:
        return True
    if ties != "mutual":
        return any(kind in ties for kind, _ in said)
    sources = [source for _, source in said]
    return None in sources or len(set(sources)) == 2
