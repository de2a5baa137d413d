"""Permanent groups: safe at any radius, for whoever links all releases."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import AuditedRelease, Promise, SequenceAuditor
from ktsafe.errors import InvalidGraph, InvalidParams, NotKTSafe
from ktsafe.sequence import Changes, SequenceCorrupted, SequenceOptions
from ktsafe.sequence.memory.column_table import PairTable
from ktsafe_lab.aligned_sequence import (
    AlignedAuditor,
    AlignedRelease,
    AlignedReleased,
    AlignedSequence,
    aligned_sequence,
    orbits,
)
from ktsafe_lab.verify_hops import verify_graph
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

TWO_HOPS = dataclasses.replace(PARAMS, n_hops=2)
INDUCED = dataclasses.replace(PARAMS, reading="induced")
KINDS = (
    {"ties": 4},
    {"ties": 2, "joins": 6},
    {"leaves": 3, "ill": 2},
    {"moves": 4, "joins": 4},
    {"ties": 0, "leaves": 8},
)


def begun(
    world: World, params: PrivacyParams = TWO_HOPS, seed: int = 0, **options: object
) -> AlignedSequence:
    chosen = SequenceOptions(**{"effort": "fast", "margin": 0, **options})  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    return AlignedSequence.begin(SCHEMA, params, chosen, world.first, rng)


def audited(sequence: AlignedSequence) -> AlignedRelease:
    """Return the current release as the auditor reads it."""
    released = sequence.released()
    graph = released.graph
    return AlignedRelease(
        release_id=str(sequence.release),
        sequence_id="one",
        params=sequence.params,
        ids=[str(i) for i in released.ids.tolist()],
        categories=graph.categories[:-1],
        codes=graph.codes[:, :-1].astype(np.int64),
        is_sensitive=graph.is_sensitive,
        edges=graph.edges.astype(np.int64),
        owners=[None if key < 0 else key for key in released.keys.tolist()],
        shift=released.shift.astype(np.int64),
        value_at=released.value_at,
    )


def naive_groups(history: list[AlignedReleased]) -> dict[int, set[int]]:
    """Return for every published id who moved with it in all releases, by the shifts alone."""
    together: dict[int, set[int]] = {}
    for released in history:
        ids = released.ids.tolist()
        for v, name in enumerate(ids):
            orbit, image = {name}, int(released.shift[v])
            while image != v:
                orbit.add(ids[image])
                image = int(released.shift[image])
            together[name] = together.get(name, orbit) & orbit
    return together


def assert_safe_together(history: list[AlignedReleased], params: PrivacyParams) -> None:
    """Check the claim by definition: equal presence, size, share ever sensitive, equal changes."""
    presence: defaultdict[int, list[bool]] = defaultdict(list)
    ever: set[int] = set()
    for released in history:
        ids = released.ids.tolist()
        ever |= {ids[v] for v in np.flatnonzero(released.graph.is_sensitive).tolist()}
    everybody = sorted({name for released in history for name in released.ids.tolist()})
    for released in history:
        there = set(released.ids.tolist())
        for name in everybody:
            presence[name].append(name in there)
    for name, group in naive_groups(history).items():
        assert len(group) >= params.k
        assert len(group & ever) <= params.alpha * len(group)
        assert all(presence[name] == presence[other] for other in group)


def test_ties_are_gone_through_as_often_however_many_groups_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each look at some people's ties is a pass over all of them."""
    passes = []
    found = PairTable.rows_around
    monkeypatch.setattr(
        PairTable, "rows_around", lambda *given: passes.append(given) or found(*given)
    )
    counted = []
    for people in (40, 400):
        passes.clear()
        sequence = begun(World(people, 5 * people, 0))
        counted.append((len(passes), len(sequence.state.places.members)))
    (few, groups), (many, more_groups) = counted
    assert more_groups > 4 * groups
    assert few == many


