"""The program of one pair of classes."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.anonymization import _steps_core
from ktsafe.anonymization._pair_core import LITTLE
from ktsafe.anonymization.pair_program import (
    Pair,
    _order,
    cleared,
    matching_of,
    solve,
    solve_in_haste,
)

EFFORTS = ["fast", "balanced"]


@st.composite
def pairs(draw, *, is_one, sizes_a=(2, 2), sizes_b=(2, 2), gains=(2.0,), price=1.0):
    """Draw a pair of small classes with random candidates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.2, 0.4, 0.6]))
    sizes = np.array(sizes_a if is_one else sizes_a + sizes_b)
    n, n_a = sizes.sum(), sum(sizes_a)
    all_ = (
        itertools.combinations(range(n), 2)
        if is_one
        else itertools.product(range(n_a), range(n_a, n))
    )
    edges = np.array([e for e in all_ if rng.random() < share], dtype=np.int32).reshape(-1, 2)
    return Pair.in_order(sizes, len(sizes_a), edges, rng.choice(gains, len(edges)), price)


def check(pair, plan):
    """Assert that a plan is valid and worth what it says."""
    degree = plan.degree
    shown = np.bincount(pair.edges[plan.shown].reshape(-1), minlength=len(pair.cohort))
    assert (shown <= degree[pair.cohort]).all()
    ends = pair.sizes * degree
    ends_a, ends_b = ends[: pair.n_first].sum(), ends[pair.n_first :].sum()
    assert ends_a % 2 == 0 if pair.is_one else ends_a == ends_b
    n_edges = ends_a / 2 if pair.is_one else ends_a
    worth = pair.gain[plan.shown].sum() - pair.price * n_edges
    assert plan.value == pytest.approx(worth)


def best_value(pair):
    """Return the optimum by trying all degrees and all sets of candidates."""
    best = 0.0
    top = np.bincount(pair.edges.reshape(-1), minlength=len(pair.cohort)).max(initial=0)
    for degrees in itertools.product(range(top + 1), repeat=len(pair.sizes)):
        degree = np.array(degrees)
        ends = pair.signs * degree * pair.sizes
        if ends.sum() % 2 if pair.is_one else ends.sum():
            continue
        n_edges = ends.sum() / 2 if pair.is_one else ends[: pair.n_first].sum()
        most = most_shown(pair.edges.tolist(), pair.gain.tolist(), degree[pair.cohort].tolist())
        best = max(best, most - pair.price * n_edges)
    return best


def most_shown(edges, gains, room):
    """Return the greatest gain of candidates that fit, by trying each."""
    if not edges:
        return 0.0
    (u, v), gain = edges[0], gains[0]
    without = most_shown(edges[1:], gains[1:], room)
    if gain + sum(gains[1:]) <= without or not (room[u] and room[v]):
        return without
    room[u] -= 1
    room[v] -= 1
    best = max(without, gain + most_shown(edges[1:], gains[1:], room))
    room[u] += 1
    room[v] += 1
    return best


@settings(max_examples=40, deadline=None)
@given(pairs(is_one=False) | pairs(is_one=True), st.sampled_from(EFFORTS))
def test_plans_are_valid_and_at_most_the_optimum(pair, effort):
    """Degrees balance, shown ties fit, and no value is beyond what trying everything finds."""
    plan = solve(pair, rng=np.random.default_rng(0), effort=effort)
    check(pair, plan)
    assert 0 <= plan.value <= best_value(pair) + 1e-9


def test_small_pairs_come_near_the_optimum():
    """Over fifty small pairs, nearly all of the greatest gain is found."""
    found = greatest = 0.0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        sizes = np.array([2, 2, 2, 2])
        edges = np.array(
            [e for e in itertools.product(range(4), range(4, 8)) if rng.random() < 0.6],
            dtype=np.int32,
        ).reshape(-1, 2)
        pair = Pair.in_order(sizes, 2, edges, np.full(len(edges), 2.0))
        found += solve(pair, rng=rng).value
        greatest += best_value(pair)
    assert found >= 0.97 * greatest


