"""Friends' degrees: what is compared, and who is found by it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case, History, ids_removed
from ktsafe.assess.attacks.friends import VARIANTS, friends_degrees
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, random_graph
from tests.ktsafe.assess.attacks.test_sequences import histories, person_of, published

PARAMS = PrivacyParams(k=3)


def band(degree: int, width: float) -> int:
    """Return which band a degree is in, step by step."""
    begin, number = 1, 0
    while degree >= max(begin + 1, int(begin * width)):
        begin, number = max(begin + 1, int(begin * width)), number + 1
    return number


def friends(graph, names, width: float) -> dict[int, dict]:
    """Return the bands of the friends of each vertex, by tuple, in order."""
    texts, ties = naive.qi_texts(graph), naive.neighbours(graph)
    out = {}
    for v, name in enumerate(names.tolist()):
        mine = defaultdict(list)
        for u in ties[v]:
            mine[texts[u]].append(band(len(ties[u]), width))
        out[name] = {text: sorted(bands, reverse=True) for text, bands in mine.items()}
    return out


def distance(one: dict, two: dict, variant: str) -> int:
    """Return how far friends are from each other, tuple by tuple."""
    far = 0
    for text in one.keys() | two.keys():
        mine, other = one.get(text, []), two.get(text, [])
        if variant == "order":
            size = max(len(mine), len(other))
            pairs = zip(*(each + [-1] * (size - len(each)) for each in (mine, other)), strict=True)
            far += sum(abs(x - y) for x, y in pairs)
        else:
            far += sum(abs(mine.count(x) - other.count(x)) for x in set(mine + other))
    return far


def literally(history: History, variant: str) -> list[float]:
    """Return the chance to find each target, by all pairs."""
    n, width = len(history.cases), VARIANTS[variant]
    shown = [published(history, i) for i in range(n)]
    both = zip(history.cases, history.persons, history.ids, strict=True)
    known, seen = zip(
        *((friends(c.original, p, width), friends(c.released, u, width)) for c, p, u in both),
        strict=True,
    )
    out = []
    for own, person in person_of(history, n - 1).items():
        far = {
            u: sum(
                distance(known[i].get(person, {}), seen[i].get(u, {}), variant) for i in range(n)
            )
            for u in shown[-1]
            if all(shown[i].get(u) == shown[i].get(own) for i in range(n))
        }
        best = [u for u in far if far[u] == min(far.values())]
        out.append(1 / len(best) if own in best else 0.0)
    return out


@settings(max_examples=30, deadline=None)
@given(cases())
def test_a_release_is_judged_as_the_definition_says(case: Case) -> None:
    """By friends in lists, sorted where they are compared in order."""
    check(History.of(case))


@settings(max_examples=30, deadline=None)
@given(histories())
def test_distances_are_added_over_releases(history: History) -> None:
    """Among the ids of the same releases and quasi-identifiers."""
    check(history)


def check(history: History) -> None:
    """Compare every variant with a literal count."""
    for result, variant in zip(friends_degrees(history, PARAMS), VARIANTS, strict=True):
        assert result.attack == f"friends_degrees.{variant}"
        expected = literally(history, variant)
        assert result.targets == len(expected)
        assert result.value == pytest.approx(np.mean(expected) if expected else 0)


def test_only_releases_of_two_hops_promise_something() -> None:
    """There 1/k, else nothing."""
    rng = np.random.default_rng(1)
    graph = random_graph(40, 60, rng)
    history = History.of(Case(graph, *ids_removed(graph, rng)))
    assert {result.promise for result in friends_degrees(history, PARAMS)} == {None}
    wider = PrivacyParams(k=3, n_hops=2)
    assert {result.promise for result in friends_degrees(history, wider)} == {1 / 3}
