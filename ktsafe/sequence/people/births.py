"""Births: newcomers wait, then are published together in a block.

Cohorts never change. So after the first release a class is first shown when it can be told who goes
with whom: when its people would be near to the medians of their cohorts, or have waited for
`birth_wait_max` releases. Later newcomers wait for one another only.
"""

from __future__ import annotations

from itertools import compress

import numpy as np

from ktsafe.sequence.memory.column_table import distinct
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.new_cohorts import in_classes, neighbour_counts, publish_block
from ktsafe.sequence.people.step_context import StepContext

COHORTS_MIN = 2
"""Cohorts that newcomers of a class must be enough for: then their composition can be chosen."""

SMALL_PART = 8
"""Newcomers of a class that are at most this part of its published places need be enough for one
cohort only: where they fit badly, that is little of it."""

APART_MAX = 0.7
"""Share of the ties of newcomers by which they may differ from the medians of their cohorts. With 1
nothing of them could be shown."""

SLOTS_MIN = 2
"""Releases over which the newcomers of a group must have come: one flood of accounts is none."""


def publish_ready(context: StepContext) -> None:
    """Publish newcomers of classes with enough, at random under alpha."""
    _grow_tree(context)
    ready: list[int] = []
    for rows in waiting(context.state):
        ready += _ready(context, rows)
    if ready:
        order = np.array(ready, dtype=np.int64)[context.rng.permutation(len(ready))]
        publish_block(context, order)


def waiting(state: State) -> list[list[int]]:
    """Return the rows of unpublished people, a list for each class."""
    return [people.tolist() for _, people in in_classes(state, state.people.withheld())]


def come_apart(state: State, rows: list[int]) -> bool:
    """Whether the newcomers of a class came over enough releases.

    The first one asks for none.
    """
    return state.current.number == 0 or len(distinct(state.people.since[rows])) >= SLOTS_MIN


def margin(context: StepContext) -> int:
    """Return how many newcomers more than needed must wait.

    The first release asks for none.
    """
    return 0 if context.state.current.number == 0 else context.spec.options.sybil_margin


def under_alpha(context: StepContext, rows: list[int]) -> list[int]:
    """Return as many people as alpha allows in a cohort, at random."""
    alpha = context.spec.forming.alpha
    if alpha == 1:
        return rows
    codes = range(len(context.state.codes.sensitive))
    is_sensitive = np.array(list(map(context.is_sensitive, codes)), dtype=np.bool_)
    flags = is_sensitive[context.state.people.sensitive[rows]].tolist()
    sensitive = list(compress(rows, flags))
    harmless = [row for row, flag in zip(rows, flags, strict=True) if not flag]
    # s <= alpha * (s + harmless)
    room = len(harmless) * alpha.numerator // (alpha.denominator - alpha.numerator)
    order = context.rng.permutation(len(sensitive)).tolist()
    return sorted(harmless + [sensitive[i] for i in order[:room]])


def _ready(context: StepContext, rows: list[int]) -> list[int]:
    """Return the people of one class to publish; none while few wait."""
    state = context.state
    least = max(context.spec.params.k + margin(context), context.spec.forming.k)
    if state.current.number and not _are_small_part(state, rows):
        least *= COHORTS_MIN
    if len(rows) < least or not come_apart(state, rows):
        return []
    chosen = under_alpha(context, rows)
    if len(chosen) < least:
        return []
    cls = int(state.people.cls[rows[0]])
    waits_for_ties = cls not in state.places.cohorts_of and not _are_overdue(context, rows)
    return [] if waits_for_ties and not _are_alike(state, cls) else chosen


def _are_small_part(state: State, rows: list[int]) -> bool:
    """Whether a class's waiting people are few beside its published ones."""
    labels = state.places.cohorts_of.get(int(state.people.cls[rows[0]]), [])
    return len(rows) * SMALL_PART <= sum(len(state.places.members[label]) for label in labels)


def _are_overdue(context: StepContext, rows: list[int]) -> bool:
    """Whether one of them waited as long as anybody shall.

    In the first release everybody did.
    """
    state = context.state
    oldest = int(state.people.since[rows].min())
    return (
        state.current.number == 0
        or state.current.number - oldest >= context.spec.options.birth_wait_max
    )


def _are_alike(state: State, cls: int) -> bool:
    """Whether a class's waiting people are near their leaves' pivots."""
    branch = state.tree.branches[cls]
    return branch.ties > 0 and branch.apart <= APART_MAX * branch.ties


def _grow_tree(context: StepContext) -> None:
    """Let the kt-tree of waiting people follow; the first release publishes without."""
    state = context.state
    if state.current.number == 0:
        return
    classes = in_classes(state, state.people.withheld())
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(people for _, people in classes)])
    state.tree = state.tree.following(classes, neighbour_counts(state, rows), context.spec.forming)
