"""Slow, literal oracles: pure Python, rationals, every pair; no code of the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

Tuple = tuple[int, ...]


class Small(NamedTuple):
    """A graph as plain Python: quasi-identifier tuples, sensitive flags, undirected edges."""

    quasi_identifiers: list[Tuple]
    is_sensitive: list[bool]
    edges: list[tuple[int, int]]


class Tolerance(NamedTuple):
    """The letters of the paper."""

    k: int
    t: Fraction
    alpha: Fraction
    epsilon: int


def closed_neighbourhoods(graph: Small) -> list[set[int]]:
    """Return for each vertex itself and its neighbours."""
    reach = [{v} for v in range(len(graph.is_sensitive))]
    for u, v in graph.edges:
        reach[u].add(v)
        reach[v].add(u)
    return reach


def degrees(graph: Small) -> list[int]:
    """Return the number of neighbours of each vertex."""
    return [len(near) - 1 for near in closed_neighbourhoods(graph)]


def attribute_distance(first: Sequence[int], second: Sequence[int]) -> Fraction:
    """Return half the L1 distance of two samples' distributions (the paper's Eq. 2)."""
    one, two = Counter(first), Counter(second)
    return (
        sum(
            (
                abs(Fraction(one[x], len(first)) - Fraction(two[x], len(second)))
                for x in one.keys() | two.keys()
            ),
            Fraction(0),
        )
        / 2
    )


def protection_set(
    graph: Small, tolerance: Tolerance, v: int, reach: list[set[int]] | None = None
) -> set[int]:
    """Return PS(v) for one hop and the walk reading, straight from Definition 3."""
    near = closed_neighbourhoods(graph) if reach is None else reach
    qi = graph.quasi_identifiers
    members = set()
    for u in range(len(qi)):
        if qi[u] != qi[v]:
            continue
        # Two stars of d1 and d2 leaves: |d1 - d2| vertices and as many edges to insert or delete.
        if 2 * abs(len(near[u]) - len(near[v])) > tolerance.epsilon:
            continue
        if all(
            attribute_distance([qi[x][j] for x in near[u]], [qi[x][j] for x in near[v]])
            <= tolerance.t
            for j in range(len(qi[v]))
        ):
            members.add(u)
    return members


def protection_sets(graph: Small, tolerance: Tolerance) -> list[set[int]]:
    """Return PS(v) of every vertex."""
    reach = closed_neighbourhoods(graph)
    return [protection_set(graph, tolerance, v, reach) for v in range(len(reach))]


def unsafe_vertices(graph: Small, tolerance: Tolerance) -> set[int]:
    """Return the vertices that are not kt-safe (Definition 4)."""
    unsafe = set()
    for v, members in enumerate(protection_sets(graph, tolerance)):
        sensitive = sum(graph.is_sensitive[u] for u in members)
        if len(members) < tolerance.k or Fraction(sensitive, len(members)) > tolerance.alpha:
            unsafe.add(v)
    return unsafe


def known_candidates(true: Small, released: Small, original_of: Sequence[int], v: int) -> set[int]:
    """Return the released u with QI(u) = QI(v) whose neighbours' tuples include v's true ones.

    `original_of[u]` is the true vertex behind released u, -1 for an inserted one; v is a released
    vertex with an original.
    """

    def neighbour_tuples(graph: Small, vertex: int) -> Counter[Tuple]:
        near = closed_neighbourhoods(graph)[vertex] - {vertex}
        return Counter(graph.quasi_identifiers[x] for x in near)

    known = neighbour_tuples(true, original_of[v])
    qi = released.quasi_identifiers
    return {
        u for u in range(len(qi)) if qi[u] == qi[v] and not known - neighbour_tuples(released, u)
    }
