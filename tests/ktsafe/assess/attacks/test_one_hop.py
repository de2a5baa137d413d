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
from tests.ktsafe.assess.attacks.releases import CATEGORIES, SCHEMA, cases, noisy, random_graph

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


def test_a_path_counted_by_hand() -> None:
    """Of four equal people in a path, known exactly, each is found with chance one half.

    The two ends look alike, and so do the two in the middle.
    """
    codes = np.zeros((4, 3), dtype=np.int32)
    path = AttributedGraph.from_codes(SCHEMA, CATEGORIES, codes, [[0, 1], [1, 2], [2, 3]])
    for result in one_hop(Case(path, path, np.arange(4)), PARAMS):
        assert result.value == 0.5
        assert result.control == 0.25
        assert result.figures["k_near_median"] == 2
        assert result.figures["k_near_below_k"] == 1
        assert result.bands == {
            "degree 1-3": (4, 0.5),
            "class size 1-9": (4, 0.5),
        }


def test_a_missing_neighbour_may_weigh_three() -> None:
    """Two neighbours too many are nearer than one too few iff a missing one weighs 3.

    Person 0 knows one friend and is shown with two strangers more; person 1 knows nobody and is
    shown with nobody. The other three are alone in their classes, so they are always found.
    """
    codes = np.zeros((5, 3), dtype=np.int32)
    codes[2:, 0] = 1
    codes[3:, 1] = [1, 2]
    true = AttributedGraph.from_codes(SCHEMA, CATEGORIES, codes, [[0, 2]])
    shown = AttributedGraph.from_codes(SCHEMA, CATEGORIES, codes, [[1, 2], [1, 3], [1, 4]])
    behind = np.array([1, 0, 2, 3, 4])
    _, joint, joint3, _, _ = one_hop(Case(true, shown, behind), PARAMS)
    # Person 0 is 2 from the own place and 1 (lacking weighs 3: 3) from that of person 1.
    assert joint.value == pytest.approx(4 / 5)
    assert joint3.value == 1


def test_without_targets_there_is_nothing_to_find() -> None:
    """A release of inserted vertices only, or of nobody, gives empty figures."""
    nobody = AttributedGraph.from_codes(SCHEMA, CATEGORIES, np.zeros((0, 3)), [])
    inserted = AttributedGraph.from_codes(SCHEMA, CATEGORIES, np.zeros((2, 3)), [[0, 1]])
    for shown in (nobody, inserted):
        for result in one_hop(Case(nobody, shown, np.full(shown.n_vertices, -1)), PARAMS):
            assert (result.targets, result.value, result.low, result.high) == (0, 0, 0, 1)


def test_where_ties_are_only_added_containment_finds_most() -> None:
    """With a third more ties and none hidden, `added` beats the even distance by far."""
    rng = np.random.default_rng(4)
    graph = random_graph(300, 6000, rng)
    case = noisy(graph, rng, kept=1.0, added=2000, inserted=0, withheld=0)
    found = {result.attack: result.value for result in one_hop(case, PrivacyParams(k=10))}
    assert found["one_hop.added"] > found["one_hop.joint"] + 0.2
