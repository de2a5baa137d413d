"""Changes of a quasi-identifier: a person's old one stays published until a group moves."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.tables import NOBODY
from ktsafe.sequence.people.births import under_alpha
from ktsafe.sequence.people.blocks import publish_block
from ktsafe.sequence.people.departures import leave_place
from ktsafe.sequence.people.frame import Frame


def note_class(state: State, row: int, cls: int) -> None:
    """Record a person's true class."""
    state.people.cls[row] = cls
    place = state.place(row)
    if place != NOBODY and state.cls(place) != cls:
        state.differing.add(row)
    else:
        state.differing.discard(row)


def move_groups(
    state: State, frame: Frame, options: SequenceOptions, rng: np.random.Generator
) -> set[int]:
    """Publish anew who may move to a new class; return the cohorts that were left.

    With "hold", groups of at least m members of one cohort move to one class together and become
    one cohort there: whoever links both lives still finds the whole group. With "rebirth",
    everybody leaves at once and waits among the newcomers.
    """
    left: set[int] = set()
    if options.qi_change == "rebirth":
        for row in sorted(state.differing):
            left.add(leave_place(state, frame, row))
            state.count("rebirths")
        return left
    groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for row in sorted(state.differing):
        target = state.people.cls[row]
        groups[state.cohort(state.place(row)), target].append(row)
    for (label, _), rows in sorted(groups.items()):
        movers = under_alpha(state, frame, rows, rng)
        if len(movers) < frame.params.group_size_min:
            continue
        for row in movers:
            leave_place(state, frame, row)
        publish_block(state, frame, np.array(movers, dtype=np.int64), rng, together=True)
        left.add(label)
        state.count("groups_moved")
    return left
