"""Changes of a quasi-identifier: a person's old one stays published until a group moves."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.sequence.memory.paged_table import NOBODY
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.births import under_alpha
from ktsafe.sequence.people.blocks import publish_block
from ktsafe.sequence.people.departures import leave_place
from ktsafe.sequence.people.frame import Draft


def note_class(state: State, row: int, cls: int) -> None:
    """Record a person's true class."""
    state.people.cls[row] = cls
    state.current.moved.update((row, *state.held.of[row]))
    place = state.people.place[row]
    if place != NOBODY and state.places.cls[place] != cls:
        state.people.differing.add(row)
    else:
        state.people.differing.discard(row)


def rebirth(draft: Draft) -> set[int]:
    """Let everybody whose class changed leave at once, to wait among the newcomers."""
    left = set()
    for row in sorted(draft.state.people.differing):
        left.add(leave_place(draft, row))
        draft.state.count("rebirths")
    return left


def move_groups(draft: Draft) -> set[int]:
    """Publish groups anew that may move to a new class; return the cohorts that were left.

    At least m members of one cohort move to one class together and become one cohort there: an
    attacker who links both lives still finds the whole group.
    """
    state = draft.state
    left: set[int] = set()
    groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for row in sorted(state.people.differing):
        target = state.people.cls[row]
        groups[state.places.cohort[state.people.place[row]], target].append(row)
    for (label, _), rows in sorted(groups.items()):
        movers = under_alpha(draft, rows)
        if len(movers) < draft.frame.params.group_size_min:
            continue
        for row in movers:
            leave_place(draft, row)
        publish_block(draft, np.array(movers, dtype=np.int64), together=True)
        left.add(label)
        state.count("groups_moved")
    return left
