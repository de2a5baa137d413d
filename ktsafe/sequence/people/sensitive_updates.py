"""Sensitive updates: published unless the cohort's ever-sensitive share would exceed alpha.

Who finds no room shows "-" instead. By itself that would tell what it hides, since only such
changes end in "-". So others of the cohort, drawn at random, show "-" too: as long as any are left,
at most alpha of those who show it instead of their value hide a sensitive one. And in a cohort
without room "-" is kept whatever the value becomes, or a change would tell them apart. Why:
decision 20.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ktsafe.graph import MISSING
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.tables import NOBODY
from ktsafe.sequence.people.blocks import harmless_codes
from ktsafe.sequence.people.frame import Frame


def note_sensitive(state: State, frame: Frame, row: int, code: int) -> int | None:
    """Record a person's true sensitive value and publish it, or "-" where alpha has no room.

    Returns the cohort if the value had to be hidden: it needs `keep_company`.
    """
    state.people.sensitive[row] = code
    place = state.place(row)
    if place == NOBODY or state.places.sensitive[place] == code:
        return None
    label = state.cohort(place)
    is_sensitive = frame.is_sensitive(state.categories[-1][code])
    has_room = state.places.ever[place] or _has_room(state, frame, label)
    if is_sensitive and not has_room:
        state.count("sensitive_suppressed")
        state.publish_sensitive(place, _suppressed(state, frame), is_sensitive=False)
        return label
    if not is_kept_missing(state, frame, place):
        state.publish_sensitive(place, code, is_sensitive=is_sensitive)
    return None


def is_kept_missing(state: State, frame: Frame, place: int) -> bool:
    """Whether a place shows "-" and goes on to, since others of its cohort may hide values."""
    shown = state.categories[-1][state.places.sensitive[place]]
    return (
        shown == MISSING
        and not frame.is_sensitive(MISSING)
        and not _has_room(state, frame, state.cohort(place))
    )


def keep_company(
    state: State, frame: Frame, labels: Iterable[int], rng: np.random.Generator
) -> None:
    """Let others of the given cohorts show "-", until it tells no more than alpha allows.

    Those whose value is missing anyway do not count: they may have shown it before.
    """
    if frame.is_sensitive(MISSING):
        return
    for label in sorted(labels):
        # Not before it is needed: inserted vertices draw from all values that are known.
        missing = _suppressed(state, frame)
        masked = hidden = 0
        others = []
        for place in state.members[label]:
            shown = state.places.sensitive[place]
            owner = state.places.owner[place]
            if shown != missing:
                if not frame.is_sensitive(state.categories[-1][shown]):
                    others.append(place)
            elif owner != NOBODY:
                true = state.people.sensitive[owner]
                masked += true != missing
                hidden += frame.is_sensitive(state.categories[-1][true])
        wanted = max(0, math.ceil(hidden / frame.params.alpha) - masked)
        for i in rng.permutation(len(others))[:wanted].tolist():
            state.publish_sensitive(others[i], missing, is_sensitive=False)
            state.count("sensitive_company")


def _has_room(state: State, frame: Frame, label: int) -> bool:
    """Whether one more member of a cohort may be published sensitive."""
    alpha = frame.params.alpha
    after = state.ever[label] + 1
    return after * alpha.denominator <= len(state.members[label]) * alpha.numerator


def _suppressed(state: State, frame: Frame) -> int:
    """Return the code of the missing value, or of another harmless one if that is sensitive."""
    if frame.is_sensitive(MISSING):
        return harmless_codes(state, frame)[0]
    texts = state.categories[-1]
    if MISSING not in texts:
        texts.append(MISSING)
    return texts.index(MISSING)
