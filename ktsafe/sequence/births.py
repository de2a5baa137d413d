"""Births: newcomers wait for one another, then are published together in a block."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.sequence import state as st
from ktsafe.sequence.blocks import Frame, publish_block
from ktsafe.sequence.options import SequenceOptions
from ktsafe.sequence.state import State

SLOTS_MIN = 2
"""Releases over which the newcomers of a group must have come: one flood of accounts is none."""


def publish_ready(
    state: State, frame: Frame, options: SequenceOptions, rng: np.random.Generator
) -> None:
    """Publish the newcomers of every class in which enough wait, drawn at random under alpha."""
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for row in sorted(state.withheld):
        waiting[state.people.get(row, st.TRUE_CLS)].append(row)
    ready: list[int] = []
    padded = False
    for _, rows in sorted(waiting.items()):
        chosen = _ready(state, frame, options, rows, rng)
        if not chosen and options.births == "pad":
            chosen = _overdue(state, options, rows)
            padded = padded or bool(chosen)
        ready += chosen
    if ready:
        order = np.array(ready, dtype=np.int64)[rng.permutation(len(ready))]
        publish_block(state, frame, order, rng, padded=padded or state.release == 0)


def under_alpha(state: State, frame: Frame, rows: list[int], rng: np.random.Generator) -> list[int]:
    """Return as many of the given people as alpha allows in one cohort, drawn at random."""
    alpha = frame.exact.alpha
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
    return frame.is_sensitive(state.categories[-1][state.people.get(row, st.TRUE_SENSITIVE)])


def _ready(
    state: State,
    frame: Frame,
    options: SequenceOptions,
    rows: list[int],
    rng: np.random.Generator,
) -> list[int]:
    """Return whom to publish of one class; nobody while too few wait."""
    begins = state.release == 0
    margin = 0 if begins else options.sybil_margin
    least = max(frame.params.k + margin, frame.params.group_size_min)
    if len(rows) < least:
        return []
    slots = {state.people.get(row, st.SINCE) for row in rows}
    if len(slots) < SLOTS_MIN and not begins:
        return []
    chosen = under_alpha(state, frame, rows, rng)
    return chosen if len(chosen) >= least else []


def _overdue(state: State, options: SequenceOptions, rows: list[int]) -> list[int]:
    """Return everybody of a class in which somebody has waited too long."""
    oldest = min(state.people.get(row, st.SINCE) for row in rows)
    waits = state.release - oldest
    return rows if waits >= options.birth_wait_max or state.release == 0 else []
