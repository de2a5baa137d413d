"""Literal oracles of the attacks: dictionaries and loops over every pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from ktsafe.attacks import Case

Distance = Callable[[Counter, Counter], Fraction]


def qi_texts(graph) -> list[tuple[str, ...]]:
    """Return the quasi-identifier texts of every vertex."""
    names = graph.schema.quasi_identifiers
    return [tuple(graph.values(v)[name] for name in names) for v in range(graph.n_vertices)]


def neighbours(graph) -> list[list[int]]:
    """Return the neighbours of every vertex."""
    out: list[list[int]] = [[] for _ in range(graph.n_vertices)]
    for u, v in graph.edges.tolist():
        out[u].append(v)
        out[v].append(u)
    return out


def star(graph, v: int, kind: str) -> Counter:
    """Return what a score counts of the neighbours of v."""
    texts, ties = qi_texts(graph), neighbours(graph)
    if kind == "degree":
        return Counter(degree=len(ties[v]))
    if kind == "joint":
        return Counter(texts[u] for u in ties[v])
    counts = Counter((j, text) for u in ties[v] for j, text in enumerate(texts[u]))
    counts["degree"] = len(ties[v])
    return counts


def standing(case: Case, kind: str, missing: int, surplus: int) -> list[tuple[int, int]]:
    """Return, target by target, how many candidates are nearer than the own place, and as near."""
    texts = qi_texts(case.released)
    out = []
    for place, person in enumerate(case.original_of.tolist()):
        if person < 0:
            continue
        known = star(case.original, person, kind)

        def distance(u: int, known: Counter = known) -> int:
            seen = star(case.released, u, kind)
            return sum(
                missing * max(known[f] - seen[f], 0) + surplus * max(seen[f] - known[f], 0)
                for f in known.keys() | seen.keys()
            )

        own = distance(place)
        others = [distance(u) for u in range(len(texts)) if texts[u] == texts[place]]
        out.append((sum(d < own for d in others), sum(d == own for d in others)))
    return out


def rank_shares(found: list[tuple[int, int]], rank_max: int) -> list[Fraction]:
    """Return, for every r, the expected share of targets found by naming the r-th nearest."""
    shares = []
    for r in range(1, rank_max + 1):
        hits = [Fraction(1, tied) for nearer, tied in found if nearer < r <= nearer + tied]
        shares.append(sum(hits, Fraction(0)) / len(found) if found else Fraction(0))
    return shares
