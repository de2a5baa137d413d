"""Departures: a counterfeit keeps the place, and cohorts that lose their people are retired.

Nothing that is shown of a place changes because its owner left: it keeps its values for as long as
its cohort is published, and its edges until the pair of classes that they belong to is planned
anew, when all members of a cohort gain and lose alike. Why: decision 36.
"""

from __future__ import annotations

from ktsafe.sequence.memory.paged_table import NOBODY
from ktsafe.sequence.people.frame import Draft


def depart(draft: Draft, row: int) -> int | None:
    """Remove a person; return the cohort of the place that a counterfeit keeps, None if withheld.

    The counterfeit shows what the person's place showed; its edges are residual until dropped.
    """
    label = None
    if draft.state.people.place[row] != NOBODY:
        label = leave_place(draft, row)
    draft.state.remove_person(row)
    return label


def leave_place(draft: Draft, row: int) -> int:
    """Let a counterfeit keep a person's place, the person be withheld; return the cohort."""
    state = draft.state
    place = state.vacate(row)
    state.count("counterfeits")
    label: int = state.places.cohort[place]
    return label


def retire_hollow(draft: Draft, labels: set[int]) -> None:
    """Withhold the last people of cohorts with fewer than the floor, to be published anew."""
    state = draft.state
    floor = draft.frame.options.real_floor
    if floor is None:
        return
    for label in sorted(labels):
        people = state.places.owners(label)
        if 0 < len(people) < floor:
            for row in people:
                leave_place(draft, row)
            state.count("cohorts_retired")
