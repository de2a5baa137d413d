"""What is special in a release of permanent groups: ties are shown with their whole orbits."""

from __future__ import annotations

from collections.abc import Iterable

from ktsafe.errors import NotKTSafe
from ktsafe.sequence.aligned.groups import publish_ready
from ktsafe.sequence.aligned.orbits import following, show_what_is_half_true
from ktsafe.sequence.gate.cohort_certificate import is_one
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.frame import Draft, Frame
from ktsafe.sequence.step import Recipe


def move_agreed(draft: Draft) -> set[int]:
    """Publish another class of a group whose people have all changed to that one; nobody leaves.

    All places of the group change alike, in place; nobody's neighbourhood loses its symmetry.
    """
    state = draft.state
    places, people = state.places, state.people
    for label in sorted({places.cohort[people.place[row]] for row in people.differing}):
        rows = places.owners(label)
        classes = {people.cls[row] for row in rows}
        if len(classes) == 1:
            state.move_cohort(label, classes.pop())
            people.differing.difference_update(rows)
            state.count("groups_moved")
    return set()


def check(state: State, frame: Frame, labels: Iterable[int]) -> None:
    """Check that groups are as permanent, as large and as symmetric as the guarantee needs.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold for one of them.
    """
    params, places, adjacent = frame.params, state.places, state.edges.adjacent
    for label in sorted(labels):
        members = places.members.get(label)
        if not members:
            continue
        if len(members) != frame.forming.group_size_min:
            raise NotKTSafe("A group has too few places or too many.")
        if not (is_one(places.born[members]) and is_one(places.cls[members])):
            raise NotKTSafe("The places of a group differ in age or class.")
        ever = int(places.ever[members].sum())
        if ever * params.alpha.denominator > len(members) * params.alpha.numerator:
            raise NotKTSafe("A group has too many sensitive members.")
        for place in members:
            turned = {following(state, other) for other in adjacent[place]}
            if turned != adjacent[following(state, place)].keys():
                raise NotKTSafe("The shift takes an edge to a pair without one.")


ALIGNED = Recipe(move_agreed, publish_ready, show_what_is_half_true, check)
"""Permanent groups, all turned by one shift that takes every release to itself."""
