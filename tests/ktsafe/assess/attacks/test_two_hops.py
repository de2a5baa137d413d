"""Two hops: what is counted, and who is found by it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case, ids_removed
from ktsafe.assess.attacks.neighbourhoods import UNIT, two_hops
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, random_graph

PARAMS = PrivacyParams(k=3)


def seen(graph, v: int, kind: str) -> Counter:
    """Return what a distance counts around v, path by path."""
    texts, ties = naive.qi_texts(graph), naive.neighbours(graph)
    one = Counter((1, texts[u]) for u in ties[v])
    two = Counter((2, texts[w]) for u in ties[v] for w in ties[u] if w != v)
    if kind == "paths":
        return one + two
    shares = {
        key: round(UNIT * count / sum(part.values()))
        for part in (one, two)
        for key, count in part.items()
    }
    return Counter({key: share for key, share in shares.items() if share})


def naive_chances(case: Case, kind: str) -> list[float]:
    """Return the chance to find each target, by all pairs."""
    texts = naive.qi_texts(case.released)
    out = []
    for place, person in enumerate(case.original_of.tolist()):
        if person >= 0:
            known = seen(case.original, person, kind)
            gaps = {}
            for u in range(len(texts)):
                if texts[u] == texts[place]:
                    shown = seen(case.released, u, kind)
                    gaps[u] = sum(abs(known[f] - shown[f]) for f in known.keys() | shown.keys())
            best = [u for u in gaps if gaps[u] == min(gaps.values())]
            out.append(1 / len(best) if place in best else 0.0)
    return out


@settings(max_examples=40, deadline=None)
@given(cases())
def test_figures_equal_a_count_of_paths(case: Case) -> None:
    """Every distance is the one that a walk along all paths gives."""
    for result, kind in zip(two_hops(case, PARAMS), ("paths", "shares"), strict=True):
        expected = naive_chances(case, kind)
        assert result.targets == len(expected)
        assert result.value == pytest.approx(np.mean(expected) if expected else 0)


def test_only_releases_of_two_hops_promise_something() -> None:
    """There 1/k, else nothing."""
    rng = np.random.default_rng(1)
    graph = random_graph(40, 60, rng)
    case = Case(graph, *ids_removed(graph, rng))
    assert {result.promise for result in two_hops(case, PARAMS)} == {None}
    wider = PrivacyParams(k=3, n_hops=2)
    assert {result.promise for result in two_hops(case, wider)} == {1 / 3}
