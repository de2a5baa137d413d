"""Births: newcomers wait for one another, then are published together in a block."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.blocks import publish_block
from ktsafe.sequence.people.frame import Frame

COHORTS_MIN = 2
"""Cohorts that newcomers of a class must be enough for: then it can be chosen who is with whom."""

SLOTS_MIN = 2
"""Releases over which the newcomers of a group must have come: one flood of accounts is none."""


def publish_ready(
    state: State, frame: Frame, options: SequenceOptions, rng: np.random.Generator
) -> None:
    """Publish the newcomers of every class in which enough wait, drawn at random under alpha."""
    ready: list[int] = []
    for rows in waiting(state):
        chosen = _ready(state, frame, options, rows, rng)
        if not chosen and shall_be_padded(state, options, rows):
            chosen = rows
        ready += chosen
    if ready:
        order = np.array(ready, dtype=np.int64)[rng.permutation(len(ready))]
        publish_block(state, frame, order, rng)


def waiting(state: State) -> list[list[int]]:
    """Return the rows of those who are not published yet, a list for each class."""
    by_class: defaultdict[int, list[int]] = defaultdict(list)
    for row in sorted(state.withheld):
        by_class[state.people.cls[row]].append(row)
    return [rows for _, rows in sorted(by_class.items())]


def come_apart(state: State, rows: list[int]) -> bool:
    """Whether the newcomers of a class came over enough releases; the first one asks for none."""
    slots = {state.people.since[row] for row in rows}
    return state.release == 0 or len(slots) >= SLOTS_MIN


def margin(state: State, options: SequenceOptions) -> int:
    """Return how many newcomers more than needed must wait; the first release asks for none."""
    return 0 if state.release == 0 else options.sybil_margin


def shall_be_padded(state: State, options: SequenceOptions, rows: list[int]) -> bool:
    """Whether inserted places shall make up what a class lacks, since somebody waited too long.

    In the first release everybody counts as having waited.
    """
    oldest = min(state.people.since[row] for row in rows)
    is_overdue = state.release == 0 or state.release - oldest >= options.birth_wait_max
    return options.births == "pad" and is_overdue


def under_alpha(state: State, frame: Frame, rows: list[int], rng: np.random.Generator) -> list[int]:
    """Return as many of the given people as alpha allows in one cohort, drawn at random."""
    alpha = frame.forming.alpha
    sensitive = [row for row in rows if is_sensitive(state, frame, row)]
    harmless = [row for row in rows if not is_sensitive(state, frame, row)]
    if alpha == 1:
        return rows
    # s <= alpha * (s + harmless)
    room = len(harmless) * alpha.numerator // (alpha.denominator - alpha.numerator)
    order = rng.permutation(len(sensitive)).tolist()
    return sorted(harmless + [sensitive[i] for i in order[:room]])


def is_sensitive(state: State, frame: Frame, row: int) -> bool:
    """Whether the true sensitive value of a person is a sensitive one."""
    return frame.is_sensitive(state.categories[-1][state.people.sensitive[row]])


def _ready(
    state: State,
    frame: Frame,
    options: SequenceOptions,
    rows: list[int],
    rng: np.random.Generator,
) -> list[int]:
    """Return whom to publish of one class; nobody while too few wait."""
    least = max(frame.params.k + margin(state, options), frame.params.group_size_min)
    if state.release:
        least *= COHORTS_MIN
    if len(rows) < least or not come_apart(state, rows):
        return []
    chosen = under_alpha(state, frame, rows, rng)
    return chosen if len(chosen) >= least else []
