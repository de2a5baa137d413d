"""Structure alone: what counts as alike, and who is found by it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.neighbourhoods import structure
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases
from tests.ktsafe.assess.attacks.test_friends_degrees import band

K = 3
MEASURES = ("count", "degrees", "h2")


def measure(ties: list[set[int]], v: int, name: str) -> tuple[int, ...]:
    """Return a measure of a vertex from the graph of its friends and itself, written out."""
    inside = {v, *ties[v]}
    if name == "count":
        among = sum(len(ties[u] & ties[v]) for u in ties[v])
        return len(ties[v]), among // 2
    if name == "degrees":
        return tuple(sorted((len(ties[u] & inside) for u in ties[v]), reverse=True))
    return tuple(sorted((len(ties[u]) for u in ties[v]), reverse=True))


def distance(one: tuple[int, ...], two: tuple[int, ...], name: str) -> int:
    """Return how far two measures are from each other."""
    if name == "count":
        return sum(abs(x - y) for x, y in zip(one, two, strict=True))
    size = max(len(one), len(two))
    bands = ([band(x, 1.2) for x in each] + [-1] * (size - len(each)) for each in (one, two))
    return sum(abs(x - y) for x, y in zip(*bands, strict=True))


def alike(measures: list[tuple[int, ...]], least: int) -> float:
    """Return the share of measures that so many are equal to."""
    counts = Counter(measures)
    return sum(counts[each] >= least for each in measures) / max(len(measures), 1)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_release_is_judged_as_the_definition_says(case: Case) -> None:
    """By sets of friends, and all pairs of a target and a candidate."""
    true, shown = (
        [set(each) for each in naive.neighbours(graph)] for graph in (case.original, case.released)
    )
    texts = naive.qi_texts(case.released)
    targets = [(v, p) for v, p in enumerate(case.original_of.tolist()) if p >= 0]
    for result, name in zip(structure(case, PrivacyParams(k=K)), MEASURES, strict=True):
        known = [measure(true, v, name) for v in range(len(true))]
        seen = [measure(shown, v, name) for v in range(len(shown))]
        expected = {"true_2": alike(known, 2), "true_k": alike(known, K)}
        expected |= {"shown_2": alike(seen, 2), "shown_k": alike(seen, K)}
        assert {each: result.figures[each] for each in expected} == pytest.approx(expected)
        chances = []
        for v, person in targets:
            beside = [u for u in range(len(seen)) if texts[u] == texts[v]]
            far = {u: distance(known[person], seen[u], name) for u in beside}
            best = [u for u in beside if far[u] == min(far.values())]
            chances.append(1 / len(best) if v in best else 0.0)
        assert (result.attack, result.promise) == (f"structure.{name}", None)
        assert result.value == pytest.approx(np.mean(chances) if chances else 0)
