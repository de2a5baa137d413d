"""What people leave behind, and how few may come back: against a naive record of the history."""

from __future__ import annotations

import statistics
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence import SequenceEngine
from tests.ktsafe.sequence.world import PARAMS, World

Tie = frozenset[int]


def edges_by_id(sequence: SequenceEngine) -> set[Tie]:
    """Return the released edges as pairs of published ids."""
    released = sequence.released()
    return {frozenset(pair) for pair in released.ids[released.graph.edges].tolist()}


def place_of(sequence: SequenceEngine) -> dict[int, int]:
    """Return the published id of everybody who is published."""
    released = sequence.released()
    pairs = zip(released.keys.tolist(), released.ids.tolist(), strict=True)
    return {key: published for key, published in pairs if key >= 0}


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_residual_edges_and_their_ages(seed: int) -> None:
    """A true tie of somebody who left is residual from then on, until it is shown no longer."""
    world = World(60, 120, seed)
    sequence = world.begin()
    rng = np.random.default_rng(seed)
    since: dict[Tie, int] = {}
    oldest = 0
    for release in range(1, 7):
        shown, places, ties = edges_by_id(sequence), place_of(sequence), set(world.ties)
        changes = world.change(ties=2, leaves=3)
        left = set(changes.left.tolist())
        for u, v in ties:
            ends = frozenset(places.get(key, -1) for key in (u, v))
            if {u, v} & left and ends in shown:
                since[ends] = release
        sequence.advance(changes, rng)
        since = {ends: at for ends, at in since.items() if ends in edges_by_id(sequence)}
        ages = [release - at + 1 for at in since.values()]
        figures = sequence.figures()
        assert figures.residual_edges == len(ages)
        oldest = max(oldest, figures.residual_age_max)
        assert figures.residual_age_max == max(ages, default=0)
        assert figures.residual_age_median == (statistics.median_low(ages) if ages else 0)
        assert SequenceEngine.from_pages(dict(sequence.pages())).figures() == figures
    assert oldest > 0


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), margin=st.integers(0, 2))
def test_few_who_are_reborn_wait_for_others(seed: int, margin: int) -> None:
    """Whoever changes leaves the place at once, and comes back only with k people in one cohort."""
    world = World(60, 60, seed)
    sequence = world.begin(qi_change="rebirth", sybil_margin=margin)
    rng = np.random.default_rng(seed)
    waited = 0
    for _ in range(6):
        before = place_of(sequence)
        changes = world.change(ties=1, joins=2, leaves=1, moves=2)
        sequence.advance(changes, rng)
        now = place_of(sequence)
        moved = set(changes.changed.tolist()) & before.keys()
        assert all(now.get(key) != before[key] for key in moved)
        released = sequence.released()
        cohort = dict(zip(released.ids.tolist(), sequence.cohorts().tolist(), strict=True))
        people = Counter(cohort[published] for published in now.values())
        came = {key for key in now if now[key] != before.get(key)}
        assert all(people[cohort[now[key]]] >= PARAMS.k for key in came)
        waited += len(moved - now.keys())
        assert set(now) <= set(world.people)
        assert sequence.figures().withheld_vertices == len(set(world.people) - set(now))
    assert waited > 0


@pytest.mark.parametrize("births", ["withhold", "pad"])
def test_one_who_is_reborn_alone(births: str) -> None:
    """A single rebirth waits for ever, or is padded after its time, never shown with fewer."""
    world = World(60, 0, 3)
    options = {"qi_change": "rebirth", "births": births, "birth_wait_max": 2}
    sequence = world.begin(**options)
    changes = world.change(ties=0, moves=1)
    key = int(changes.changed[0])
    rng = np.random.default_rng(0)
    sequence.advance(changes, rng)
    for _ in range(3):
        assert key not in place_of(sequence)
        if births == "pad" and sequence.figures().withheld_age_max == 1:
            break
        sequence.advance(world.change(ties=0), rng)
    sequence.advance(world.change(ties=0), rng)
    assert (key in place_of(sequence)) == (births == "pad")
    assert sequence.figures().cohort_size_min >= PARAMS.k
