"""Inserted members of padded cohorts are planned as people with ties, within measure."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.edges import edge_keys
from ktsafe.exact.dummy_ties import GATHERED_WEIGHT, is_own
from ktsafe.sequence import SequenceEngine
from ktsafe.sequence.memory.sequence_tables import INSERTED, TRUE
from ktsafe.sequence.ties.pairs import PairOfClasses, with_dummy_ties
from tests.ktsafe.sequence.test_planning import pairs_of
from tests.ktsafe.sequence.world import World


def padded(seed: int, releases: int) -> SequenceEngine:
    """Return a sequence of a small world in which newcomers wait for one release at most."""
    world, rng = World(30, 120, seed, sensitive=0.25), np.random.default_rng(seed)
    sequence = world.begin(births="pad", birth_wait_max=1)
    for _ in range(releases):
        sequence.advance(world.change(ties=6, joins=3, leaves=1), rng)
    return sequence


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_padded_release_costs_more_than_nothing(seed: int) -> None:
    """At most half of the edges are inserted, and the whole certificate holds."""
    world, rng = World(30, 120, seed, sensitive=0.25), np.random.default_rng(seed)
    sequence = world.begin(births="pad", birth_wait_max=1)
    for _ in range(6):
        sequence.advance(world.change(ties=20, joins=3, leaves=1), rng)
        edges = sequence._state.edges
        is_true = edges.is_true[edges.used()] == TRUE
        assert np.count_nonzero(~is_true) <= np.count_nonzero(is_true)
        sequence.check()


def test_inserted_members_have_edges() -> None:
    """In most padded sequences some inserted vertex has a released edge: in 31 of these 40."""
    shown = 0
    for seed in range(40):
        state = padded(seed, 4)._state
        inserted = np.flatnonzero(state.places.kind == INSERTED)
        shown += len(state.edges.around(inserted)[0]) > 0
    assert shown >= 30


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.5, 1.0]))
def test_dummy_ties_are_those_of_inserted_members(seed: int, share: float) -> None:
    """People keep their ties; what is added is new, simple, between the classes, and in measure.

    Edges that inserted members show count as ties, so that a plan need not give them others.
    """
    state, rng = padded(seed, 2)._state, np.random.default_rng(seed)
    for classes in pairs_of(state):
        pair = PairOfClasses.of(state, classes)
        likely = with_dummy_ties(pair, share, rng)
        n_hidden = len(pair.hidden)
        assert likely.hidden[:n_hidden].tolist() == pair.hidden.tolist()
        assert not (pair.is_true & ~likely.is_true).any()
        now_true = likely.is_true & ~pair.is_true
        assert pair.is_inserted[pair.shown[now_true]].any(axis=1).all()
        dummy = likely.hidden[n_hidden:]
        assert pair.is_inserted[dummy].any(axis=1).all()
        everything = edge_keys(np.concatenate((pair.shown, likely.hidden)))
        assert len(np.unique(everything)) == len(everything)
        assert (dummy[:, 0] != dummy[:, 1]).all()
        ends = np.array([state.places.cls[place] for place in pair.places.tolist()])[dummy]
        assert (np.sort(ends, axis=1) == classes).all()
        most = np.bincount(pair.ties.reshape(-1), minlength=len(pair.cohort)).max(initial=0)
        # What it showed before it was cleared may stem from a time with more ties.
        new = dummy[~np.isin(edge_keys(dummy), edge_keys(pair.cleared_edges))]
        drawn = np.bincount(new.reshape(-1), minlength=len(pair.cohort))
        assert drawn[pair.is_inserted].sum() <= 2 * most * pair.is_inserted.sum()
        # Without a share there are none but copies of a person's ties, each for one.
        gathered = likely.weight[len(likely.weight) - len(dummy) :] == GATHERED_WEIGHT
        assert share > 0 or not gathered.any() or len(pair.cleared_edges)
        assert len(likely.weight) == likely.n_ties
        assert (likely.weight[~is_own(likely.ties, pair.is_inserted)] == 1).all()
