"""What a rotation may drop: equal to what is left when edges are struck out one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence.gate.cover import visible_changes
from ktsafe.sequence.memory import state as columns
from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.ties import _rotating_core
from ktsafe.sequence.ties.pool import Kinds, pool_of
from tests.ktsafe.sequence.world import World


@settings(deadline=None)
@given(st.lists(st.integers(-5, 40), max_size=60))
def test_values_are_numbered_as_numpy_does(values: list[int]) -> None:
    """Distinct values come ascending, and everybody is told the place of the own one."""
    given_values = np.array(values, dtype=np.int64)
    distinct, position = _rotating_core.numbered(given_values)
    expected, inverse = np.unique(given_values, return_inverse=True)
    assert distinct.tolist() == expected.tolist()
    assert position.tolist() == inverse.tolist()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0, 0.3])
def test_a_pool_is_what_enough_of_every_part_can_lose(seed: int, share: float) -> None:
    """Also where members of cohorts changed before, and are parts of their own."""
    world, rng = World(120, 200, seed), np.random.default_rng(seed)
    sequence = world.begin(edge_lag_max=3)
    for _ in range(5):
        sequence.advance(world.change(ties=10, leaves=1), rng)
    state = sequence._state
    least = 3
    found = 0
    for pair in sorted(state.between):
        kinds = Kinds(state, visible_changes(state))
        for label in sorted(state.members):
            # Some cohorts change in part, in a way of their own.
            if rng.random() < share:
                for place in state.members[label][:-least]:
                    kinds.add(place, "before")
        pool = pool_of(state, pair, kinds, least, np.random.default_rng(0))
        expected = _naive(state, pair, kinds, least)
        edges = set()
        if pool is not None:
            edges = {(pool.places[u], pool.places[v]) for u, v in pool.ends.tolist()}
        assert edges == expected
        found += len(edges)
    assert found


def _naive(state: State, pair: Tie, kinds: Kinds, least: int) -> set[Tie]:
    """Strike out edges of parts of which too few members have one, one part at a time."""
    sizes = Counter((state.cohort(p), kinds.of(p)) for p in state.places.used().tolist())
    left = set()
    for row in state.between[pair]:
        low, high, is_true, added = state.edges.rows[row].tolist()
        if is_true != columns.TRUE and added < state.release:
            left.add((low, high))
    while True:
        ends = {place for edge in left for place in edge}
        having = Counter((state.cohort(p), kinds.of(p)) for p in ends)
        lacking = {
            part
            for part, count in having.items()
            if count < (least if part[1] is None else sizes[part])
        }
        if not lacking:
            return left
        left = {
            edge for edge in left if not {(state.cohort(p), kinds.of(p)) for p in edge} & lacking
        }
