"""Denoising: shown ties are weighed by common neighbours before people are matched."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.common import propagation as paths
from ktsafe.assess.attacks.common.propagation import common_neighbours
from ktsafe.assess.attacks.denoised import denoised, weighted_guesses
from ktsafe.assess.attacks.neighbourhoods import one_hop
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, noisy, random_graph

PARAMS = PrivacyParams(k=3)
RNG = np.random.default_rng(0)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_common_neighbours_equal_set_intersections(case: Case) -> None:
    """Every tie has as many common neighbours as the sets of its ends' neighbours share."""
    ties = [set(near) for near in naive.neighbours(case.released)]
    expected = [len(ties[u] & ties[v]) for u, v in case.released.edges.tolist()]
    assert common_neighbours(case.released).tolist() == expected


def test_common_neighbours_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on memory does not change the counts."""
    graph = random_graph(60, 600, np.random.default_rng(0))
    whole = common_neighbours(graph)
    monkeypatch.setattr(paths, "PATHS_AT_ONCE", 50)
    assert common_neighbours(graph).tolist() == whole.tolist()


def naive_best_guess(case: Case, worth: dict[tuple[int, int], int]) -> float:
    """Return the best guess by joint counts, shown ties counting what they are worth in 64ths."""
    texts = naive.qi_texts(case.released)
    seen = [Counter() for _ in texts]
    for (u, v), weight in worth.items():
        seen[u][texts[v]] += weight
        seen[v][texts[u]] += weight
    chances = []
    for place, person in enumerate(case.original_of.tolist()):
        if person < 0:
            continue
        known = naive.star(case.original, person, "joint")
        distances = {
            u: sum(abs(64 * known[f] - seen[u][f]) for f in known.keys() | seen[u].keys())
            for u in range(len(texts))
            if texts[u] == texts[place]
        }
        best = [u for u, d in distances.items() if d == min(distances.values())]
        chances.append(1 / len(best) if place in best else 0)
    return sum(chances) / len(chances) if chances else 0


@settings(max_examples=40, deadline=None)
@given(cases())
def test_equal_closeness_counts_every_tie_by_the_share_of_truth(case: Case) -> None:
    """Where no tie has a common neighbour, every tie is worth the share of true ones."""
    if common_neighbours(case.released).any() or not case.released.n_edges:
        return
    worth = round(float(case.is_true_edge.mean()) * 64)
    result = {r.attack: r for r in denoised(case, PARAMS, RNG)}["denoised.joint.oracle"]
    expected = naive_best_guess(
        case, dict.fromkeys(map(tuple, case.released.edges.tolist()), worth)
    )
    assert result.value == pytest.approx(expected)


def test_inserted_ties_between_strangers_are_seen_through() -> None:
    """Where true ties close triangles and inserted ones do not, it finds who `one_hop` does not."""
    rng = np.random.default_rng(0)
    graph = random_graph(600, 9000, rng, community=30)
    one = noisy(graph, rng, kept=0.95, added=6000, inserted=0)
    plain = {r.attack: r for r in one_hop(one, PARAMS)}["one_hop.joint"]
    found = {r.attack: r for r in denoised(one, PARAMS, RNG)}
    assert found["denoised.ties.oracle"].low > 0.95
    assert found["denoised.joint.oracle"].value > plain.value + 0.2


def test_without_noise_denoising_changes_nothing() -> None:
    """Where every shown tie is true, all ties are sure: the figures are those of one hop."""
    rng = np.random.default_rng(2)
    case = noisy(random_graph(80, 300, rng), rng, kept=0.8, added=0, inserted=0)
    plain, found = (
        {r.attack.split(".")[1]: r.value for r in results}
        for results in (one_hop(case, PARAMS), denoised(case, PARAMS, RNG))
    )
    assert found["joint"] == plain["joint"] == found["sure"]
    assert found["joint3"] == plain["joint3"]
    assert found["marginal"] == plain["marginal"]


def test_sure_are_ties_that_are_rather_true() -> None:
    """They count whole, and others not at all."""
    rng = np.random.default_rng(4)
    case = noisy(random_graph(80, 300, rng), rng, kept=0.8, added=150, inserted=0)
    is_true = case.is_true_edge
    chance = np.where(is_true, 0.6, 0.4)
    sure, whole = (
        {r.attack: r.value for r in weighted_guesses(case, PARAMS, each)}[name]
        for name, each in (("sure", chance), ("joint", is_true.astype(float)))
    )
    assert sure == whole
