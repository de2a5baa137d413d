"""The definition of w-release kt-safety by brute force: sets, fractions, every pair."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.sequence import SequenceEngine

Release = tuple[dict[int, tuple[str, ...]], dict[int, set[int]]]


def published(sequence: SequenceEngine) -> Release:
    """Return the attributes and the neighbours of every published id."""
    released = sequence.released()
    graph: AttributedGraph = released.graph
    ids = released.ids.tolist()
    attributes = {i: tuple(graph.values(v).values()) for v, i in enumerate(ids)}
    neighbours: dict[int, set[int]] = {i: set() for i in ids}
    for u, v in graph.edges.tolist():
        neighbours[ids[u]].add(ids[v])
        neighbours[ids[v]].add(ids[u])
    return attributes, neighbours


def protection_sets(release: Release, params: PrivacyParams) -> dict[int, set[int]]:
    """Return PS(v) of every id."""
    attributes, neighbours = release
    profile = {
        v: [Counter(attributes[u][j] for u in [v, *others]) for j in range(len(attributes[v]) - 1)]
        for v, others in neighbours.items()
    }

    def similar(u: int, v: int) -> bool:
        n, m = len(neighbours[u]) + 1, len(neighbours[v]) + 1
        if attributes[u][:-1] != attributes[v][:-1] or 2 * abs(n - m) > params.epsilon:
            return False
        return all(
            sum(abs(Fraction(p[x], n) - Fraction(q[x], m)) for x in p | q) / 2 <= params.t
            for p, q in zip(profile[u], profile[v], strict=True)
        )

    return {v: {u for u in attributes if similar(u, v)} for v in attributes}


def failures(history: list[Release], params: PrivacyParams, sensitive: frozenset[str]) -> list[str]:
    """Return what is wrong for the windows of all releases so far and of each pair of them."""
    sets = [protection_sets(release, params) for release in history]
    last = len(history) - 1
    windows = [list(range(last + 1)), *([i, last] for i in range(last))]
    found = []
    for window in windows:
        everybody = set().union(*(history[i][0] for i in window))
        for v in everybody:
            candidates = set(everybody)
            for i in window:
                here = history[i][0]
                candidates &= sets[i][v] if v in here else everybody - here.keys()
            if len(candidates) < params.k:
                found.append(f"{len(candidates)} candidates in {window}")
            for i in window:
                ill = sum(
                    history[i][0][u][-1] in sensitive for u in candidates & history[i][0].keys()
                )
                if v in history[i][0] and ill > params.alpha * len(candidates):
                    found.append(f"{ill} of {len(candidates)} sensitive in {window}")
    return found


def uncovered(before: Release, after: Release, cohorts: dict[int, int], k: int) -> int:
    """Return how many visible changes fewer than k members of the cohort share."""
    changes: dict[int, tuple[object, object]] = {}
    for v in before[0].keys() & after[0].keys():
        gained = Counter(after[0][u][:-1] for u in after[1][v] - before[1][v])
        lost = Counter(before[0][u][:-1] for u in before[1][v] - after[1][v])
        if gained or lost:
            changes[v] = (frozenset(gained.items()), frozenset(lost.items()))
    shared = Counter((cohorts[v], change) for v, change in changes.items())
    return sum(shared[cohorts[v], change] < k for v, change in changes.items())


def cohorts_by_id(sequence: SequenceEngine) -> dict[int, int]:
    """Return the cohort of every published id."""
    ids = sequence.released().ids
    return dict(zip(ids.tolist(), np.asarray(sequence.cohorts()).tolist(), strict=True))
