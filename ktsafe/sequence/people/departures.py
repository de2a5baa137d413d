"""Places that are left, by departure or a changed quasi-identifier.

Nothing that is shown of a place changes because its owner left: it keeps its values for as long as
its cohort is published, and its edges until the pair of classes that they belong to is planned
anew, when all members of a cohort gain and lose alike. Why: decision 36. The quasi-identifier of a
person with the change stays published until a group moves.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.people.births import under_alpha
from ktsafe.sequence.people.new_cohorts import publish_block
from ktsafe.sequence.people.step_context import StepContext


def depart(context: StepContext, rows: NDArray[np.int64]) -> set[int]:
    """Remove people; return the cohorts of the places that counterfeits keep.

    A counterfeit shows what the person's place showed; its edges are residual until dropped.
    """
    left = leave_places(context, rows[context.state.people.place[rows] != NOBODY])
    context.state.remove_people(rows)
    return left


def leave_places(context: StepContext, rows: NDArray[np.int64]) -> set[int]:
    """Let counterfeits keep people's places, the people be withheld; return the cohorts."""
    state = context.state
    if not len(rows):
        return set()
    places = state.vacate(rows)
    state.count("counterfeits", len(rows))
    return set(state.places.cohort[places].tolist())


def move_groups(context: StepContext) -> set[int]:
    """Publish groups anew that may move to a new class.

    Return the cohorts that were left.

    At least m members of one cohort move to one class together and become one cohort there: an
    attacker that links both lives still finds the whole group. Where cohorts have a margin those
    who move begin with it, and at least m people stay; or nobody does.
    """
    state = context.state
    left: set[int] = set()
    groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    rows = state.people.differing(state.places)
    labels = state.places.cohort[state.people.place[rows]].tolist()
    targets = state.people.cls[rows].tolist()
    for label, target, row in zip(labels, targets, rows.tolist(), strict=True):
        groups[label, target].append(row)
    for (label, _), rows_of_group in sorted(groups.items()):
        movers = under_alpha(context, rows_of_group)
        if not _may_move(context, len(movers), len(state.places.owners([label])) - len(movers)):
            continue
        moved = np.array(movers, dtype=np.int64)
        left |= leave_places(context, moved)
        publish_block(context, moved, together=True)
        state.count("groups_moved")
    return left


def _may_move(context: StepContext, n_movers: int, n_staying: int) -> bool:
    """Whether so many may leave a cohort in which so many stay."""
    spec = context.spec
    m = spec.params.group_size_min
    if not n_staying or not spec.margin:
        return n_movers >= m
    return n_movers >= spec.forming.k and n_staying >= m
