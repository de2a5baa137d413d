"""How fast pairs of classes are planned afresh: by what changes, and never in a heap."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.sequence import Changes, SequenceEngine
from ktsafe.sequence.memory.state import META
from ktsafe.sequence.memory.turns import (
    EARLY,
    KEPT,
    LEAST,
    PACE,
    TURN,
    UNKNOWN,
    Turns,
    share_of_turn,
)
from tests.ktsafe.sequence.world import World


@given(changed=st.floats(0, 1), max_age=st.integers(2, 200))
def test_a_turn_takes_what_changes_asks_for_within_its_bounds(changed: float, max_age: int) -> None:
    """The share of `PACE` over the root of what changes; by the greatest age all pairs had to go.

    And by one release less than that they need not.
    """
    share = share_of_turn(changed, max_age)
    most, least = (share_of_turn(x, max_age) for x in (1.0, 0.0))
    assert least <= share <= most
    assert max_age * least >= TURN / EARLY > (max_age - 1) * least
    age = TURN / (EARLY * share)
    assert age <= max_age
    if least < share < most:
        assert age == pytest.approx(PACE / changed**0.5, rel=1e-3)
    else:
        assert age == pytest.approx(max_age if share == least else LEAST, rel=1e-3)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_what_changed_lately_counts_most(counts: list[tuple[int, int]]) -> None:
    """The mean of all shares, each former release at 7/8 of the next; releases without ties not.

    Before there are any it is `UNKNOWN`.
    """
    turns = Turns()
    for n_changed, n_ties in counts:
        turns.note_changed(n_changed, n_ties)
    shares = [n_changed / n_ties for n_changed, n_ties in counts if n_ties]
    weights = [KEPT**i for i in range(len(shares))][::-1]
    expected = np.average(shares, weights=weights) if shares else UNKNOWN
    assert turns.changed == pytest.approx(float(expected))
    again = Turns.from_mapping(json.loads(json.dumps(turns.to_mapping())))
    assert again.to_mapping() == turns.to_mapping()


def test_what_passed_is_counted_back_and_forgotten() -> None:
    """As of each release that may still be asked for, and no longer."""
    turns = Turns()
    for _ in range(5):
        turns.go_on(12)
    share = share_of_turn(0.0, 12)
    assert [turns.since(n) for n in range(6)] == [n * share for n in range(6)]
    assert [turns.share(n) for n in range(5)] == [share] * 5
    turns.forget(2)
    assert turns.to_mapping()["passed"] == [2 * share, 3 * share, 4 * share, 5 * share]
    assert turns.share(2) == share
    twin = turns.copy()
    twin.go_on(12)
    assert turns.since(2) == 2 * share


@pytest.mark.parametrize("max_age", [2, 5, 12, 48])
def test_pairs_are_last_at_the_greatest_age(max_age: int) -> None:
    """Where nothing changes: not before, and a release later they were."""
    share = share_of_turn(0.0, max_age)
    turns = Turns([share * i for i in range(max_age + 3)])
    assert [turns.is_last(n) for n in range(max_age + 2)] == [False] * max_age + [True, True]
    assert [turns.was_last(n) for n in range(max_age + 2)] == [False] * (max_age + 1) + [True]
    assert turns.is_last(max_age - 1, share_of_turn(0.0, max_age))


def dark_shares(world: World, sequence: SequenceEngine, changes: list[int]) -> list[float]:
    """Publish so many changed ties with each release; return which share of edges went dark."""
    rng = np.random.default_rng(0)
    shares = []
    for n in changes:
        n_before = sequence.released().graph.n_edges
        step = sequence.advance(world.change(ties=n), rng)
        shares.append(len(step.lost) / n_before)
        sequence.check()
    return shares


def test_little_is_dark_where_little_changes() -> None:
    """And where much does again, no more than otherwise: what waited does not come at once."""
    world = World(300, 2_400, 3)
    sequence = world.begin()
    quiet = dark_shares(world, sequence, [0] * 60)
    busy = dark_shares(world, sequence, [120] * 12)
    assert np.mean(quiet[12:]) < 1.3 / (EARLY * 48)
    assert 0.7 / (EARLY * LEAST) < np.mean(busy[2:]) < 1.3 / (EARLY * LEAST)
    assert max(busy) < 2.5 / (EARLY * LEAST)


def test_ties_that_begin_and_end_are_counted() -> None:
    """Over the ties that there were, shown and hidden."""
    world, rng = World(60, 200, 5), np.random.default_rng(0)
    sequence = world.begin()
    ties = np.array(sorted(world.ties))
    sequence.advance(Changes(ties_removed=ties[:6], ties_added=np.zeros((0, 2), np.int64)), rng)
    sequence.advance(Changes(ties_added=ties[:3]), rng)
    found = json.loads(dict(sequence.pages())[META])["turns"]
    assert found["changed"] == pytest.approx(KEPT * 6 / len(ties) + 3 / (len(ties) - 6))
    assert found["weight"] == KEPT + 1


def test_a_lesser_greatest_age_holds_once_it_can() -> None:
    """It may change: what was planned before goes in turn, and until then nothing is promised."""
    world, rng = World(300, 2_400, 4), np.random.default_rng(0)
    sequence = world.begin()
    dark_shares(world, sequence, [0] * 40)
    assert sequence.is_bounded()
    sequence = SequenceEngine.from_pages(dict(sequence.pages()), 12)
    assert sequence.options.max_age == 12
    lost = []
    for i in range(12):
        n_before = sequence.released().graph.n_edges
        lost.append(len(sequence.advance(world.change(ties=0), rng).lost) / n_before)
        if i < 6:
            assert not sequence.is_bounded()
    assert sequence.is_bounded()
    assert max(lost) < 2.5 / (EARLY * LEAST)
    oldest = min(plan.release for plan in sequence.released().planned)
    assert sequence.release - oldest < 12


def test_pairs_show_their_ties_where_turns_get_slower() -> None:
    """What others show more, since more was dark when they were planned, is not taken from them."""
    world, rng = World(300, 2_400, 4), np.random.default_rng(0)
    sequence = world.begin(max_age=12)
    dark_shares(world, sequence, [0] * 20)
    changed = sequence.release
    sequence = SequenceEngine.from_pages(dict(sequence.pages()), 48)
    for _ in range(6):
        sequence.advance(world.change(ties=0), rng)
    state = sequence.state
    edges, hidden, inserted = (
        Counter({c: len(rows) for c, rows in state.between(state.edges).items()}),
        Counter({c: len(rows) for c, rows in state.between(state.hidden_ties).items()}),
        state.n_inserted,
    )
    later = [c for c in edges if state.current.planned[c] > changed]
    assert later
    ties = sum(edges[c] - inserted[c] + hidden[c] for c in later)
    assert sum(edges[c] for c in later) >= ties