@settings(max_examples=8, deadline=None)
@given(
    seed=some.integers(0, 10_000),
    kinds=some.lists(some.sampled_from(KINDS), min_size=2, max_size=5),
    params=some.sampled_from([TWO_HOPS, INDUCED, dataclasses.replace(PARAMS, n_hops=0)]),
)
def test_streams_stay_safe_and_true(
    seed: int,
    kinds: list[dict[str, int]],
    params: PrivacyParams,
) -> None:
    """Whatever happens: each release is safe, all are together, the truth is kept, pages read."""
    world, rng = World(40, 200, seed), np.random.default_rng(seed)
    sequence = begun(world, params)
    auditor = AlignedAuditor(Promise("all", cover=True), workers=1)
    history = []
    for kind in [{}, *kinds]:
        if kind:
            sequence.advance(world.change(**kind), rng)
        sequence.check()
        history.append(sequence.released())
        shift = history[-1].shift
        assert verify_graph(history[-1].graph, params, certificate=shift).is_safe
        findings = auditor.extend(audited(sequence))
        assert not [v for v in findings.violations if not v.kind.startswith("linked_")]
        truth, keys = sequence.truth()
        assert set(keys.tolist()) == set(world.people)
        assert {tuple(sorted(tie)) for tie in keys[truth.edges].tolist()} == world.ties
        assert_shows_what_is_half_true(history[-1], world)
        twin = AlignedSequence.from_pages(dict(sequence.pages()))
        assert dict(twin.pages()) == dict(sequence.pages())
    assert_safe_together(history, params)


def assert_shows_what_is_half_true(released: AlignedReleased, world: World) -> None:
    """An orbit is shown whole if at least half of its pairs are true ties, else not at all."""
    keys = released.keys.tolist()
    shown = {frozenset(edge) for edge in released.graph.edges.tolist()}
    assert released.shift is not None
    todo = set(map(frozenset, itertools.combinations(range(len(keys)), 2)))
    while todo:
        u, v = todo.pop()
        orbit = set()
        while frozenset((u, v)) not in orbit:
            orbit.add(frozenset((u, v)))
            u, v = int(released.shift[u]), int(released.shift[v])
        todo -= orbit
        true = sum(tuple(sorted(keys[end] for end in pair)) in world.ties for pair in orbit)
        assert orbit & shown == (orbit if 2 * true >= len(orbit) else set())


def test_a_small_release_is_safe_without_the_certificate() -> None:
    """The strict verifier, comparing neighbourhoods two hops wide, agrees with the certificate."""
    for params in (TWO_HOPS, INDUCED):
        world, rng = World(40, 40, 5), np.random.default_rng(1)
        sequence = begun(world, params)
        sequence.advance(world.change(ties=2), rng)
        assert verify_graph(sequence.released().graph, params).is_safe


def test_it_continues_identically_after_recovery() -> None:
    """Read back from its pages, it makes the same releases."""
    world = World(80, 100, 3)
    sequence = begun(world)
    for i in range(5):
        changes = world.change(**KINDS[i])
        twin = AlignedSequence.from_pages(dict(sequence.pages()))
        for each in (twin, sequence):
            each.advance(changes, np.random.default_rng(i))
        assert dict(twin.pages()) == dict(sequence.pages())
        one, other = twin.released(), sequence.released()
        assert np.array_equal(one.graph.edges, other.graph.edges)
        assert np.array_equal(one.shift, other.shift)


def test_ids_stay_and_are_never_given_again() -> None:
    """A place keeps its id while its group is there; nobody else ever gets it."""
    world, rng = World(60, 60, 9), np.random.default_rng(2)
    sequence = begun(world)
    owners: dict[int, set[int]] = defaultdict(set)
    for i in range(10):
        released = sequence.released()
        for name, key in zip(released.ids.tolist(), released.keys.tolist(), strict=True):
            if key >= 0:
                owners[name].add(key)
        sequence.advance(world.change(**KINDS[i % len(KINDS)]), rng)
    assert max(map(len, owners.values())) == 1


def test_a_refused_change_leaves_everything_as_it_was() -> None:
    """Changes that do not fit raise, and the next ones build on the release before."""
    world = World(40, 40, 4)
    sequence = begun(world)
    before = dict(sequence.pages())
    with pytest.raises(InvalidGraph):
        sequence.advance(Changes(ties_added=[[0, 10_000]]), np.random.default_rng(0))
    assert dict(sequence.pages()) == before
    sequence.advance(world.change(ties=2), np.random.default_rng(0))
    sequence.check()


