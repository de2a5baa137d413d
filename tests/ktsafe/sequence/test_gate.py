"""The gate by itself: a state that is good but for one thing is refused, whatever the thing."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from ktsafe.errors import NotKTSafe
from ktsafe.sequence import SequenceEngine, gate
from ktsafe.sequence.memory.state import State
from tests.graphs import ALPHAS
from tests.ktsafe.sequence.world import PARAMS, World


def made() -> SequenceEngine:
    """Return a sequence of two releases."""
    world = World(80, 120, 4, sensitive=0.0)
    sequence = world.begin()
    sequence.advance(world.change(ties=4, joins=8), np.random.default_rng(0))
    sequence.check()
    return sequence


def parted(state: State, label: int) -> None:
    """Let a cohort have fewer members than it must."""
    members = state.places.members[label]
    state.places.write(members[PARAMS.group_size_min - 1 :], cohort=10**6)


def of_other_ages(state: State, label: int) -> None:
    """Let one member be published later than the rest."""
    member = state.places.members[label][-1:]
    state.places.write(member, born=state.places.born[member] + 1)


def of_other_classes(state: State, label: int) -> None:
    """Let one member show other quasi-identifiers."""
    member = state.places.members[label][-1:]
    state.places.write(member, cls=(state.places.cls[member] + 1) % len(state.codes.classes))


def lacking_an_edge(state: State, label: int) -> None:
    """Let one member have a neighbour less."""
    state.hide(state.edges.rows_around(state.places.members[label][-1:])[:1])


def ever_sensitive(state: State, label: int) -> None:
    """Let one member more than alpha allows have been sensitive once."""
    members = state.places.members[label]
    state.places.write(members[: int(PARAMS.alpha * len(members)) + 1], ever=1)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (parted, "too few"),
        (ever_sensitive, "too many sensitive"),
        (of_other_ages, "published together"),
        (of_other_classes, "differ in class"),
        (lacking_an_edge, "one location"),
    ],
)
@pytest.mark.parametrize("is_all", [False, True])
def test_one_thing_that_is_wrong_is_refused(broken, why: str, is_all: bool) -> None:
    """Of the first cohort, the last and one between, asked for alone and with all others."""
    labels = sorted(made().state.places.members)
    for label in (labels[0], labels[len(labels) // 2], labels[-1]):
        sequence = made()
        state = sequence.state
        if broken is lacking_an_edge and not len(state.edges.around(state.places.members[label])):
            continue
        broken(state, label)
        with pytest.raises(NotKTSafe, match=why):
            gate.check(state, sequence.spec, labels if is_all else [label])


@pytest.mark.parametrize("alpha", ALPHAS[2:-1])
def test_as_many_sensitive_members_as_alpha_allows_pass(alpha: Fraction) -> None:
    """And not one more, in a cohort of any size."""
    sequence = made()
    state = sequence.state
    spec = dataclasses.replace(sequence.spec, params=dataclasses.replace(PARAMS, alpha=alpha))
    sizes = set()
    for label, members in state.places.members.items():
        for n_ever in range(len(members) + 1):
            state.places.write(members, ever=0)
            state.places.write(members[:n_ever], ever=1)
            if n_ever <= alpha * len(members):
                gate.check(state, spec, [label])
            else:
                with pytest.raises(NotKTSafe, match="too many sensitive"):
                    gate.check(state, spec, [label])
        state.places.write(members, ever=0)
        sizes.add(len(members))
    assert len(sizes) > 1


def test_cohorts_that_are_gone_are_not_asked_about() -> None:
    """No labels, or unknown ones, are no fault."""
    sequence = made()
    gate.check(sequence.state, sequence.spec, [])
    gate.check(sequence.state, sequence.spec, [10**6])
