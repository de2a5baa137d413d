"""What is special in a release of permanent groups: ties are shown with their whole orbits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ktsafe.errors import NotKTSafe
from ktsafe.sequence.aligned.groups import publish_ready
from ktsafe.sequence.aligned.orbits import following, show_what_is_half_true
from ktsafe.sequence.gate.cohort_certificate import is_one
from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.memory.sorted_numbers import distinct
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.frame import Draft, Frame
from ktsafe.sequence.step import Recipe


def move_agreed(draft: Draft) -> set[int]:
    """Publish another class of a group whose people have all changed to that one; nobody leaves.

    All places of the group change alike, in place; nobody's neighbourhood loses its symmetry.
    """
    state = draft.state
    places, people = state.places, state.people
    differing = people.differing(places)
    for label in distinct(places.cohort[people.place[differing]]).tolist():
        classes = distinct(people.cls[places.owners([label])]).tolist()
        if len(classes) == 1:
            state.move_cohort(label, *classes)
            state.count("groups_moved")
    return set()


def check(state: State, frame: Frame, labels: Iterable[int]) -> None:
    """Check that groups are as permanent, as large and as symmetric as the guarantee needs.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold for one of them.
    """
    params, places = frame.params, state.places
    known = places.members
    cohorts = [known[label] for label in sorted(labels) if label in known]
    for members in cohorts:
        if len(members) != frame.forming.group_size_min:
            raise NotKTSafe("A group has too few places or too many.")
        if not (is_one(places.born[members]) and is_one(places.cls[members])):
            raise NotKTSafe("The places of a group differ in age or class.")
        ever = int(places.ever[members].sum())
        if ever * params.alpha.denominator > len(members) * params.alpha.numerator:
            raise NotKTSafe("A group has too many sensitive members.")
    here = np.concatenate([np.zeros(0, dtype=np.int64), *cohorts])
    position, others, _ = state.edges.around(here)
    # As many places of a group have as many edges: if each goes to one, all are gone to.
    turned = following(state, np.column_stack((here[position], others)))
    if (state.edges.rows_of(turned) == NOBODY).any():
        raise NotKTSafe("The shift takes an edge to a pair without one.")


ALIGNED = Recipe(move_agreed, publish_ready, show_what_is_half_true, check)
"""Permanent groups, all turned by one shift that takes every release to itself."""
