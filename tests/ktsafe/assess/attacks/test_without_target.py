"""Without the target: what friends and kind tell of a person who is in no release."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.common.logistic import right_of_highest, sensitive_without
from ktsafe.assess.attacks.common.result import area_under_curve
from tests.ktsafe.assess.attacks.releases import graph_of, random_graph


def area(codes: np.ndarray, edges: np.ndarray) -> float:
    """Return how well sensitive people are told without a release."""
    graph = graph_of(codes, edges)
    case = Case(graph, graph.subgraph(np.arange(0)), np.zeros(0, dtype=np.int64))
    scores = sensitive_without(case, np.arange(len(codes)), np.random.default_rng(0))
    return area_under_curve(scores, graph.is_sensitive)


def test_people_like_their_friends_or_kind_are_told_and_others_are_not() -> None:
    """Ties inside groups of one value, or kinds of one value, tell it; ties at random do not."""
    rng = np.random.default_rng(0)
    graph = random_graph(400, 3000, rng)
    assert abs(area(graph.codes, graph.edges) - 0.5) < 0.07
    groups = random_graph(400, 3000, rng, community=20).edges
    alike = graph.codes.copy()
    alike[:, 2] = np.arange(400) // 20 % 2
    assert area(alike, groups) > 0.99
    alike[:, 2] = alike[:, 0]
    assert area(alike, graph.edges) > 0.99


def test_a_person_of_its_own_kind_is_not_told_by_itself() -> None:
    """Six people of six kinds without ties: nothing but the person says what it is."""
    kinds = np.array(list(itertools.product(range(2), range(3))))
    codes = np.column_stack((kinds, np.arange(6) % 2))
    assert area(codes, np.zeros((0, 2))) <= 0.5


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6), st.data())
def test_the_share_is_that_of_all_orders_of_equal_scores(
    cases: list[tuple[int, bool]], data: st.DataObject
) -> None:
    """The mean over all permutations, sorted by score."""
    count = data.draw(st.integers(1, len(cases)))
    shares = [
        np.mean([truth for _, truth in sorted(order, key=lambda x: -x[0])[:count]])
        for order in itertools.permutations(cases)
    ]
    scores, truth = (np.array(each) for each in zip(*cases, strict=True))
    assert right_of_highest(scores, truth, count) == pytest.approx(np.mean(shares))
