"""What people leave behind, and how few may come back: against a naive record of the history."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence import SequenceEngine
from tests.ktsafe.sequence.world import World

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
    check_residues(seed)


def test_worlds_have_residual_edges() -> None:
    """Nearly every world of the property has some: in one of 40 all that leavers had was dark."""
    assert sum(check_residues(seed) > 0 for seed in range(5)) >= 4


def check_residues(seed: int) -> int:
    """Compare a history's residual edges with a naive record; return the greatest age of one."""
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
        assert SequenceEngine.from_pages(dict(sequence.pages())).figures() == figures
    return oldest
