"""One hop: the standing of every target, and what an attacker gains by it."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.common import nearest
from ktsafe.assess.attacks.neighbourhoods import one_hop
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import CATEGORIES, SCHEMA, cases

SCORES = [
    ("marginal", 1, 1),
    ("joint", 1, 1),
    ("joint", 3, 1),
    ("joint", 1000, 1),
    ("degree", 1, 1),
]
PARAMS = PrivacyParams(k=3)


@pytest.mark.parametrize("cells", [1, 24, 1 << 17])
@settings(max_examples=40, deadline=None)
@given(cases())
def test_figures_equal_a_count_over_all_pairs(cells: int, case: Case) -> None:
    """Best guess, best rank, k_near and the greatest chance are those of the definition.

    They are so however many are compared at a time.
    """
    with mock.patch.object(nearest, "BLOCK_CELLS", cells):
        check_against_all_pairs(case)


def check_against_all_pairs(case: Case) -> None:
    """Compare every figure with a literal count."""
    for result, (kind, missing, surplus) in zip(one_hop(case, PARAMS), SCORES, strict=True):
        found = naive.standing(case, kind, missing, surplus)
        shares = naive.rank_shares(found, 9)
        near = [nearer + tied for nearer, tied in found]
        assert result.targets == len(found)
        assert result.value == pytest.approx(float(shares[0]))
        assert result.figures["best_rank_guess"] == pytest.approx(float(max(shares)))
        assert shares[int(result.figures["best_rank"]) - 1] == max(shares)
        if found:
            below = sum(n < 3 for n in near) / len(near)
            assert result.figures["k_near_below_k"] == pytest.approx(below)
            assert result.figures["k_near_median"] == np.median(near)
        greatest = max((1 / tied for nearer, tied in found if not nearer), default=0)
        assert result.figures["greatest"] == pytest.approx(greatest)


def test_without_targets_there_is_nothing_to_find() -> None:
    """A release of inserted vertices only, or of nobody, gives empty figures."""
    nobody = AttributedGraph.from_codes(SCHEMA, CATEGORIES, np.zeros((0, 3)), [])
    inserted = AttributedGraph.from_codes(SCHEMA, CATEGORIES, np.zeros((2, 3)), [[0, 1]])
    for shown in (nobody, inserted):
        for result in one_hop(Case(nobody, shown, np.full(shown.n_vertices, -1)), PARAMS):
            assert (result.targets, result.value, result.low, result.high) == (0, 0, 0, 1)
