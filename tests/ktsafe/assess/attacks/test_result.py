"""Results: intervals, areas and what is told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.assess.attacks.common.result import (
    area_under_curve,
    hanley_mcneil,
    inside_result,
    share_result,
    wilson,
)


@given(st.integers(1, 500), st.integers(0, 500))
def test_wilson_is_where_the_score_test_turns(trials: int, successes: int) -> None:
    """At either end of the interval the observed share is 1.96 standard errors away."""
    successes = min(successes, trials)
    share = successes / trials
    low, high = wilson(successes, trials)
    assert low <= share + 1e-12
    assert high >= share - 1e-12
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            error = math.sqrt(end * (1 - end) / trials)
            assert abs(share - end) / error == pytest.approx(1.959964, rel=1e-4)


def test_nothing_found_is_above_no_promise() -> None:
    """Of any number of trials: rounding leaves neither end off its bound."""
    for trials in range(1, 500):
        assert wilson(0, trials)[0] == 0.0
        assert wilson(trials, trials)[1] == 1.0


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30))
def test_area_equals_a_count_over_all_pairs(drawn: list[tuple[int, bool]]) -> None:
    """The area is the share of pairs in which the true case scores higher, equals counting half."""
    true = [score for score, flag in drawn if flag]
    false = [score for score, flag in drawn if not flag]
    wins = sum((a > b) + (a == b) / 2 for a in true for b in false)
    expected = wins / (len(true) * len(false)) if true and false else 0.5
    scores = np.array([score for score, _ in drawn], dtype=float)
    flags = np.array([flag for _, flag in drawn], dtype=bool)
    assert area_under_curve(scores, flags) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 3)), max_size=30))
def test_area_inside_groups_equals_a_count_over_their_pairs(
    drawn: list[tuple[int, bool, int]],
) -> None:
    """Pairs of one group alone count; who has no counterpart there is no target."""
    true, false = ([(s, g) for s, flag, g in drawn if flag == kind] for kind in (True, False))
    wins = [(a > b) + (a == b) / 2 for a, g in true for b, h in false if g == h]
    scores, flags, groups = (np.array([each[i] for each in drawn], dtype=int) for i in range(3))
    found = inside_result("x", scores.astype(float), flags.astype(bool), groups.astype(np.int32))
    assert found.value == pytest.approx(np.mean(wins) if wins else 0.5)
    mixed = {g for _, g in true} & {g for _, g in false}
    assert found.targets == sum(g in mixed for _, _, g in drawn)
    assert found.low <= found.value <= found.high


def test_the_interval_inside_groups_holds_what_is_drawn() -> None:
    """In 95 of 100 draws of large and small groups, and it is not much wider than it must be."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 60, 30)
    group = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    true_area, held, values, widths = 0.760250, [], [], []
    for _ in range(400):
        flags = rng.random(len(group)) < 0.4
        found = inside_result("x", rng.normal(flags, 1.0), flags, group)
        held.append(found.low <= true_area <= found.high)
        values.append(found.value)
        widths.append(found.high - found.low)
    assert np.mean(values) == pytest.approx(true_area, abs=0.005)
    assert 0.92 <= np.mean(held) <= 0.99
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.std(values), rel=0.15)


def test_interval_of_an_area_known_from_the_literature() -> None:
    """Hanley and McNeil's own example: area .893, 51 abnormal, 58 normal, standard error .032."""
    low, high = hanley_mcneil(0.893, 51, 58)
    assert (high - low) / 2 / 1.96 == pytest.approx(0.032, abs=0.001)
    assert hanley_mcneil(0.5, 0, 10) == (0, 1)


def test_a_promise_is_broken_when_the_lower_end_exceeds_it() -> None:
    """A value above the promise does not do where the interval reaches below."""
    few, many = np.ones(3), np.ones(300)
    few[1:] = 0
    many[100:] = 0
    assert not share_result("x", few, control=0, promise=0.2).is_broken
    assert share_result("x", many, control=0, promise=0.2).is_broken
    assert not share_result("x", many, control=0).is_broken
