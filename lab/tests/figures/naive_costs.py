"""Cheapest changes that make a tiny graph safe, all of them tried."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tests.naive import Small, Tolerance, protection_sets


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
