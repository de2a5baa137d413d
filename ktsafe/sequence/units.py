"""Units of a move: whole cohorts, or parts split off large ones."""

from __future__ import annotations

import numpy as np

from ktsafe.sequence import state as st
from ktsafe.sequence.blocks import Frame
from ktsafe.sequence.sizes import SIZES_TRIED_MAX, Unit, sensitive_range
from ktsafe.sequence.state import State


def allowed_sizes(state: State, frame: Frame, unit: Unit) -> list[int]:
    """Return the sizes that leave two parts, or the whole, that satisfy m and alpha, ascending."""
    m = frame.params.group_size_min
    whole = len(state.members[unit.label])
    low = max(m, len(unit.wanted))
    sizes = []
    for size in range(low, min(low + SIZES_TRIED_MAX, whole - m + 1)):
        least, most = _ever_range(state, frame, unit, size)
        if least <= most:
            sizes.append(size)
    return sizes or [whole]


def _ever_range(state: State, frame: Frame, unit: Unit, size: int) -> tuple[int, int]:
    """Return how many ever-sensitive members a part of this size must and may have."""
    whole, ever = len(state.members[unit.label]), state.ever[unit.label]
    least, most = sensitive_range(frame.params.alpha, whole, ever, size)
    # The part holds the wanted ones.
    wanted = sum(state.places.get(place, st.EVER) for place in unit.wanted)
    harmless_wanted = len(unit.wanted) - wanted
    return max(least, wanted), min(most, size - harmless_wanted)


def split_off(
    state: State, frame: Frame, unit: Unit, size: int, rng: np.random.Generator
) -> list[int]:
    """Return the places of the unit at this size, as a cohort of their own."""
    members = state.members[unit.label]
    if size == len(members):
        return members
    least, most = _ever_range(state, frame, unit, size)
    others = [place for place in members if place not in unit.wanted]
    order = [others[i] for i in rng.permutation(len(others)).tolist()]
    # Those with ties that are held back come first: their next raise is then shared.
    order.sort(key=lambda place: not _waits(state, place))
    chosen = set(unit.wanted)
    ever = sum(state.places.get(place, st.EVER) for place in chosen)
    harmless_max = size - least
    harmless = len(chosen) - ever
    for place in order:
        if len(chosen) == size:
            break
        if state.places.get(place, st.EVER):
            if ever < most:
                ever += 1
                chosen.add(place)
        elif harmless < harmless_max:
            harmless += 1
            chosen.add(place)
    state.count("splits")
    return state.members[state.form_cohort(chosen)]


def _waits(state: State, place: int) -> bool:
    owner = state.places.get(place, st.OWNER)
    return owner != st.NOBODY and bool(state.held_of.get(owner))
