"""Changes of a quasi-identifier: a person's old one stays published until a group moves."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.sequence.people.births import under_alpha
from ktsafe.sequence.people.blocks import publish_block
from ktsafe.sequence.people.departures import leave_places
from ktsafe.sequence.people.frame import Draft


def rebirth(draft: Draft) -> set[int]:
    """Let everybody whose class changed leave at once, to wait among the newcomers."""
    state = draft.state
    rows = state.people.differing(state.places)
    if len(rows):
        state.count("rebirths", len(rows))
    return leave_places(draft, rows)


def move_groups(draft: Draft) -> set[int]:
    """Publish groups anew that may move to a new class; return the cohorts that were left.

    At least m members of one cohort move to one class together and become one cohort there: an
    attacker who links both lives still finds the whole group.
    """
    state = draft.state
    left: set[int] = set()
    groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    rows = state.people.differing(state.places)
    labels = state.places.cohort[state.people.place[rows]].tolist()
    targets = state.people.cls[rows].tolist()
    for label, target, row in zip(labels, targets, rows.tolist(), strict=True):
        groups[label, target].append(row)
    for _, rows_of_group in sorted(groups.items()):
        movers = under_alpha(draft, rows_of_group)
        if len(movers) < draft.frame.params.group_size_min:
            continue
        moved = np.array(movers, dtype=np.int64)
        left |= leave_places(draft, moved)
        publish_block(draft, moved, together=True)
        state.count("groups_moved")
    return left
