"""Whole sequences: safe by the definition, true to the graph, exact in their bookkeeping."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.errors import InvalidGraph, NotKTSafe
from ktsafe.sequence import Changes, SequenceCorrupted, SequenceEngine, gate, step
from ktsafe.sequence.memory import column_table
from ktsafe.sequence.memory.sequence_tables import TRUE
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.planning import plan_ties
from ktsafe.sequence.step_context import StepContext
from ktsafe.verify import verify_graph
from tests.graphs import ALPHAS
from tests.ktsafe.sequence import naive
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

ACTIVITIES = (
    {"ties": 3},
    {"ties": 2, "joins": 4},
    {"ties": 1, "leaves": 2, "ill": 1},
    {"ties": 1, "moves": 3, "joins": 3},
)
ALWAYS = -(10**9)
"""Spare rows that every table has, so that it is packed."""


def derived(state: State) -> dict[str, object]:
    """Return a copy of all indexes of a state in comparable form."""
    places, people, edges, hidden_ties = state.places, state.people, state.edges, state.hidden_ties
    arrays = {
        "adjacent": edges.around(np.arange(places.n)),
        "held": hidden_ties.around(np.arange(people.n)),
        "people": (people.withheld(), people.differing(places), *people.rows_of(people.key)),
    }
    mappings = {
        "members": places.members,
        "edges": state.between(edges),
        "held": state.between(hidden_ties),
        "former": state.between(state.cleared_edges),
    }
    return {
        "arrays": {name: [numbers.tolist() for numbers in known] for name, known in arrays.items()},
        "mappings": {
            name: {key: sorted(rows) for key, rows in known.items()}
            for name, known in mappings.items()
        },
        "counts": [dict(+known) for known in (state.n_inserted, state.n_ended, state.n_young)],
        "cohorts_of": places.cohorts_of,
        "planned": state.current.planned,
    }


def assert_true_to(world: World, sequence: SequenceEngine) -> None:
    """Assert that what is remembered is the true graph, and that its cost is counted right."""
    released = sequence.released()
    keys = released.keys
    pairs = {tuple(sorted(pair)) for pair in keys[released.graph.edges.astype(int)].tolist()}
    shown = {pair for pair in pairs if pair[0] >= 0} & world.ties
    figures = sequence.figures()
    real = {key for key in keys.tolist() if key >= 0}
    assert real <= world.people.keys()
    vertices = len(world.people) - len(real) + int((keys < 0).sum())
    edges = len(world.ties) - len(shown) + released.graph.n_edges - len(shown)
    assert figures.cost == vertices + edges
    assert figures.held_edges == len(world.ties) - len(shown)
    assert figures.withheld_vertices == len(world.people) - len(real)


def edge_cost(sequence: SequenceEngine) -> int:
    """Return |T xor R|: what publishing no edge at all would cost is |T|."""
    figures = sequence.figures()
    return figures.inserted_edges + figures.residual_edges + figures.held_edges


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), packed=st.booleans(), alpha=st.sampled_from(ALPHAS[2:-1]))
def test_every_prefix_is_safe_true_and_rebuilt(seed: int, packed: bool, alpha: Fraction) -> None:
    """Whatever happens: safe by brute force, cost exact, indexes equal those derived anew."""
    with pytest.MonkeyPatch.context() as patch:
        if packed:
            patch.setattr(column_table, "SPARE_ROWS", ALWAYS)
        check_every_prefix(seed, dataclasses.replace(PARAMS, alpha=alpha))


def check_every_prefix(seed: int, params: PrivacyParams) -> None:
    """Make a few releases of a changing world, and check all of them."""
    world = World(40, 50, seed, sensitive=0.3 * (seed % 2))
    sequence = world.begin(params, birth_wait_max=3)
    history = [naive.published(sequence)]
    rng = np.random.default_rng(seed)
    for _ in range(5):
        changes = world.change(**ACTIVITIES[int(rng.integers(len(ACTIVITIES)))])
        sequence.advance(changes, rng)
        history.append(naive.published(sequence))
        assert verify_graph(sequence.released().graph, params).is_safe
        assert naive.failures(history, params, SCHEMA.sensitive_values) == []
        cohorts = naive.cohorts_by_id(sequence)
        assert naive.uncovered(history[-2], history[-1], cohorts, PARAMS.k) == 0
        assert_true_to(world, sequence)
        assert edge_cost(sequence) <= len(world.ties)
        again = SequenceEngine.from_pages(dict(sequence.pages()))
        assert derived(sequence.state) == derived(again.state)
        assert sequence.figures() == again.figures()


@pytest.mark.parametrize("spare", [column_table.SPARE_ROWS, ALWAYS])
def test_saved_sequences_continue_identically(spare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that is read from pages makes the same releases, whether or not tables are packed.

    Its pages are those of before and the altered ones together.
    """
    monkeypatch.setattr(column_table, "SPARE_ROWS", spare)
    monkeypatch.setattr(column_table, "ROWS_PER_PAGE", 4)
    world = World(60, 90, 1)
    sequence = world.begin()
    for i in range(6):
        changes = world.change(**ACTIVITIES[i % len(ACTIVITIES)])
        before = dict(sequence.pages())
        twin = SequenceEngine.from_pages(before)
        assert twin.kept_pages() == before.keys() - {"meta"}
        sequence.advance(changes, np.random.default_rng(i))
        twin.advance(changes, np.random.default_rng(i))
        assert dict(sequence.pages()) == dict(twin.pages())
        for each in (sequence, twin):
            kept = each.kept_pages()
            assert kept
            known = {name: before[name] for name in kept}
            assert known | dict(each.pages(kept)) == dict(sequence.pages())


