"""Ages of ties and of what pairs of classes show: against naive records, in old pages, promised."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.anonymization.aims import cells_of
from ktsafe.errors import InvalidParams
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions, planning
from ktsafe.sequence.memory.sequence_tables import ENDED, TRUE
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.turns import Turns
from ktsafe.sequence.pairs import PairOfClasses
from ktsafe.sequence.planning import clear, to_renew
from ktsafe.sequence.step import apply
from ktsafe.sequence.step_context import StepContext
from tests.ktsafe.sequence.test_planning import pairs_of
from tests.ktsafe.sequence.world import World

Tie = tuple[int, int]
Classes = tuple[tuple[str, ...], tuple[str, ...]]


def known_ages(sequence: SequenceEngine) -> dict[Tie, int]:
    """Return for each true tie, by keys of people, when it began as the tables have it."""
    state = sequence.state
    rows = state.edges.used()
    rows = rows[state.edges.is_true[rows] == TRUE]
    hidden_ties = state.hidden_ties.used()
    people = np.concatenate(
        (state.places.owner[state.edges.pairs(rows)], state.hidden_ties.pairs(hidden_ties))
    )
    began = np.append(state.edges.began[rows], state.hidden_ties.began[hidden_ties])
    ties = map(tuple, np.sort(state.people.key[people], axis=1).tolist())
    return dict(zip(ties, began.tolist(), strict=True))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), max_age=st.integers(2, 4))
def test_every_tie_knows_when_it_began(seed: int, max_age: int) -> None:
    """Through being hidden and shown, moves, departures and saving, until it ends."""
    world, rng = World(50, 120, seed), np.random.default_rng(seed)
    sequence = world.begin(max_age=max_age, sybil_margin=0)
    began = dict.fromkeys(world.ties, 0)
    for release in range(1, 7):
        sequence.advance(world.change(ties=6, joins=4, leaves=1, moves=2), rng)
        began = {tie: began.get(tie, release) for tie in world.ties}
        sequence = SequenceEngine.from_pages(dict(sequence.pages()))
        assert known_ages(sequence) == began


def pairs_shown(sequence: SequenceEngine) -> set[Classes]:
    """Return the pairs of classes that have edges in the release, as a reader counts them."""
    graph = sequence.released().graph
    values = [tuple(graph.values(v)[name] for name in ("a", "b")) for v in range(graph.n_vertices)]
    pairs = (sorted((values[u], values[v])) for u, v in graph.edges.tolist())
    return {(first, second) for first, second in pairs}


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), max_age=st.integers(2, 5))
def test_nothing_shown_is_older_than_promised(seed: int, max_age: int) -> None:
    """When pairs were planned, and which are dark, is what a reader of all releases sees."""
    world, rng = World(50, 150, seed), np.random.default_rng(seed)
    sequence = world.begin(max_age=max_age)
    shown, since = pairs_shown(sequence), dict.fromkeys(pairs_shown(sequence), 0)
    for release in range(1, 12):
        sequence.advance(world.change(ties=5, joins=2, leaves=1), rng)
        before, shown = shown, pairs_shown(sequence)
        since |= dict.fromkeys(shown - before, release)
        released = sequence.released()
        assert dict(released.planned) == {pair: since[pair] for pair in shown}
        assert all(release - since[pair] < max_age for pair in shown)
        last = {p: then for p, then in since.items() if p not in shown}
        assert dict(released.dark) == {p: n for p, n in last.items() if release - n <= max_age}
        assert list(released.planned) == sorted(released.planned)


def pass_by(state: State, releases: int, pairs: Iterable[Tie]) -> None:
    """Let so many releases pass at the least age of 12, since pairs were planned in the first."""
    state.current.number = releases
    state.current.planned = dict.fromkeys(pairs, 0)
    state.current.turns = Turns()
    for _ in range(releases):
        state.current.turns.go_on(12)


def test_the_stalest_of_equally_old_pairs_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of which the greatest share ended, where cells may lose as much as they like."""
    monkeypatch.setattr(planning, "SPREAD", 1.0)
    state = World(60, 200, 1).begin().state
    classes = max(pairs_of(state), key=lambda pair: len(state.between(state.edges)[pair]))
    rows = state.between(state.edges)[classes]
    pass_by(state, 9, pairs_of(state))
    state.label(rows[state.edges.is_true[rows] == TRUE][:3], ENDED)
    assert to_renew(state)[0] == classes


