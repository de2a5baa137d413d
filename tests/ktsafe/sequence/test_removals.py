"""Hard departures: ids vanish, ties are exchanged, and all else is as safe as before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.errors import InvalidParams, NotKTSafe
from ktsafe.sequence import Changes, Sequence, SequenceOptions, Step, step
from ktsafe.sequence.aligned import AlignedSequence
from ktsafe.sequence.memory import state as columns
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.ties import removals
from ktsafe.verify import verify_graph
from tests.ktsafe.sequence import naive
from tests.ktsafe.sequence.test_residues import edges_by_id, place_of
from tests.ktsafe.sequence.test_sequence import assert_true_to, derived
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

ACTIVITIES = ({"leaves": 3}, {"ties": 2, "leaves": 2}, {"ties": 1, "joins": 4, "leaves": 1})


class Objects:
    """Published ids and their successors as one object each, kept beside a sequence."""

    def __init__(self) -> None:
        self.of: dict[int, int] = {}

    def add(self, made: Step) -> None:
        """Note the successions of a release."""
        for former, successor in made.successions.tolist():
            assert former not in self.of.values() or self.of[former] != former
            self.of[successor] = self.of.get(former, former)

    def named(self, release: naive.Release) -> naive.Release:
        """Return a release by objects."""
        name = {v: self.of.get(v, v) for v in release[0]}
        assert len(set(name.values())) == len(name)
        return (
            {name[v]: values for v, values in release[0].items()},
            {name[v]: {name[u] for u in others} for v, others in release[1].items()},
        )


def changed_alone(before: naive.Release, after: naive.Release, cohorts: dict[int, int]) -> set[int]:
    """Return the objects whose visible change is shared by fewer than k of their cohort."""
    alone = set()
    for v in before[0].keys() & after[0].keys():
        one = naive_change(before, after, v)
        if one[0] or one[1]:
            alike = [
                u
                for u in before[0].keys() & after[0].keys()
                if cohorts[u] == cohorts[v] and naive_change(before, after, u) == one
            ]
            if len(alike) < PARAMS.k:
                alone.add(v)
    return alone


def naive_change(
    before: naive.Release, after: naive.Release, v: int
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the classes of the neighbours that v gains and loses."""
    gained = sorted(after[0][u][:-1] for u in after[1][v] - before[1][v])
    lost = sorted(before[0][u][:-1] for u in before[1][v] - after[1][v])
    return gained, lost


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), cover=st.booleans(), lag=st.sampled_from([0, 1]))
def test_every_prefix_is_safe_if_successors_stand_for_the_removed(
    seed: int, cover: bool, lag: int
) -> None:
    """By brute force, with the id and its successor as one object; nobody keeps a former id."""
    world, rng = World(40, 60, seed), np.random.default_rng(seed)
    sequence = world.begin(edge_lag_max=lag, cover=cover, departure="hard")
    objects = Objects()
    history = [naive.published(sequence)]
    for _ in range(4):
        before = place_of(sequence)
        changes = world.change(**ACTIVITIES[int(rng.integers(len(ACTIVITIES)))])
        twin = Sequence.from_pages(sequence.to_pages())
        # Never the same numbers again: an id that vanished would be drawn once more.
        dice = [seed, sequence.release]
        made = sequence.advance(changes, np.random.default_rng(dice))
        twin.advance(changes, np.random.default_rng(dice))
        assert sequence.to_pages() == twin.to_pages()
        assert derived(sequence._state) == derived(twin._state)
        gone = {before[key] for key in changes.left.tolist() if key in before}
        ids = set(sequence.released().ids.tolist())
        assert set(made.successions[:, 0].tolist()) == gone
        assert gone.isdisjoint(ids)
        assert set(made.successions[:, 1].tolist()) <= ids
        assert set(made.successions[:, 1].tolist()).isdisjoint(place_of(sequence).values())
        objects.add(made)
        history.append(objects.named(naive.published(sequence)))
        assert verify_graph(sequence.released().graph, PARAMS).is_safe
        assert naive.failures(history, PARAMS, SCHEMA.sensitive_values) == []
        assert_true_to(world, sequence)
        sequence.check()
        if cover:
            cohorts = naive.cohorts_by_id(sequence)
            cohorts = {objects.of.get(v, v): label for v, label in cohorts.items()}
            alone = changed_alone(history[-2], history[-1], cohorts)
            touched = {
                end for edges in (made.gained, made.lost) for edge in edges.tolist() for end in edge
            }
            assert alone <= {objects.of.get(v, v) for v in touched}
            assert bool(alone) <= bool(len(made.successions))


def test_former_ties_are_exchanged_at_once_and_the_id_is_in_no_page() -> None:
    """Of whoever left neither the id nor, where edges allow it, a tie is shown or remembered."""
    world, rng = World(200, 400, 5), np.random.default_rng(5)
    sequence = world.begin(edge_lag_max=0, departure="hard")
    kept = exchanged = 0
    for _ in range(4):
        shown, places, ties = edges_by_id(sequence), place_of(sequence), set(world.ties)
        changes = world.change(ties=0, leaves=4)
        left = set(changes.left.tolist())
        made = sequence.advance(changes, rng)
        successor = dict(made.successions.tolist())
        former = [
            frozenset(successor.get(p, p) for p in (places[u], places[v]))
            for u, v in ties
            if {u, v} & left and frozenset((places.get(u, -1), places.get(v, -1))) in shown
        ]
        still = set(former) & edges_by_id(sequence)
        kept, exchanged = kept + len(still), exchanged + len(former) - len(still)
        pages = b"".join(sequence.to_pages().values())
        for gone in successor:
            assert gone.to_bytes(8, "little") not in pages
    figures = sequence.figures()
    assert figures.residual_edges == kept
    assert exchanged > 4 * kept
    assert figures.moves["removed"] == 16
    assert figures.counterfeit_vertices == 0


