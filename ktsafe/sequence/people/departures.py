"""Departures: a counterfeit keeps the place, and cohorts that lose their people are retired.

Nothing that is shown of a place changes because its owner left: it keeps its values for as long as
its cohort is published, and its edges until the pair of classes that they belong to is planned
anew, when all members of a cohort gain and lose alike. Why: decision 36.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.people.frame import Draft


def depart(draft: Draft, rows: NDArray[np.int64]) -> set[int]:
    """Remove people; return the cohorts of the places that counterfeits keep.

    A counterfeit shows what the person's place showed; its edges are residual until dropped.
    """
    left = leave_places(draft, rows[draft.state.people.place[rows] != NOBODY])
    draft.state.remove_people(rows)
    return left


def leave_places(draft: Draft, rows: NDArray[np.int64]) -> set[int]:
    """Let counterfeits keep people's places, the people be withheld; return the cohorts."""
    state = draft.state
    if not len(rows):
        return set()
    places = state.vacate(rows)
    state.count("counterfeits", len(rows))
    return set(state.places.cohort[places].tolist())


def retire_hollow(draft: Draft, labels: set[int]) -> None:
    """Withhold the last people of cohorts with fewer than the floor, to be published anew."""
    state = draft.state
    floor = draft.frame.options.real_floor
    if floor is None:
        return
    people = {label: state.places.owners([label]) for label in sorted(labels)}
    hollow = [label for label, rows in people.items() if 0 < len(rows) < floor]
    if hollow:
        leave_places(draft, state.places.owners(hollow))
        state.count("cohorts_retired", len(hollow))