def test_what_waited_for_a_turn_goes_and_nothing_else() -> None:
    """However long it waited beyond that, and however little of the room it takes."""
    state = World(400, 2000, 3).begin(max_age=12).state
    pairs = sorted(state.between(state.edges))
    for waited in (10, 11, 12, 14):
        pass_by(state, waited, pairs)
        young = pairs[len(pairs) // 3 :]
        state.current.planned |= dict.fromkeys(young, waited)
        assert set(to_renew(state)) == set(pairs).difference(young)


def test_dark_pairs_are_of_different_cells() -> None:
    """Of equally old pairs those go dark of which cells lose least: each keeps half its edges."""
    state = World(400, 2000, 0).begin(max_age=12).state
    pass_by(state, 3, pairs_of(state))
    dark = set(to_renew(state))
    shown = sorted(state.between(state.edges))
    is_dark = np.array([c in dark for c in shown])
    assert 0 < is_dark.sum() < len(shown) / 2
    n_edges = np.array([len(state.between(state.edges)[c]) for c in shown])
    for cell in cells_of(np.array(state.codes.classes), np.array(shown)):
        n_pairs, before, dark_edges = (
            np.bincount(cell),
            np.bincount(cell, n_edges),
            n_edges * is_dark,
        )
        assert (np.bincount(cell, dark_edges) <= before / 2)[n_pairs > 1].all()


def test_ended_ties_do_not_return() -> None:
    """A pair that goes dark forgets them: what it showed comes back without them."""
    state = World(60, 200, 1).begin().state
    classes = max(pairs_of(state), key=lambda pair: len(state.between(state.edges)[pair]))
    rows = state.between(state.edges)[classes]
    ended = rows[state.edges.is_true[rows] == TRUE][:3]
    state.label(ended, ENDED)
    shown, gone = (set(map(tuple, state.edges.pairs(part).tolist())) for part in (rows, ended))
    clear(state, [classes])
    pair = PairOfClasses.of(state, classes)
    assert ends_of(pair, pair.last) == shown - gone


def test_ties_of_people_who_left_return_as_others_do() -> None:
    """While a pair is dark, and before: what ended is told from what somebody left behind.

    Where a renewal kept fewer of a place's neighbours than of others', its owner would be known to
    have left.
    """
    world = World(60, 240, 2)
    sequence = world.begin(max_age=10**9)
    key = max(world.people, key=lambda k: sum(k in tie for tie in world.ties))
    place = int(place_of(sequence, key))
    other = max(
        (tie for tie in world.ties if key not in tie and shown_as(sequence, tie) == TRUE),
        default=None,
    )
    assert other is not None
    for is_dark in (False, True):
        twin = SequenceEngine.from_pages(dict(sequence.pages()))
        _, others, edges = twin.state.edges.around(np.array([place]))
        shown = others[twin.state.edges.is_true[edges] == TRUE].tolist()
        changes = Changes(left=np.array([key]), ties_removed=np.array([other]))
        ends = [int(place_of(twin, k)) for k in other]
        both = np.array([*((place, v) for v in shown), ends])
        pairs = sorted(set(map(tuple, twin.state.class_pairs(twin.state.edges, both).tolist())))
        if is_dark:
            clear(twin.state, pairs)
            apply(StepContext(twin.state, twin.spec, np.random.default_rng(0)), changes)
        else:
            apply(StepContext(twin.state, twin.spec, np.random.default_rng(0)), changes)
            clear(twin.state, pairs)
        left, cleared_edges = set(), set()
        for classes in pairs:
            pair = PairOfClasses.of(twin.state, classes)
            left |= ends_of(pair, pair.candidates[pair.n_ties :][pair.is_tie[pair.n_ties :]])
            cleared_edges |= ends_of(pair, pair.last)
        assert left == {(min(place, v), max(place, v)) for v in shown}
        assert (min(ends), max(ends)) not in cleared_edges


def ends_of(pair: PairOfClasses, edges: np.ndarray) -> set[Tie]:
    """Return the places of the ends of edges, ascending."""
    return set(map(tuple, np.sort(pair.places[edges], axis=1).tolist()))


def place_of(sequence: SequenceEngine, key: int) -> int:
    """Return the place of a person."""
    people = sequence.state.people
    return people.place[people.rows_of(np.array([key]))[0]]


def shown_as(sequence: SequenceEngine, tie: Tie) -> int | None:
    """Return the label of the released edge of two people, if there is one."""
    ends = np.array([[place_of(sequence, key) for key in tie]])
    edge = sequence.state.edges.rows_of(ends)[0]
    return None if edge < 0 else sequence.state.edges.is_true[edge]


@pytest.mark.parametrize("wrong", [0, 1, True, 2.5])
def test_a_pair_is_shown_for_at_least_two_releases(wrong: object) -> None:
    """A lesser age would leave no release for the plan to show."""
    with pytest.raises(InvalidParams):
        SequenceOptions(max_age=wrong)  # type: ignore[arg-type]