def test_a_group_changes_its_class_when_its_people_agree() -> None:
    """One person's new quasi-identifier is held; that of all of a group is shown, in place."""
    joined = [(key, ("x", "1", "well")) for key in range(6)]
    first = Changes(
        joined=np.arange(6),
        joined_values=[values for _, values in joined],
        ties_added=[[0, 1], [2, 3]],
    )
    options = SequenceOptions(effort="fast", margin=0)
    sequence = AlignedSequence.begin(SCHEMA, TWO_HOPS, options, first, np.random.default_rng(0))
    before = sequence.released()
    cohorts = dict(zip(before.keys.tolist(), sequence.cohorts().tolist(), strict=True))
    together = [key for key in cohorts if cohorts[key] == cohorts[0]]
    for moved, key in enumerate(together, start=1):
        changes = Changes(changed=[key], changed_values=[("y", "1", "well")])
        sequence.advance(changes, np.random.default_rng(1))
        sequence.check()
        held = sequence.figures().held_values
        assert held == (moved if moved < len(together) else 0)
    after = sequence.released()
    assert np.array_equal(after.ids, before.ids)
    shown = after.graph.codes[np.isin(after.keys, together), 0]
    assert {after.graph.categories[0][code] for code in shown.tolist()} == {"y"}
    twin = AlignedSequence.from_pages(dict(sequence.pages()))
    known, again = (each.state.between(each.state.edges) for each in (sequence, twin))
    assert {k: v.tolist() for k, v in known.items()} == {k: v.tolist() for k, v in again.items()}


def test_an_orbit_is_shown_while_at_least_half_of_it_is_true() -> None:
    """One tie of three is hidden, two show all three, and with one of them gone all go."""
    joined = {"joined": np.arange(6), "joined_values": [("x", "1", "well")] * 6}
    options = SequenceOptions(effort="fast", margin=0)
    rng = np.random.default_rng(0)
    sequence = AlignedSequence.begin(SCHEMA, TWO_HOPS, options, Changes(**joined), rng)
    released = sequence.released()
    shift, keys = released.shift, released.keys.tolist()
    assert shift is not None
    images = [0, int(shift[0])]
    other = next(v for v in range(6) if v not in {*images, int(shift[images[1]])})
    ties = [[keys[0], keys[other]], [keys[images[1]], keys[int(shift[other])]]]
    for changes, expected in (
        (Changes(ties_added=[ties[0]]), 0),
        (Changes(ties_added=[ties[1]]), 3),
        (Changes(ties_removed=[ties[0]]), 0),
    ):
        sequence.advance(changes, rng)
        assert sequence.released().graph.n_edges == expected


def test_newcomers_wait_until_a_group_is_full() -> None:
    """Fewer than a group and its margin stay withheld."""
    world = World(0, 0, 1)
    sequence = begun(world, birth_wait_max=2)
    rng = np.random.default_rng(0)
    sequence.advance(Changes(joined=[1], joined_values=[("x", "1", "well")]), rng)
    for _ in range(3):
        assert sequence.released().graph.n_vertices == 0
        sequence.advance(Changes(), rng)


def test_damaged_pages_are_refused() -> None:
    """A page that is missing is told."""
    pages = dict(begun(World(40, 40, 4)).pages())
    pages.pop("places/000000")
    with pytest.raises(SequenceCorrupted):
        AlignedSequence.from_pages(pages)


@pytest.mark.parametrize("harm", ["edge", "class", "ever", "born", "member"])
def test_the_gate_finds_what_breaks_the_guarantee(harm: str) -> None:
    """Each condition of the certificate is looked at."""
    sequence = begun(World(40, 60, 4))
    state, spec = sequence.state, sequence.spec
    sequence.check()
    label = state.places.cohort[state.edges.pairs(state.edges.used()[:1])[0, 0]]
    place = state.places.members[label][0]
    if harm == "edge":
        state.hide(state.edges.used()[:1])
    elif harm == "member":
        state.places.write(place, cohort=99)
    elif harm == "ever":
        state.places.write(state.places.members[label][:2], ever=1)
    else:
        state.places.write(place, **{"class": {"cls": 99}, "born": {"born": 99}}[harm])
    with pytest.raises(NotKTSafe):
        aligned_sequence.check(state, spec, state.places.members)


