"""Departures: a counterfeit keeps the place, and cohorts that lose their people are retired."""

from __future__ import annotations

from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.tables import NOBODY
from ktsafe.sequence.people.blocks import harmless_codes
from ktsafe.sequence.people.frame import Frame
from ktsafe.sequence.people.sensitive_updates import is_kept_missing


def depart(state: State, frame: Frame, row: int) -> int | None:
    """Remove a person; return the cohort of the place that a counterfeit keeps, None if withheld.

    The counterfeit shows its cohort's reserve value; its edges are residual until dropped.
    """
    label = None
    if state.place(row) != NOBODY:
        label = leave_place(state, frame, row)
    state.remove_person(row)
    return label


def leave_place(state: State, frame: Frame, row: int) -> int:
    """Let a counterfeit keep a person's place, the person be withheld; return the cohort."""
    place = state.vacate(row)
    label = state.cohort(place)
    if not is_kept_missing(state, frame, place):
        state.publish_sensitive(place, _reserve_value(state, frame, label), is_sensitive=False)
    state.count("counterfeits")
    return label


def retire_hollow(state: State, frame: Frame, options: SequenceOptions, labels: set[int]) -> None:
    """Withhold the last people of cohorts with fewer than the floor, to be published anew."""
    floor = options.real_floor
    if floor is None:
        return
    for label in sorted(labels):
        owners = [state.places.owner[place] for place in state.members[label]]
        people = [owner for owner in owners if owner != NOBODY]
        if 0 < len(people) < floor:
            for row in people:
                leave_place(state, frame, row)
            state.count("cohorts_retired")


def _reserve_value(state: State, frame: Frame, label: int) -> int:
    """Return the harmless value that most members show, the least code of several."""
    shown: dict[int, int] = {}
    for place in state.members[label]:
        code = state.places.sensitive[place]
        if not frame.is_sensitive(state.categories[-1][code]):
            shown[code] = shown.get(code, 0) + 1
    if not shown:
        return harmless_codes(state, frame)[0]
    return min(shown, key=lambda code: (-shown[code], code))
