"""A sequence that stays safe at any radius if releases are linked.

Everybody has a place in a group of m places, for ever; the places of a group appear together, in
one class. Every release is mapped onto itself by the same shift of all groups, so the members of a
group cannot be told apart by the whole history of the graph: every protection set of every
release is a union of groups, and so is every intersection of them. Of each group at most the
share alpha was ever published as sensitive. And whatever a member visibly gains or loses, all
members of its group gain or lose in the same release.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import NotKTSafe
from ktsafe.sequence import Changes, Released, SequenceEngine
from ktsafe.sequence.gate import check_cover, checked_members
from ktsafe.sequence.memory.column_table import NOBODY, distinct
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.sensitive_updates import exchange_values
from ktsafe.sequence.step import Step, apply, finished, show_values
from ktsafe.sequence.step_context import SequenceSpec, StepContext
from ktsafe_lab.aligned_sequence.groups import publish_ready
from ktsafe_lab.aligned_sequence.orbits import following, shift_of, show_what_is_half_true


def move_agreed(context: StepContext) -> set[int]:
    """Publish the class to which all people of a group have changed.

    No place is left by that.

    All places of the group change alike, in place; nobody's neighbourhood loses its symmetry.
    """
    state = context.state
    places, people = state.places, state.people
    differing = people.differing(places)
    for label in distinct(places.cohort[people.place[differing]]).tolist():
        classes = distinct(people.cls[places.owners([label])]).tolist()
        if len(classes) == 1:
            places.write(places.members[label], cls=classes[0])
            state.current.touched.add(label)
            state.count("groups_moved")
    return set()


def check(state: State, spec: SequenceSpec, labels: Iterable[int]) -> None:
    """Check that groups are permanent, large and symmetric enough.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold for one of them.
    """
    groups = checked_members(state, spec, labels)
    if any(len(members) != spec.forming.group_size_min for members in groups):
        raise NotKTSafe("A group has too few places or too many.")
    here = np.concatenate([np.zeros(0, dtype=np.int64), *groups])
    position, others, _ = state.edges.around(here)
    # As many places of a group have as many edges: if each goes to one, all are gone to.
    shifted = following(state, np.column_stack((here[position], others)))
    if (state.edges.rows_of(shifted) == NOBODY).any():
        raise NotKTSafe("The shift takes an edge to a pair without one.")


@dataclasses.dataclass(frozen=True, eq=False)
class AlignedReleased(Released):
    """A release with its certificate.

    Attributes
    ----------
    shift:
        int32, shape (n,): an automorphism of the graph, private.
    """

    shift: NDArray[np.int32] = dataclasses.field(kw_only=True)


def make_release(context: StepContext, changes: Changes) -> Step:
    """Make the next release of permanent groups, as `ktsafe.sequence.step.make_release` does."""
    state = context.state
    first_born, first_group = state.places.n, state.n_cohorts
    left = apply(context, changes) | move_agreed(context)
    show_values(context, changes)
    publish_ready(context)
    exchange_values(context, first_group)
    show_what_is_half_true(context)
    check(state, context.spec, state.current.touched)
    check_cover(state)
    return finished(state, first_born, left)


class AlignedSequence(SequenceEngine):
    """The current release of permanent groups, and its successor's input.

    Another quasi-identifier is shown once all people of a group have changed to it.
    """

    def advance(
        self, changes: Changes, rng: np.random.Generator, executor: Executor | None = None
    ) -> Step:
        """Make the next release; if that raises, everything is as it was."""
        after = self.state.following()
        step = make_release(StepContext(after, self.spec, rng, executor), changes)
        self.state = after
        return step

    def check(self) -> None:
        """Check all groups; a whole scan."""
        check(self.state, self.spec, self.state.places.members)

    def released(self) -> AlignedReleased:
        """Return the current release with its shift; a whole scan."""
        shift = shift_of(self.state, self._order())
        return AlignedReleased(**vars(super().released()), shift=shift)