def test_the_gate_refuses_half_an_orbit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that shows a tie without its orbit does not come to be."""
    world = World(60, 60, 2)
    sequence = begun(world)
    before = dict(sequence.pages())
    monkeypatch.setattr(orbits, "orbits_of", lambda _, pairs: pairs)
    with pytest.raises(NotKTSafe):
        sequence.advance(world.change(ties=5), np.random.default_rng(0))
    assert dict(sequence.pages()) == before


def lose_an_edge(release: AlignedRelease) -> AlignedRelease:
    return dataclasses.replace(release, edges=release.edges[1:])


def another_code(release: AlignedRelease) -> AlignedRelease:
    codes = release.codes.copy()
    codes[0, 0] = 1 - codes[0, 0]
    return dataclasses.replace(release, codes=codes)


def no_permutation(release: AlignedRelease) -> AlignedRelease:
    assert release.shift is not None
    return dataclasses.replace(release, shift=np.zeros_like(release.shift))


def sensitive(release: AlignedRelease) -> AlignedRelease:
    return dataclasses.replace(release, is_sensitive=np.ones_like(release.is_sensitive))


def nobody_moves(release: AlignedRelease) -> AlignedRelease:
    assert release.shift is not None
    return dataclasses.replace(release, shift=np.arange(len(release.shift)))


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        (lose_an_edge, "certificate_broken"),
        (another_code, "certificate_broken"),
        (no_permutation, "certificate_broken"),
        (sensitive, "not_kt_safe"),
        (nobody_moves, "undecided"),
    ],
)
def test_the_auditor_finds_damage(harm: object, kind: str) -> None:
    """Whatever is wrong with the second release is a violation of the right kind."""
    world = World(60, 60, 2)
    sequence = begun(world)
    auditor = AlignedAuditor(Promise("all", cover=True), workers=1)
    assert auditor.extend(audited(sequence)).is_safe
    sequence.advance(world.change(ties=3), np.random.default_rng(0))
    assert auditor.copy().extend(audited(sequence)).is_safe
    findings = auditor.extend(harm(audited(sequence)))  # type: ignore[operator]
    assert kind in {violation.kind for violation in findings.violations}


def test_the_auditor_finds_groups_that_are_not_permanent() -> None:
    """Two releases, each with a symmetry of its own, share no groups: nothing is proven."""
    pairs = [[[0, 1, 2], [3, 4, 5]], [[0, 1, 3], [2, 4, 5]]]
    auditor = AlignedAuditor(Promise("all", cover=False), workers=1)
    found = []
    for i, groups in enumerate(pairs):
        shift = np.zeros(6, dtype=np.int64)
        for group in groups:
            shift[group] = np.roll(group, -1)
        release = AlignedRelease(
            release_id=str(i),
            sequence_id="one",
            params=TWO_HOPS,
            ids=list("abcdef"),
            categories=[["x"], ["1"]],
            codes=np.zeros((6, 2), dtype=np.int64),
            is_sensitive=np.zeros(6, dtype=np.bool_),
            edges=np.zeros((0, 2), dtype=np.int64),
            shift=shift,
        )
        found.append({violation.kind for violation in auditor.extend(release).violations})
    assert found == [set(), {"undecided"}]


def test_the_auditor_needs_the_certificate() -> None:
    """Beyond stars nothing is judged without it, and nothing by the auditor of stars."""
    release = audited(begun(World(40, 40, 2)))
    fields = {name: value for name, value in vars(release).items() if name not in {"shift", "ties"}}
    with pytest.raises(InvalidParams, match="certificates"):
        AlignedAuditor().extend(AuditedRelease(**fields))
    with pytest.raises(InvalidParams, match="ktsafe-lab"):
        SequenceAuditor().extend(release)


def test_whole_groups_change_alike() -> None:
    """The auditor counts from the bytes how many changed alike: at least k."""
    world = World(60, 60, 2)
    sequence = begun(world)
    auditor = AlignedAuditor(Promise("all", cover=True), workers=1)
    auditor.extend(audited(sequence))
    sequence.advance(world.change(ties=4), np.random.default_rng(0))
    changes = auditor.extend(audited(sequence)).figures.changes.k_delta
    assert changes.vertices > 0
    assert changes.min >= PARAMS.k
