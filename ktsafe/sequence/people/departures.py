"""Departures: a counterfeit keeps the place, and cohorts that lose their people are retired."""

from __future__ import annotations

from ktsafe.sequence.memory.paged_table import NOBODY
from ktsafe.sequence.people.blocks import harmless_codes
from ktsafe.sequence.people.frame import Draft
from ktsafe.sequence.people.sensitive_updates import is_kept_missing


def depart(draft: Draft, row: int) -> int | None:
    """Remove a person; return the cohort of the place that a counterfeit keeps, None if withheld.

    The counterfeit shows its cohort's reserve value; its edges are residual until dropped.
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
    label = state.places.cohort[place]
    if not is_kept_missing(draft, place):
        state.places.publish_sensitive(place, _reserve_value(draft, label), is_sensitive=False)
    state.count("counterfeits")
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


def _reserve_value(draft: Draft, label: int) -> int:
    """Return the harmless value that most members show, the least code of several."""
    shown: dict[int, int] = {}
    for place in draft.state.places.members[label]:
        code = draft.state.places.sensitive[place]
        if not draft.is_sensitive(code):
            shown[code] = shown.get(code, 0) + 1
    if not shown:
        return harmless_codes(draft)[0]
    return min(shown, key=lambda code: (-shown[code], code))