def test_without_departures_hard_changes_nothing() -> None:
    """The same world makes the same releases with either option until somebody leaves."""
    made = []
    for departure in ("counterfeit", "hard"):
        world = World(60, 90, 7)
        sequence = world.begin(edge_lag_max=0, departure=departure)
        sequence.advance(world.change(ties=4, joins=3), np.random.default_rng(1))
        made.append(naive.published(sequence))
    assert made[0] == made[1]


def test_an_exchange_that_moves_a_location_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that exchanges with an edge of other classes fails its gate, and leaves nothing."""
    world = World(200, 400, 5)
    sequence = world.begin(edge_lag_max=0, departure="hard")
    before, indexes = sequence.to_pages(), derived(sequence._state)
    changes = world.change(ties=0, leaves=4)

    def careless(state: State, pair: tuple[int, int], *_: object) -> list[int]:
        """Offer edges between any classes."""
        return [
            row
            for row in state.edges.used().tolist()
            if not state.is_true(row) and state.class_pair(*state.edges.rows[row][:2]) != pair
        ]

    def unseeing(state: State, p: int, u: int, pool: list[int]) -> tuple[int, int] | None:
        """Take the first edge whose ends are free."""
        for row in pool:
            y, z = (state.edges.get(row, end) for end in (columns.LOW, columns.HIGH))
            if removals._is_new(state, y, u) and removals._is_new(state, p, z):
                pool.remove(row)
                return y, z
        return None

    with monkeypatch.context() as patched:
        patched.setattr(removals, "_pool", careless)
        patched.setattr(removals, "_partner", unseeing)
        with pytest.raises(NotKTSafe):
            sequence.advance(changes, np.random.default_rng(0))
    assert sequence.to_pages() == before
    assert derived(sequence._state) == indexes
    sequence.advance(changes, np.random.default_rng(0))


def test_the_gate_excepts_nobody_but_the_ends_of_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch of two inserted edges elsewhere is uncovered, in a release with removals too."""
    world = World(200, 400, 5)
    sequence = world.begin(edge_lag_max=0, departure="hard")
    exchange = step.exchange_ties

    def further(state: State, made: removals.Removals, rng: np.random.Generator) -> None:
        exchange(state, made, rng)
        assert made.touched
        moved = {end for edges in (state.gained, state.lost) for edge in edges for end in edge}
        for pair in sorted(state.between):
            rows = removals._pool(state, pair, moved, rng)
            for row in list(rows):
                p, u = (state.edges.get(row, end) for end in (columns.LOW, columns.HIGH))
                found = removals._partner(state, p, u, rows)
                if found is not None and len({p, u, *found}) == 4:
                    removals._exchange(state, (p, u), found)
                    return

    monkeypatch.setattr(step, "exchange_ties", further)
    with pytest.raises(NotKTSafe, match="shared by too few"):
        sequence.advance(world.change(ties=0, leaves=4), np.random.default_rng(0))


def test_a_cohort_that_nobody_is_left_in_vanishes_under_the_ids_that_were_shown() -> None:
    """Without edges it goes as a whole: who leaves last needs no successor, and gets none."""
    world = World(40, 0, 4)
    sequence = world.begin(edge_lag_max=0, departure="hard")
    labels, released = sequence.cohorts(), sequence.released()
    label = next(x for x in labels.tolist() if (released.keys[labels == x] >= 0).all())
    first, *others = released.keys[labels == label].tolist()
    ids = set(released.ids[labels == label].tolist())
    rng = np.random.default_rng(0)
    made = sequence.advance(Changes(left=np.array([first])), rng)
    ((former, successor),) = made.successions.tolist()
    made = sequence.advance(Changes(left=np.array(sorted(others))), rng)
    assert set(made.retired.tolist()) == ids - {former} | {successor}
    assert len(made.successions) == 0


def test_groups_keep_their_places() -> None:
    """Beyond one hop a hard departure is refused, before anything is made."""
    world = World(20, 20, 0)
    params = PrivacyParams(k=3, alpha="1/3", n_hops=2)
    options = SequenceOptions(departure="hard")
    with pytest.raises(InvalidParams, match="groups keep their places"):
        AlignedSequence.begin(SCHEMA, params, options, world.first, np.random.default_rng(0))
    with pytest.raises(InvalidParams, match="departure"):
        SequenceOptions(departure="soft")  # type: ignore[arg-type]


def test_states_of_before_the_option_are_still_theirs() -> None:
    """At its default the option is in no mapping; else it survives one."""
    assert "departure" not in SequenceOptions().to_mapping()
    hard = SequenceOptions(departure="hard")
    assert SequenceOptions.from_mapping(hard.to_mapping()) == hard


def test_who_leaves_while_withheld_has_no_place() -> None:
    """Nothing vanishes for somebody who was never published."""
    world = World(60, 60, 2)
    sequence = world.begin(edge_lag_max=0, departure="hard")
    rng = np.random.default_rng(0)
    sequence.advance(world.change(ties=0, joins=1), rng)
    key = max(world.people)
    ids = sequence.released().ids.tolist()
    made = sequence.advance(Changes(left=np.array([key])), rng)
    assert len(made.successions) == 0
    assert sequence.released().ids.tolist() == ids
