"""Sensitive updates: published unless the cohort's ever-sensitive share would exceed alpha."""

from __future__ import annotations

from ktsafe.graph import MISSING
from ktsafe.sequence import state as st
from ktsafe.sequence.blocks import Frame, harmless_codes
from ktsafe.sequence.state import State


def note_sensitive(state: State, frame: Frame, row: int, code: int) -> None:
    """Record a person's true sensitive value and publish it, or "-" where alpha has no room."""
    state.people.set(row, st.TRUE_SENSITIVE, code)
    place = state.place(row)
    if place == st.NOBODY or state.places.get(place, st.SENSITIVE) == code:
        return
    is_sensitive = frame.is_sensitive(state.categories[-1][code])
    if is_sensitive and not state.places.get(place, st.EVER):
        label = state.cohort(place)
        alpha = frame.params.alpha
        after = state.ever[label] + 1
        if after * alpha.denominator > len(state.members[label]) * alpha.numerator:
            code, is_sensitive = _suppressed(state, frame), False
            state.count("sensitive_suppressed")
    state.publish_sensitive(place, code, is_sensitive=is_sensitive)


def _suppressed(state: State, frame: Frame) -> int:
    """Return the code of the missing value, or of another harmless one if that is sensitive."""
    if frame.is_sensitive(MISSING):
        return harmless_codes(state, frame)[0]
    texts = state.categories[-1]
    if MISSING not in texts:
        texts.append(MISSING)
    return texts.index(MISSING)
