"""What pairs of classes show: equal for all of a cohort, never dearer than nothing, remembered."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe import AttributedGraph, Schema
from ktsafe.anonymization.request import Aim
from ktsafe.anonymization.rewiring import SUPPORT, closeness
from ktsafe.graph.social_network import social_feed
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence import pairs as next_edges
from ktsafe.sequence.memory.current_release import Current
from ktsafe.sequence.memory.graph_changes import changes_between
from ktsafe.sequence.memory.sequence_tables import FALSE, TRUE, Tie
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.turns import TURN, Turns
from ktsafe.sequence.pairs import PairOfClasses, show_exactly
from ktsafe.sequence.planning import clear, plan_ties
from ktsafe.sequence.step_context import StepContext
from tests.feeds import slots_of
from tests.ktsafe.anonymization.graphs import as_set
from tests.ktsafe.sequence.world import PARAMS, World

NEVER = 10**9
"""A `max_age` that no pair of these tests reaches."""


def pairs_of(state: State) -> list[Tie]:
    """Return all pairs of classes with ties or edges."""
    return sorted(state.between(state.hidden_ties).keys() | state.between(state.edges).keys())


def cost_between(sequence: SequenceEngine, classes: Tie) -> tuple[int, int]:
    """Count, one by one, edges that differ from the truth between two classes, and true ties."""
    state = sequence.state
    shown = [state.edges.is_true[edge] == TRUE for edge in state.between(state.edges)[classes]]
    hidden = len(state.between(state.hidden_ties)[classes])
    return hidden + shown.count(False), hidden + shown.count(True)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), aim=st.sampled_from(["balanced", "f1", "cost"]))
def test_no_release_costs_more_than_nothing(seed: int, aim: Aim) -> None:
    """Hidden ties and inserted edges are at most as many as the ties, whatever is aimed at."""
    world, rng = World(50, 150, seed), np.random.default_rng(seed)
    sequence = world.begin(aim=aim)
    for _ in range(6):
        sequence.advance(world.change(ties=25, joins=3, leaves=3), rng)
        state = sequence.state
        costs, n_ties = np.sum([cost_between(sequence, c) for c in pairs_of(state)], axis=0)
        assert costs <= n_ties


@pytest.mark.parametrize("seed", range(3))
def test_ties_across_values_stay_as_many_as_they_are(seed: int) -> None:
    """Of each two values, while their pairs show edges: few edges too few or too many."""
    schema = Schema(("kind",), "health", frozenset({"ill"})).expecting_nothing()
    rng = np.random.default_rng(seed)
    kinds = np.repeat(np.arange(3), 80)
    u, v = np.triu_indices(len(kinds), 1)
    chance = np.where(kinds[u] == kinds[v], 0.2, 0.008)
    columns = {"kind": kinds.tolist(), "health": ["well"] * len(kinds)}
    slots = []
    drawn = rng.random(len(u))
    for _ in range(6):
        ties = np.column_stack((u, v))[drawn < chance]
        slots.append((AttributedGraph.from_columns(schema, columns, ties), np.arange(len(kinds))))
        anew = rng.random(len(u)) < 0.01
        drawn[anew] = rng.random(anew.sum())
    options = SequenceOptions(effort="fast", margin=0)
    first = Changes.of_graph(*slots[0])
    sequence = SequenceEngine.begin(schema, PARAMS, options, first, np.random.default_rng(seed))
    errors = []
    for before, after in itertools.pairwise(slots):
        sequence.advance(changes_between(*before, *after), rng)
        true, shown = (between(graph) for graph in (after[0], sequence.released().graph))
        errors += list(np.abs(shown - true)[shown > 0] / true[shown > 0])
    assert len(errors) >= 2 * len(slots)
    assert np.mean(errors) < 0.3


def between(graph: AttributedGraph) -> NDArray[np.int64]:
    """Count the edges between vertices of each two of three values."""
    low, high = np.sort(graph.codes[graph.edges, 0], axis=1).T
    return np.bincount(low * 3 + high, minlength=9)[[1, 2, 5]]


def test_the_least_true_pairs_pay_for_the_release() -> None:
    """Where all edges together cost more than none would, pairs are cleared until they do not."""
    world, rng = World(50, 150, 3), np.random.default_rng(3)
    sequence = world.begin()
    state = sequence.state
    truest = min(
        state.between(state.edges),
        key=lambda c: state.n_inserted[c] / max(len(state.between(state.edges)[c]), 1),
    )
    for classes in pairs_of(state):
        if classes != truest:
            state.label(state.between(state.edges)[classes], FALSE)
    cost, ties = np.sum([cost_between(sequence, c) for c in pairs_of(state)], axis=0)
    assert cost > ties
    state.current = Current(0, {}, state.current.planned, Turns())
    plan_ties(StepContext(state, sequence.spec, rng))
    costs = {c: cost_between(sequence, c) for c in pairs_of(state)}
    cost, ties = np.sum(list(costs.values()), axis=0)
    assert cost <= ties
    assert truest in state.between(state.edges)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_arrays_of_a_pair_are_the_state(seed: int) -> None:
    """Places, cohorts, edges and ties as arrays equal what is counted from the tables."""
    world, rng = World(40, 120, seed), np.random.default_rng(seed)
    sequence = world.begin()
    sequence.advance(world.change(ties=15, leaves=2), rng)
    state = sequence.state
    for classes in pairs_of(state):
        pair = PairOfClasses.of(state, classes)
        assert {state.places.cls[place] for place in pair.places.tolist()} == set(classes)
        labels = [state.places.cohort[place] for place in pair.places.tolist()]
        assert sorted(Counter(labels).values()) == sorted(pair.sizes.tolist())
        assert [len(list(run)) for _, run in itertools.groupby(labels)] == pair.sizes.tolist()
        edges = {frozenset(ends) for ends in pair.places[pair.shown].tolist()}
        assert edges == {
            frozenset(ends)
            for ends in state.edges.pairs(state.between(state.edges)[classes]).tolist()
        }
        n_inserted = np.count_nonzero(pair.labels != TRUE)
        assert n_inserted == state.n_inserted[classes]
        cost = len(pair.hidden) + n_inserted
        assert (cost, pair.n_ties) == cost_between(sequence, classes)
        assert all(
            state.places.cls[u] == classes[0] for u in pair.places[pair.shown[:, 0]].tolist()
        )


def test_what_a_cleared_pair_showed_is_remembered_until_it_is_planned() -> None:
    """The edges are kept, true or inserted, and forgotten with the next plan or their places."""
    sequence = World(60, 200, 1).begin()
    state = sequence.state
    classes = max(pairs_of(state), key=lambda pair: len(state.between(state.edges)[pair]))
    pair = PairOfClasses.of(state, classes)
    state.remember_cleared(pair.places[pair.shown], pair.labels == TRUE)
    show_exactly(state, pair, pair.shown[:0])
    cleared = PairOfClasses.of(state, classes)
    assert not len(cleared.shown)
    assert len(cleared.hidden) == pair.n_ties
    assert sorted(map(tuple, cleared.last.tolist())) == sorted(map(tuple, pair.shown.tolist()))
    again = SequenceEngine.from_pages(dict(sequence.pages())).state
    assert PairOfClasses.of(again, classes).last.tolist() == cleared.last.tolist()
    state.cleared_edges.free(cleared.last_rows)
    assert not len(PairOfClasses.of(state, classes).last)


@pytest.mark.parametrize(("quasi_identifiers", "n_dark_max"), [((), 1), (("gender",), 0)])
def test_few_kinds_of_people_are_seldom_all_dark(
    quasi_identifiers: tuple[str, ...], n_dark_max: int
) -> None:
    """In a year of a growing network one of two classes always shows ties.

    Every release has at least a quarter of the most that any release before it had. Where all
    people are of one kind there is one pair of classes, which goes dark once.
    """
    schema = Schema(quasi_identifiers, "health", frozenset({"cancer", "depression", "hiv"}))
    feed = list(social_feed(people=200, days=365, rng=np.random.default_rng(0)))
    slots = list(slots_of(schema.expecting_nothing(), feed, 28))
    rng, first = np.random.default_rng(0), Changes.of_graph(*slots[0])
    options = SequenceOptions(effort="fast", margin=0)
    sequence = SequenceEngine.begin(slots[0][0].schema, PARAMS, options, first, rng)
    most = n_dark = 0
    for before, after in itertools.pairwise(slots):
        sequence.advance(changes_between(*before, *after), rng)
        figures = sequence.figures()
        n_shown = after[0].n_edges - figures.held_edges
        n_dark += n_shown <= most / 4
        most = max(most, n_shown)
    assert n_dark <= n_dark_max


def test_a_cleared_pair_is_planned_in_the_next_release() -> None:
    """Whenever it was cleared, and though nothing changed."""
    for number in range(4):
        world, rng = World(60, 200, 1), np.random.default_rng(0)
        sequence = world.begin(max_age=NEVER)
        for _ in range(number):
            sequence.advance(world.change(ties=0), rng)
        state = sequence.state
        classes = max(pairs_of(state), key=lambda pair: len(state.between(state.edges)[pair]))
        clear(state, [classes])
        sequence.advance(world.change(ties=0), rng)
        state = sequence.state
        assert classes in state.between(state.edges)
        assert state.current.planned[classes] == number + 1


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_only_pairs_that_changed_are_planned_again(share: float) -> None:
    """Without changes nothing is looked at before its time, and nothing visibly happens."""
    world, rng = World(60, 200, 2), np.random.default_rng(0)
    sequence = world.begin(max_age=NEVER)
    for _ in range(3):
        sequence.advance(world.change(ties=0), rng)
    before = dict(sequence.figures().moves)
    step = sequence.advance(world.change(ties=round(200 * share)), rng)
    assert (len(step.gained) + len(step.lost) > 0) == (share > 0)
    assert (sequence.figures().moves != before) == (share > 0)


def test_ties_gain_more_the_closer_their_ends_are() -> None:
    """As common neighbours and degrees tell that are counted one by one, in the mean `GAIN`."""
    state = World(60, 300, 1).begin().state
    truth = next_edges.true_ties(state)
    near = defaultdict(set)
    for u, v in truth.tolist():
        near[u].add(v)
        near[v].add(u)
    hidden = state.people.place[state.hidden_ties.pairs(state.hidden_ties.used())]
    shown = state.edges.pairs(state.edges.used()[state.edges.is_true[state.edges.used()] == TRUE])
    assert as_set(truth) == as_set(np.concatenate((hidden, shown)))
    classes = max(pairs_of(state), key=lambda pair: len(state.between(state.edges)[pair]))
    pair = PairOfClasses.of(state, classes)
    edges, is_tie = pair.candidates, pair.is_tie
    assert is_tie.all()
    ends = pair.places[edges].tolist()
    share = [len(near[u] & near[v]) / math.sqrt(len(near[u]) * len(near[v])) for u, v in ends]
    close = closeness(state.places.n, truth, pair.places[edges])
    assert close.tolist() == [min(int(100 * each), 100) for each in share]
    gain = next_edges.gains(dataclasses.replace(pair, is_young=pair.is_young & False), close)
    assert (np.diff(gain[np.argsort(close, kind="stable")]) >= 0).all()
    assert math.isclose(gain.mean(), next_edges.GAIN)
    assert gain.max() <= next_edges.GAIN * (1 + next_edges.CLOSENESS * SUPPORT / 2)


def test_a_first_release_is_as_dark_as_it_makes_up_for() -> None:
    """Some pairs show nothing yet, as many edges as the others have more; all of them come next."""
    kinds = np.repeat([f"kind{i}" for i in range(8)], 20)
    u, v = np.triu_indices(len(kinds), 1)
    rng = np.random.default_rng(0)
    ties = np.column_stack((u, v))[rng.random(len(u)) < 0.15]
    schema = Schema(("kind",), "health", frozenset({"ill"})).expecting_nothing()
    columns = {"kind": kinds.tolist(), "health": ["well"] * len(kinds)}
    graph = AttributedGraph.from_columns(schema, columns, ties)
    first = Changes.of_graph(graph, np.arange(len(kinds)))
    sequence = SequenceEngine.begin(schema, PARAMS, SequenceOptions(effort="fast"), first, rng)
    state = sequence.state
    dark = {c for c, rows in state.between(state.cleared_edges).items() if len(rows)}
    n_dark, n_shown = (
        sum(map(len, state.between(table).values())) for table in (state.cleared_edges, state.edges)
    )
    share = state.current.turns.share(0) / TURN
    assert 0.5 * share < n_dark / (n_dark + n_shown) <= share
    assert not dark & state.between(state.edges).keys()
    assert not dark & state.current.planned.keys()
    sequence.advance(Changes(), rng)
    assert dark <= sequence.state.between(sequence.state.edges).keys()


def test_young_ties_gain_more_the_fewer_they_are() -> None:
    """`YOUNG` for a single one, nothing where half of the pair's ties are young."""
    state = World(60, 200, 1).begin().state
    classes = max(pairs_of(state), key=lambda pair: len(state.between(state.edges)[pair]))
    pair = PairOfClasses.of(state, classes)
    before = math.inf
    for n_young in (0, 1, pair.n_ties // 3, pair.n_ties // 2 + 1, pair.n_ties):
        is_young = np.arange(pair.n_ties) < n_young
        aged = dataclasses.replace(pair, is_young=is_young)
        gain = next_edges.gains(aged, np.zeros(pair.n_ties, dtype=np.int64))
        assert (gain[~is_young] == next_edges.GAIN).all()
        if 2 * n_young >= pair.n_ties:
            assert (gain == next_edges.GAIN).all()
        elif n_young:
            more = gain[is_young] - next_edges.GAIN
            assert (more > 0).all()
            assert (more <= min(next_edges.YOUNG, before)).all()
            before = float(more.max())
