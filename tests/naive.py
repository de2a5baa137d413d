"""Slow, literal oracles: pure Python, rationals, every pair; no code of the package."""

from __future__ import annotations

import itertools
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


def cheapest_insertions(
    graph: Small, tolerance: Tolerance, edges_max: int, vertices_max: int = 0
) -> int | None:
    """Return the least number of inserted vertices and edges that make every |PS| >= k.

    At most `edges_max` edges and `vertices_max` vertices, which copy existing quasi-identifiers,
    are tried; None if none of it suffices. Alpha is ignored.
    """
    best: int | None = None
    for count in range(vertices_max + 1):
        for extra in itertools.combinations_with_replacement(
            sorted(set(graph.quasi_identifiers)), count
        ):
            larger = Small(
                [*graph.quasi_identifiers, *extra],
                [*graph.is_sensitive, *[False] * count],
                graph.edges,
            )
            edges = _fewest_edges(larger, tolerance, edges_max)
            if edges is not None and (best is None or count + edges < best):
                best = count + edges
    return best


def _fewest_edges(graph: Small, tolerance: Tolerance, edges_max: int) -> int | None:
    """Return the least number of inserted edges that makes every |PS| >= k, or None."""
    present = {(min(e), max(e)) for e in graph.edges}
    everything = itertools.combinations(range(len(graph.is_sensitive)), 2)
    absent = [e for e in everything if e not in present]
    for size in range(edges_max + 1):
        for chosen in itertools.combinations(absent, size):
            larger = graph._replace(edges=[*graph.edges, *chosen])
            if all(len(ps) >= tolerance.k for ps in protection_sets(larger, tolerance)):
                return size
    return None


def cheapest_lifts(degrees: Sequence[int], k: int, slack: int, inserted_max: int) -> int:
    """Return the least sum of lifts, plus 2 per inserted vertex, by trying every target.

    Every vertex of the one class needs k - 1 others within `slack` of its target degree. Inserted
    vertices start from degree 0. Targets beyond the greatest degree never pay: cutting them back
    to it keeps every distance or shrinks it.
    """
    best: int | None = None
    for inserted in range(inserted_max + 1):
        start = [*degrees, *[0] * inserted]
        for target in itertools.product(*[range(d, max(start) + 1) for d in start]):
            near = [sum(abs(a - b) <= slack for b in target) for a in target]
            if all(count >= k for count in near):
                cost = sum(target) - sum(start) + 2 * inserted
                best = cost if best is None else min(best, cost)
    assert best is not None
    return best