def test_few_pages_change() -> None:
    """A small change of a larger graph rewrites few pages."""
    world = World(3000, 4000, 2)
    sequence = world.begin()
    before = dict(sequence.pages())
    sequence.advance(world.change(ties=1), np.random.default_rng(0))
    now = dict(sequence.pages())
    assert before.keys() <= now.keys()
    assert sum(page != before.get(name) for name, page in now.items()) < len(before)


@pytest.mark.parametrize(
    "changes",
    [
        Changes(left=np.array([10**6])),
        Changes(ties_added=np.array([[0, 10**6]])),
        Changes(ties_removed=np.array([[0, 1]])),
        Changes(joined=np.array([0]), joined_values=[("x", "1", "well")]),
        Changes(joined=np.array([10**6]), joined_values=[("x", "1")]),
    ],
)
def test_changes_that_do_not_fit_do_nothing(changes: Changes) -> None:
    """Unknown people and ties are refused, and nothing is half done."""
    world = World(40, 50, 3)
    world.ties.discard((0, 1))
    sequence = World(40, 0, 3).begin()
    before, indexes = dict(sequence.pages()), derived(sequence.state)
    with pytest.raises(InvalidGraph):
        sequence.advance(changes, np.random.default_rng(0))
    assert dict(sequence.pages()) == before
    assert derived(sequence.state) == indexes


def careless(context: StepContext) -> None:
    """Drop one edge that is no tie, and so leave its ends fewer neighbours than their cohorts."""
    plan_ties(context)
    edges = context.state.edges
    context.state.hide(edges.used()[edges.is_true[edges.used()] != TRUE][:1])


def test_a_release_that_fails_its_gate_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken mechanism is caught by the gate, and the sequence continues as if untried."""
    world, rng = World(60, 90, 4), np.random.default_rng(0)
    sequence = world.begin()
    before, indexes = dict(sequence.pages()), derived(sequence.state)
    changes = world.change(ties=3, joins=2, leaves=1)
    with monkeypatch.context() as patched:
        patched.setattr(step, "plan_ties", careless)
        with pytest.raises(NotKTSafe):
            sequence.advance(changes, rng)
    assert dict(sequence.pages()) == before
    assert derived(sequence.state) == indexes
    sequence.advance(changes, rng)
    assert_true_to(world, sequence)


def test_without_the_gate_the_naive_checker_sees_a_broken_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dropping one edge is a failure of the definition, or of the cover."""
    world = World(60, 90, 5)
    sequence = world.begin()
    history = [naive.published(sequence)]
    with monkeypatch.context() as patched:
        patched.setattr(step, "plan_ties", careless)
        patched.setattr(gate, "check", lambda *_: None)
        patched.setattr(gate, "check_cover", lambda *_: None)
        sequence.advance(world.change(ties=1), np.random.default_rng(0))
    history.append(naive.published(sequence))
    cohorts = naive.cohorts_by_id(sequence)
    assert naive.uncovered(history[0], history[1], cohorts, PARAMS.k) > 0
    with pytest.raises(NotKTSafe):
        sequence.check()


def test_merged_cohorts_fail_the_certificate() -> None:
    """Two cohorts of different locations are not one."""
    sequence = World(60, 90, 6).begin()
    state = sequence.state
    one, other, *_ = max(state.places.cohorts_of.values(), key=len)
    state.places.write(state.places.members[other], cohort=one)
    with pytest.raises(NotKTSafe):
        sequence.check()


def test_damaged_pages_are_refused() -> None:
    """A missing, a shortened and a foreign page are seen."""
    pages = dict(World(40, 50, 7).begin().pages())
    name = next(name for name in pages if name.startswith("edges/"))
    for damaged in (
        {key: page for key, page in pages.items() if key != name},
        {**pages, name: pages[name][:-8]},
        {**pages, name: pages[name][:-32]},
        {**pages, "meta": b"{}"},
        {},
    ):
        with pytest.raises(SequenceCorrupted):
            SequenceEngine.from_pages(damaged)


def test_published_ids_persist_and_follow_the_person() -> None:
    """Whoever stays keeps the id, and no id is ever somebody else's."""
    world, rng = World(60, 90, 8), np.random.default_rng(0)
    sequence = world.begin()
    owners: dict[int, int] = {}
    for i in range(8):
        released = sequence.released()
        assert (np.diff(released.ids) > 0).all()
        for published, key in zip(released.ids.tolist(), released.keys.tolist(), strict=True):
            assert key in {-1, owners.setdefault(published, key)}
        sequence.advance(world.change(**ACTIVITIES[i % len(ACTIVITIES)]), rng)