def test_large_pairs_show_most_of_their_ties():
    """Sides that differ by thousands of ends, where all gain alike, are brought together."""
    n, rng = 40_000, np.random.default_rng(0)
    ends = rng.integers(n, size=(n, 2))
    for side, spread in enumerate((0.8, 1.2)):
        place = np.empty(n, dtype=np.int64)
        counts = np.bincount(ends[:, side], minlength=n)
        place[np.argsort(counts + rng.normal(0, spread, n))] = np.arange(n)
        ends[:, side] = side * n + place[ends[:, side]]
    edges = np.unique(ends, axis=0).astype(np.int32)
    pair = Pair.in_order(np.full(n // 5, 10), n // 10, edges, np.full(len(edges), 2.0), 0.4)
    plan = solve(pair, rng=rng, effort="fast")
    check(pair, plan)
    assert plan.shown.sum() > 0.8 * len(edges)


@settings(max_examples=40, deadline=None)
@given(
    pairs(is_one=False, sizes_a=(5, 6, 7), sizes_b=(5, 5), gains=(2.0, 2.6, 0.6), price=1.3)
    | pairs(is_one=True, sizes_a=(5, 6, 7), gains=(2.0, 2.6, 0.6), price=1.3)
)
def test_weighted_candidates_are_worth_what_is_said(pair):
    """With different gains and another price plans are valid, too."""
    plan = solve(pair, rng=np.random.default_rng(0))
    check(pair, plan)
    assert plan.value >= 0


@settings(max_examples=60, deadline=None)
@given(
    pairs(is_one=False, sizes_a=(5, 6, 7), sizes_b=(5, 5), gains=(2.0, 2.6, 0.6), price=1.3)
    | pairs(is_one=True, sizes_a=(5, 6, 7), gains=(2.0, 2.6, 0.6), price=1.3),
    st.sampled_from([None, 0.0, 7.5, 30.0]),
    st.sampled_from([0.0, 0.2, float("inf")]),
)
def test_a_plan_goes_on_where_haste_ended(pair, total, slack):
    """It is the one that begins anew."""
    plan, found = solve_in_haste(pair)
    check(pair, plan)
    wanted = dataclasses.replace(pair, total=total, slack=slack)
    for effort in EFFORTS:
        anew, again = (
            solve(program, rng=np.random.default_rng(0), effort=effort)
            for program in (wanted, dataclasses.replace(wanted, found=found))
        )
        for name in ("degree", "shown"):
            assert getattr(again, name).tolist() == getattr(anew, name).tolist()
        assert again.value == anew.value


def test_sizes_that_never_fit_are_cleared():
    """A pair whose sides can only balance far beyond its ties shows nothing."""
    sizes = np.array([31, 37])
    edges = np.column_stack((np.arange(31), np.arange(31, 62))).astype(np.int32)
    pair = Pair.in_order(sizes, 1, edges, np.full(31, 2.0))
    plan = solve(pair, rng=np.random.default_rng(0))
    assert plan.value == 0
    assert not plan.shown.any()
    assert not cleared(pair).shown.any()


@settings(max_examples=60, deadline=None)
@given(
    pairs(is_one=False, sizes_a=(1, 3), sizes_b=(2, 2), gains=(2.0, 2.6, 0.6))
    | pairs(is_one=True, sizes_a=(2, 3), gains=(2.0, 2.6, 0.6))
)
def test_nothing_pays_from_the_greatest_price_on(pair):
    """There the optimum is to show nothing: that is no heuristic."""
    price_max = pair.price_max()
    assert best_value(dataclasses.replace(pair, price=price_max)) == pytest.approx(0)
    dear = dataclasses.replace(pair, price=price_max + 0.1)
    assert not solve_in_haste(dear)[0].degree.any()
    assert not solve(dear, rng=np.random.default_rng(0)).degree.any()


def test_the_greatest_price_is_that_of_the_side_that_bears_less():
    """All of one side have a candidate, two of four of the other side do: half of the gain."""
    edges = np.array([[0, 2], [1, 3]], dtype=np.int32)
    pair = Pair.in_order(np.array([2, 4]), 1, edges, np.array([1.5, 2.0]))
    assert pair.price_max() == 1.0
    assert Pair.in_order(np.array([2, 4]), 1, edges[:0], np.zeros(0)).price_max() == 0.0


@settings(max_examples=60)
@given(st.one_of(*(pairs(is_one=x, sizes_a=(3, 4), sizes_b=(4, 3)) for x in (True, False))))
def test_a_sweep_gives_up_no_step_that_pays(pair):
    """A cohort is stepped where a step that is never cut short pays, and nowhere else."""
    if not len(pair.edges):
        return
    for cohort in range(len(pair.sizes)):
        matching = matching_of(pair)
        _steps_core.show_all(matching, _order(matching))
        change = _steps_core.try_steps(matching, np.array([cohort]), 1)
        is_other = np.arange(len(pair.sizes)) != cohort
        cohorts = matching.cohorts[:-1]
        cohorts["raise_below"][is_other], cohorts["lower_above"][is_other] = -np.inf, np.inf
        steps = _steps_core.sweep(matching)
        assert (steps > 0) == (np.delete(change, 1).max() > LITTLE)
