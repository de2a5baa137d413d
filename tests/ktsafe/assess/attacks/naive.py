"""Literal oracles of the attacks: dictionaries and loops over every pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from ktsafe.assess.attacks import Case

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


def propagated(case: Case, seeds: list[int], rounds: int) -> dict[int, float]:
    """Return the chance to find each published person that is no seed, pair by pair."""
    true, shown = neighbours(case.original), neighbours(case.released)
    texts = qi_texts(case.released)
    place_of = {p: place for place, p in enumerate(case.original_of.tolist()) if p >= 0}
    published = qi_texts(case.original)
    for person, place in place_of.items():
        published[person] = texts[place]
    known = {person: place_of[person] for person in seeds}
    link, chances = dict(known), {}
    for _ in range(rounds):
        scores: dict[tuple[int, int], float] = {}
        for v in set(range(len(true))) - set(known):
            for u in set(range(len(texts))) - set(known.values()):
                common = [w for w in true[v] if w in link and u in shown[link[w]]]
                if common and published[v] == texts[u]:
                    worth = [(len(true[w]) * len(shown[link[w]])) ** -0.25 for w in common]
                    scores[v, u] = sum(worth) * (len(true[v]) * len(shown[u])) ** -0.25
        chances, new = {}, dict(known)
        for v in {v for v, _ in scores}:
            mine = {u: s for (w, u), s in scores.items() if w == v}
            best = [u for u, s in mine.items() if s > max(mine.values()) - 1e-12]
            chances[v] = 1 / len(best) if place_of.get(v) in best else 0
            rivals = [s for (_, u), s in scores.items() if u == best[0]]
            if len(best) == 1 and mine[best[0]] > max(rivals) - 1e-12:
                new[v] = best[0]
        link = new
    return {v: chances.get(v, 0) for v in place_of if v not in known}
