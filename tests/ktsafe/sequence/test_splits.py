"""What a split may take: against every possible choice, and over whole sequences."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.sequence.exact.splits import Kinds, division
from tests.ktsafe.sequence.world import PARAMS, World


def may_be(params: PrivacyParams, whole: Kinds, part: Kinds) -> bool:
    """Whether both sides keep alpha, and k of the people, all of them, or none."""
    rest = [n - taken for n, taken in zip(whole, part, strict=True)]
    real = whole[2] + whole[3]
    return all(
        side[1] + side[3] <= params.alpha * sum(side)
        and side[2] + side[3] in {0, real, *range(params.k, real + 1)}
        for side in (part, rest)
    )


@settings(max_examples=300, deadline=None)
@given(
    whole=st.tuples(*[st.integers(0, 6)] * 4),
    alpha=st.sampled_from([Fraction(1, 5), Fraction(1, 3), Fraction(1, 2), Fraction(1)]),
    k=st.integers(1, 5),
    data=st.data(),
)
def test_a_division_is_found_iff_there_is_one(
    whole: Kinds, alpha: Fraction, k: int, data: st.DataObject
) -> None:
    """Among all choices that hold what is wanted; and what is found is one of them."""
    params = dataclasses.replace(PARAMS, k=k, alpha=alpha)
    wanted, wish = (tuple(data.draw(st.integers(0, n)) for n in whole) for _ in range(2))
    size = data.draw(st.integers(sum(wanted), max(sum(whole), sum(wanted))))
    possible = [
        part
        for part in itertools.product(
            *(range(least, n + 1) for least, n in zip(wanted, whole, strict=True))
        )
        if sum(part) == size and may_be(params, whole, part)
    ]
    found = division(params, whole, wanted, size, wish)
    assert (found is None) == (possible == [])
    assert found is None or found in possible
    if wish in possible:
        assert found == wish


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_newcomers_keep_their_real_candidates(seed: int) -> None:
    """While nobody leaves, whoever came later stays among k people, however cohorts split."""
    world = World(30, 40, seed)
    sequence = world.begin(edge_lag_max=0, sybil_margin=0)
    rng = np.random.default_rng(seed)
    first = set(world.people)
    for _ in range(6):
        sequence.advance(world.change(ties=3, joins=14), rng)
        cohorts, keys = sequence.cohorts(), sequence.released().keys
        people = Counter(cohorts[keys >= 0].tolist())
        assert all(
            people[label] >= PARAMS.k
            for label, key in zip(cohorts.tolist(), keys.tolist(), strict=True)
            if key >= 0 and key not in first
        )
    assert sequence.figures().moves.get("splits", 0) > 0
