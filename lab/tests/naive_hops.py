"""Slow oracles for neighbourhoods of any radius and both readings, by sets and permutations."""

from __future__ import annotations

import itertools
from fractions import Fraction

from tests.naive import Small, attribute_distance

Edges = set[frozenset[int]]


def within(graph: Small, v: int, hops: int) -> set[int]:
    """Return the vertices within `hops` hops of v."""
    reached = {v}
    for _ in range(hops):
        reached |= {y for e in graph.edges for x, y in (e, e[::-1]) if x in reached}
    return reached


def neighbourhood(graph: Small, v: int, hops: int, reading: str) -> tuple[list[int], Edges]:
    """Return the vertices of HN(v, hops), v first, and its edges."""
    vertices = within(graph, v, hops)
    inner = within(graph, v, hops - 1) if hops else set()
    edges = {
        frozenset(e)
        for e in graph.edges
        if set(e) <= vertices and (set(e) & inner or (reading == "induced" and hops))
    }
    return [v, *sorted(vertices - {v})], edges


def edit_distance(
    first: tuple[list[int], Edges], second: tuple[list[int], Edges], limit: int | None = None
) -> int:
    """Return the least number of inserted and deleted vertices and edges, root to root.

    All injective maps of the smaller graph into the larger one are tried; a distance beyond
    `limit` may be returned as any number beyond it.
    """
    (one, edges_1), (two, edges_2) = sorted((first, second), key=lambda pair: len(pair[0]))
    apart = len(two) - len(one) + abs(len(edges_1) - len(edges_2))
    if limit is not None and apart > limit:
        return apart
    most = 0
    for rest in itertools.permutations(two[1:], len(one) - 1):
        image = dict(zip(one, [two[0], *rest], strict=True))
        most = max(most, sum(frozenset(image[x] for x in e) in edges_2 for e in edges_1))
        if most == min(len(edges_1), len(edges_2)):
            break
    return len(two) - len(one) + len(edges_1) + len(edges_2) - 2 * most


def protection_sets(
    graph: Small, *, t: Fraction, epsilon: int, hops: int, reading: str
) -> list[set[int]]:
    """Return PS(v) of every vertex, straight from Definition 3."""
    n, qi = len(graph.is_sensitive), graph.quasi_identifiers
    near = [neighbourhood(graph, v, hops, reading) for v in range(n)]
    balls = [[within(graph, v, hop) for hop in range(1, hops + 1)] for v in range(n)]

    def similar(u: int, v: int) -> bool:
        return (
            qi[u] == qi[v]
            and all(
                attribute_distance([qi[x][j] for x in a], [qi[x][j] for x in b]) <= t
                for a, b in zip(balls[u], balls[v], strict=True)
                for j in range(len(qi[v]))
            )
            and edit_distance(near[u], near[v], epsilon) <= epsilon
        )

    return [{u for u in range(n) if similar(u, v)} for v in range(n)]
