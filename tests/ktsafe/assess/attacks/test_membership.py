"""Membership: true ties and real vertices told from inserted ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.common.logistic import judged, learned
from ktsafe.assess.attacks.membership import (
    alike_beside,
    candidates,
    detected,
    membership_of_vertices,
    tie_features,
)
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, graph_of, noisy, random_graph

PARAMS = PrivacyParams(k=3)


def communities(seed: int, **kwargs) -> Case:
    """Return a release of a graph of communities, with ties and vertices added at random."""
    rng = np.random.default_rng(seed)
    return noisy(random_graph(600, 6000, rng, community=30), rng, **kwargs)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_what_is_seen_of_an_edge_is_what_is_written_of_it(case: Case) -> None:
    """Each of the features that count neighbours, by sets."""
    graph = case.released
    beside: list[set[int]] = [set() for _ in range(graph.n_vertices)]
    for u, v in graph.edges.tolist():
        beside[u].add(v)
        beside[v].add(u)
    expected = []
    for u, v in graph.edges.tolist():
        both, (low, high) = beside[u] & beside[v], sorted((len(beside[u]), len(beside[v])))
        common = len(both)
        adamic = sum(1 / math.log(len(beside[w])) for w in both)
        shares = common / len(beside[u] | beside[v]), common / low, common / math.sqrt(low * high)
        expected.append([math.log1p(low), math.log1p(high), common, *shares, adamic])
    found = tie_features(graph)[:, :7]
    assert found == pytest.approx(np.array(expected).reshape(-1, 7))


def test_small_kinds_tell_who_is_inserted_and_nobody_inside_them_is_told() -> None:
    """Where a kind is small since it was filled up, its size says all that can be said.

    Of 20 people of a rare kind, 10 are inserted; all edges are drawn at random. The control sees
    sizes alone.
    """
    inside = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        codes = np.zeros((600, 3), dtype=int)
        codes[:20, 1] = 1
        graph = graph_of(codes, rng.integers(0, 600, (3000, 2)))
        behind = np.where(np.arange(600) < 10, -1, np.arange(600))
        whole, part, _ = membership_of_vertices(Case(graph, graph, behind), PARAMS, rng)
        assert whole.control > 0.95
        assert part.targets == 20
        assert part.control == 0.5
        inside.append(part.value)
    assert abs(np.mean(inside) - 0.5) < 0.2


def test_a_value_that_only_people_show_tells_them() -> None:
    """Edges are drawn at random, and nobody inserted is sensitive: half of the people are."""
    rng = np.random.default_rng(0)
    codes = np.zeros((600, 3), dtype=int)
    codes[:, 2] = rng.integers(0, 2, 600)
    codes[:60, 2] = 1
    graph = graph_of(codes, rng.integers(0, 600, (3000, 2)))
    behind = np.where(np.arange(600) < 60, -1, np.arange(600))
    whole, part, _ = membership_of_vertices(Case(graph, graph, behind), PARAMS, rng)
    assert whole.control < 0.6
    assert part.value == whole.value
    assert part.low > 0.6  # 0.75 for who looks at nothing else


def test_candidates_that_are_left_are_counted() -> None:
    """Of four who show the same, three inserted ones that stand out are dropped: one is left.

    Four people beside them keep each other. Inserted vertices stand out by their friends' degree.
    """
    codes = np.zeros((30, 3), dtype=int)
    codes[20:, 1] = 1
    pairs = [(i, 10 + i) for i in range(8)] + [(10 + i, 20 + j) for i in range(3) for j in range(9)]
    behind = np.arange(30)
    behind[:3] = -1
    case = Case(graph_of(codes, pairs), graph_of(codes, pairs), behind)
    alike = candidates(case)
    assert len(set(alike[:8].tolist())) == 1
    scores = np.ones(30)
    scores[:3] = 0
    found = detected(case, PrivacyParams(k=9), scores, 3, fresh())
    assert found.figures["dropped_inserted"] == 1
    sizes = np.bincount(alike, minlength=30)[alike]
    left = np.array([sizes[v] - 3 * (alike[v] == alike[0]) for v in range(3, 30)])
    assert found.value == pytest.approx((left < 9).mean())
    assert found.figures["k_real_below_k"] == pytest.approx((left < 9).mean())
    assert found.figures["left_min"] == left.min()


def test_people_who_are_taken_for_inserted_are_not_found() -> None:
    """Whoever is dropped by mistake has no candidate left, and is no success."""
    rng = np.random.default_rng(9)
    case = noisy(random_graph(40, 60, rng), rng, inserted=5)
    scores = (case.original_of < 0).astype(float)
    found = detected(case, PrivacyParams(k=40), scores, 5, fresh())
    assert found.figures["dropped_inserted"] == 0
    assert found.value == pytest.approx(1 - 5 / len(case.places))


def test_no_case_is_judged_by_a_model_that_saw_it() -> None:
    """With features that name every case and truth at random, folds find nothing."""
    rng = np.random.default_rng(6)
    truth = rng.random(400) < 0.5
    chances = judged(np.eye(400)[:, :50], truth, rng)
    assert abs(np.corrcoef(chances, truth)[0, 1]) < 0.2
    informed = judged(truth[:, None].astype(float), truth, rng)
    assert ((informed > 0.5) == truth).all()


def test_what_was_learned_is_a_chance() -> None:
    """In a tenth where three of four lessons are true, the chance is about three quarters."""
    features = np.repeat(np.arange(4.0), 4000)[:, None]
    rng = np.random.default_rng(7)
    truth = rng.random(16_000) < np.repeat([0.1, 0.75, 0.3, 0.9], 4000)
    chances = learned(features, truth, np.arange(4.0)[:, None], rng)
    assert chances == pytest.approx([0.1, 0.75, 0.3, 0.9], abs=0.03)


def fresh() -> np.random.Generator:
    """Return a fresh generator."""
    return np.random.default_rng(0)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_other_neighbours_of_the_other_ends_kind_are_counted(case: Case) -> None:
    """Edge by edge: of the other neighbours of one end, those who are as the other end is."""
    graph = case.released
    kinds = graph.codes[:, -1].astype(np.int64)
    ties = naive.neighbours(graph)
    expected = []
    for edge in graph.edges.tolist():
        shares = []
        for u, v in (edge, edge[::-1]):
            others = [kinds[w] == kinds[v] for w in ties[u] if w != v]
            shares.append(sum(others) / max(len(others), 1))
        expected.append(sorted(shares))
    found = alike_beside(graph, kinds)
    assert found.shape == (graph.n_edges, 2)
    assert found == pytest.approx(np.array(expected).reshape(-1, 2))
