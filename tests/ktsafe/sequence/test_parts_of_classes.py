"""A network of one class: its releases keep edges, and nobody sees that the class has parts."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe.audit.sequence import Promise, SequenceAuditor
from ktsafe.sequence import Changes, SequenceEngine
from tests.ktsafe.sequence.test_audited import audited
from tests.ktsafe.sequence.world import World

PEOPLE = 200


class OneClass(World):
    """All have the same quasi-identifiers, until they move."""

    def newcomer(self) -> int:
        key = super().newcomer()
        self.people[key] = ("x", "1", self.people[key][2])
        return key


def parts_of(sequence: SequenceEngine) -> dict[int, int]:
    """Return the class of each person by key."""
    people = sequence.state.people
    rows = people.used()
    return dict(zip(people.key[rows].tolist(), people.cls[rows].tolist(), strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_no_release_loses_most_of_its_edges(seed: int) -> None:
    """Over more than a turn of renewals; the auditor confirms each release."""
    world, rng = OneClass(PEOPLE, 1500, seed), np.random.default_rng(seed)
    sequence = world.begin(max_age=4)
    auditor = SequenceAuditor(Promise("all", cover=True), workers=1)
    assert auditor.extend(audited(sequence)).is_safe
    was_dark = False
    for _ in range(8):
        shown = sequence.released().graph.n_edges
        sequence.advance(world.change(ties=5, joins=3, leaves=1), rng)
        released = sequence.released()
        assert released.graph.n_edges > 0.4 * len(world.ties)
        was_dark |= released.graph.n_edges < 0.9 * shown
        assert auditor.extend(audited(sequence)).is_safe
        # Readers are told of one pair of classes, as old as the oldest that it shows.
        assert len(released.planned) == 1
        assert not released.dark
        shows = sequence.state.between(sequence.state.edges)
        ages = [at for pair, at in sequence.state.current.planned.items() if pair in shows]
        assert released.planned[0].release == min(ages)
    assert was_dark


def test_parts_are_halves_and_newcomers_join_both() -> None:
    """They are drawn, whoever came first, and saved with the sequence."""
    world, rng = OneClass(PEOPLE, 1500, 0), np.random.default_rng(0)
    sequence = world.begin()
    first = parts_of(sequence)
    assert np.bincount(list(first.values())).tolist() == [PEOPLE // 2, PEOPLE // 2]
    assert 0.3 < np.mean([first[key] for key in range(PEOPLE // 2)]) < 0.7
    sequence = SequenceEngine.from_pages(dict(sequence.pages()))
    sequence.advance(world.change(joins=40), rng)
    newcomers = [part for key, part in parts_of(sequence).items() if key not in first]
    assert min(np.bincount(newcomers, minlength=2)) > 8
    assert {key: parts_of(sequence)[key] for key in first} == first


def test_who_returns_to_a_class_finds_the_own_part() -> None:
    """Otherwise a place of the right class would wait to be left for the other part."""
    world, rng = OneClass(PEOPLE, 1500, 0), np.random.default_rng(0)
    sequence = world.begin()
    first = parts_of(sequence)
    for a in "yx":
        some = range(0, PEOPLE, 5)
        values = [(a, "1", world.people[key][2]) for key in some]
        sequence.advance(Changes(changed=np.array(some), changed_values=values), rng)
        changed = {key: part for key, part in parts_of(sequence).items() if first[key] != part}
        assert set(changed) == (set(some) if a == "y" else set())


class AcrossClasses(World):
    """All ties are between a class and a smaller one."""

    def newcomer(self) -> int:
        key = super().newcomer()
        self.people[key] = ("xxy"[key % 3], "1", self.people[key][2])
        return key

    def _add_ties(self, count: int) -> None:
        for u, v in (3 * self.rng.integers(PEOPLE // 3, size=(count, 2))).tolist():
            self.ties.add((min(u, v + 2), max(u, v + 2)))


def test_of_two_classes_the_larger_has_parts() -> None:
    """Ties between the two are the most."""
    parts = parts_of(AcrossClasses(PEOPLE, 1000, 0).begin())
    assert sorted(np.bincount([*parts.values()]).tolist()) == [66, 67, 67]


@pytest.mark.parametrize(("people", "ties"), [(60, 500), (PEOPLE, 0)])
def test_small_and_empty_networks_have_no_parts(people: int, ties: int) -> None:
    """Newcomers of few would wait longer, and without ties nothing goes dark."""
    sequence = OneClass(people, ties, 0).begin()
    assert set(parts_of(sequence).values()) == {0}


def test_a_network_of_several_classes_has_no_parts() -> None:
    """No pair of the four holds half of the ties."""
    sequence = World(4 * PEOPLE, 3000, 0).begin()
    assert not sequence.state.codes.second
