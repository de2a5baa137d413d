"""Births: newcomers wait for one another, then are published together in a block.

Cohorts never change. So after the first release a class is first shown when it can be told who goes
with whom: when its people would be near to the medians of their cohorts, or have waited for
`birth_wait_max` releases. Later newcomers wait for one another only.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.exact.kt_tree import cohorts_of
from ktsafe.sequence.memory.sequence_options import SequenceOptions
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.blocks import neighbour_counts, publish_block
from ktsafe.sequence.people.frame import Frame

COHORTS_MIN = 2
"""Cohorts that newcomers of a class must be enough for: then it can be chosen who is with whom."""

APART_MAX = 0.7
"""Share of the ties of newcomers by which they may differ from the medians of their cohorts. With 1
nothing of them could be shown."""

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
    return options.births == "pad" and _are_overdue(state, options, rows)


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
    if len(chosen) < least:
        return []
    waits_for_ties = not state.cohorts_of[state.people.cls[rows[0]]]
    if waits_for_ties and not _are_overdue(state, options, rows):
        return chosen if _are_alike(state, frame, chosen, rng) else []
    return chosen


def _are_overdue(state: State, options: SequenceOptions, rows: list[int]) -> bool:
    """Whether one of them waited as long as anybody shall; in the first release everybody did."""
    oldest = min(state.people.since[row] for row in rows)
    return state.release == 0 or state.release - oldest >= options.birth_wait_max


def _are_alike(state: State, frame: Frame, rows: list[int], rng: np.random.Generator) -> bool:
    """Whether newcomers of a class would be near enough to the medians of their cohorts."""
    is_sensitive_row = np.array([is_sensitive(state, frame, row) for row in rows])
    counts = neighbour_counts(state, rows)
    one_class = np.zeros(len(rows), dtype=np.int32)
    cohorts = cohorts_of(one_class, is_sensitive_row, counts, frame.forming, rng=rng, effort="fast")
    apart = np.abs(counts - cohorts.pivots[cohorts.of_vertex]).sum()
    return bool(counts.sum() > 0 and apart <= APART_MAX * counts.sum())
