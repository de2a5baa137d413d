"""The risk curve: people found by how much of the network is known."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe.assess.attacks import Case, ids_removed
from ktsafe.assess.attacks import alignment as module
from ktsafe.assess.attacks.alignment import SEEDS, TIES, risk_curve, said
from ktsafe.assess.attacks.common.result import Result
from tests.ktsafe.assess.attacks import naive_risk
from tests.ktsafe.assess.attacks.releases import noisy, random_graph


@pytest.mark.parametrize("seed", [0, 1])
def test_the_curve_is_that_of_whole_matrices(seed: int) -> None:
    """Every point is within .02 of an implementation of its own, on the same draw."""
    rng = np.random.default_rng(seed)
    case = noisy(random_graph(150, 1500, rng), rng, kept=0.8, added=300)
    assert naive_risk.apart(case, seed) < 0.02


def values(case: Case, **options: object) -> dict[str, float]:
    """Return the value of every point by what is known."""
    results = risk_curve(case, np.random.default_rng(0), **options)  # type: ignore[arg-type]
    return {each.attack.removeprefix("risk_curve."): each.value for each in results}


def test_the_positive_control_is_broken_and_more_ties_find_more() -> None:
    """With ids removed and nothing else all ties find nearly everybody, and a tenth nobody."""
    rng = np.random.default_rng(0)
    graph = random_graph(300, 3000, rng)
    found = values(Case(graph, *ids_removed(graph, rng)), draws=(1, 1))
    assert list(found) == [said(ties, seeds) for ties in TIES for seeds in SEEDS]
    for seeds in SEEDS:
        assert found[said(1.0, seeds)] > 0.95
        assert found[said(0.1, seeds)] < 0.2


def test_seeds_are_no_targets_and_the_interval_holds_all_draws() -> None:
    """The mean of two draws lies between them, and so do their intervals."""
    rng = np.random.default_rng(2)
    case = noisy(random_graph(200, 1600, rng), rng)
    two = risk_curve(case, np.random.default_rng(3), ties=(0.5,), draws=(2, 2))
    one = risk_curve(case, np.random.default_rng(3), ties=(0.5,), draws=(1, 1))
    for both, first in zip(two, one, strict=True):
        assert both.low <= min(first.low, both.value)
        assert both.high >= max(first.high, both.value)
        assert both.targets == len(case.people) - round(first.figures["seeds"] * len(case.people))
        assert both.promise is None


def test_where_the_curve_is_steep_it_is_drawn_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point between two that are far apart is drawn five times, all others twice."""
    graph = random_graph(60, 200, np.random.default_rng(0))
    case = Case(graph, *ids_removed(graph, np.random.default_rng(0)))
    shares = {0.2: [0.0, 0.0], 0.6: [0.1, 0.8, 0.1, 0.1, 0.1], 1.0: [0.9, 0.9]}
    left = {ties: list(each) for ties, each in shares.items()}

    def told(name: str, *_: object, figures: dict[str, float], **__: object) -> Result:
        share = left[figures["ties"]].pop(0)
        return Result(name, "share", 60, share, share, share, 0.1, figures=figures)

    monkeypatch.setattr(module, "share_result", told)
    rng = np.random.default_rng(1)
    low, middle, high = risk_curve(case, rng, ties=tuple(shares), seeds=(0.0,))
    assert not any(left.values())
    assert (middle.low, middle.high) == (0.1, 0.8)
    assert (low.value, middle.value, high.value) == (0.0, pytest.approx(0.24), 0.9)


def test_large_networks_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the bound there is one draw, whatever is asked."""
    rng = np.random.default_rng(4)
    case = noisy(random_graph(60, 200, rng), rng)
    once = values(case, draws=(1, 1))
    monkeypatch.setattr(module, "LARGE", 10)
    monkeypatch.setattr(module, "LARGE_ROUNDS", 60)
    assert values(case, draws=(5, 5)) == once


def test_nobody_is_found_where_nobody_is_shown() -> None:
    """A release of nobody leaves no target at any point."""
    nobody = random_graph(0, 0, np.random.default_rng(0))
    results = risk_curve(Case(nobody, nobody, np.zeros(0)), np.random.default_rng(0))
    assert {each.targets for each in results} == {0}
