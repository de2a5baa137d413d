"""One release of permanent groups: changes are applied, then shown with their whole orbits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ktsafe.errors import NotKTSafe
from ktsafe.sequence.aligned.groups import publish_ready
from ktsafe.sequence.aligned.orbits import following, show_what_is_half_true
from ktsafe.sequence.gate import cover
from ktsafe.sequence.gate.cohort_certificate import is_one
from ktsafe.sequence.memory.graph_changes import Changes
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.tables import NOBODY
from ktsafe.sequence.people.departures import leave_place, retire_hollow
from ktsafe.sequence.people.frame import Frame
from ktsafe.sequence.step import Visible, apply, visible_edges


def make_release(
    state: State,
    frame: Frame,
    options: SequenceOptions,
    changes: Changes,
    rng: np.random.Generator,
) -> Visible:
    """Turn the current release into the next one; return what is visibly different.

    Raises
    ------
    InvalidGraph
        If the changes do not fit the true graph.
    NotKTSafe
        If the certificate does not hold in the end.
    """
    # Step 1: the true graph.
    left = apply(state, frame, changes, rng)
    # Step 2: people. Former places stay as counterfeits; whole groups appear.
    if options.qi_change == "rebirth":
        left |= _reborn(state, frame)
    retire_hollow(state, frame, options, left)
    publish_ready(state, frame, options, rng)
    # Step 3: ties.
    move_agreed(state)
    show_what_is_half_true(state)
    # Step 4: the gate.
    check(state, frame, state.touched)
    cover.check_cover(state)
    gained, lost = visible_edges(state)
    return Visible(gained, lost, np.array(sorted(_remove_deserted(state, left)), dtype=np.int64))


def move_agreed(state: State) -> None:
    """Publish another class of a group whose people have all changed to that one.

    All places of the group change alike, in place; nobody's neighbourhood loses its symmetry.
    """
    for label in sorted({state.cohort(state.place(row)) for row in state.differing}):
        people = _people(state, label)
        classes = {state.people.cls[row] for row in people}
        if len(classes) == 1:
            _publish_class(state, label, classes.pop())
            state.differing.difference_update(people)
            state.count("groups_moved")


def check(state: State, frame: Frame, labels: Iterable[int]) -> None:
    """Check that groups are as permanent, as large and as symmetric as the guarantee needs.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold for one of them.
    """
    params = frame.params
    for label in sorted(labels):
        members = state.members.get(label)
        if not members:
            continue
        if len(members) != frame.forming.group_size_min:
            raise NotKTSafe("A group has too few places or too many.")
        if not (is_one(state.places.born[members]) and is_one(state.places.cls[members])):
            raise NotKTSafe("The places of a group differ in age or class.")
        ever = int(state.places.ever[members].sum())
        if ever * params.alpha.denominator > len(members) * params.alpha.numerator:
            raise NotKTSafe("A group has too many sensitive members.")
        for place in members:
            turned = {following(state, other) for other in state.adjacent[place]}
            if turned != state.adjacent[following(state, place)].keys():
                raise NotKTSafe("The shift takes an edge to a pair without one.")


def _reborn(state: State, frame: Frame) -> set[int]:
    """Let everybody whose class changed leave, to be published anew; return the groups left."""
    left = set()
    for row in sorted(state.differing):
        left.add(leave_place(state, frame, row))
        state.count("rebirths")
    return left


def _people(state: State, label: int) -> list[int]:
    """Return the rows of the people of a group."""
    owners = [state.places.owner[place] for place in state.members[label]]
    return [row for row in owners if row != NOBODY]


def _publish_class(state: State, label: int, cls: int) -> None:
    members = state.members[label]
    edges = np.array(
        sorted({row for place in members for row in state.adjacent[place].values()}), dtype=np.int64
    )
    for row in edges.tolist():
        classes = state.class_pair(*state.edges.pair(row))
        state.between[classes].discard(row)
        state.n_inserted[classes] -= not state.is_true(row)
    state.cohorts_of[state.cls(members[0])].discard(label)
    for place in members:
        state.places.cls[place] = cls
        state.cls_of[place] = cls
    state.cohorts_of[cls].add(label)
    state.index_edges(edges)
    state.touched.add(label)


def _remove_deserted(state: State, left: set[int]) -> list[int]:
    """Remove the groups without people, of those that some left; return their published ids.

    No tie of theirs is true, so they have no edges.
    """
    gone: list[int] = []
    for label in sorted(left):
        if not _people(state, label):
            gone += state.remove_cohort(label)
    return gone
