"""Units of a move: whole cohorts, or parts split off large ones."""

from __future__ import annotations

import numpy as np

from ktsafe.sequence.exact.sizes import SIZES_TRIED_MAX, Unit
from ktsafe.sequence.exact.splits import division, kind, kinds
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.blocks import Frame


def allowed_sizes(state: State, frame: Frame, unit: Unit) -> list[int]:
    """Return the sizes that leave two parts as they must be, or the whole, ascending."""
    m = frame.params.group_size_min
    members = state.members[unit.label]
    low = max(m, len(unit.wanted))
    tried = range(low, min(low + SIZES_TRIED_MAX, len(members) - m + 1))
    if not tried:
        return [len(members)]
    whole, wanted = kinds(state, members), kinds(state, unit.wanted)
    sizes = [
        size for size in tried if division(frame.params, whole, wanted, size, wanted) is not None
    ]
    return sizes or [len(members)]


def split_off(
    state: State, frame: Frame, unit: Unit, size: int, rng: np.random.Generator
) -> list[int]:
    """Return the places of the unit at this size, as a cohort of their own."""
    members = state.members[unit.label]
    if size == len(members):
        return members
    others = [place for place in members if place not in unit.wanted]
    order = [others[i] for i in rng.permutation(len(others)).tolist()]
    # Those with ties that are held back come first: their next raise is then shared.
    order.sort(key=lambda place: not _waits(state, place))
    order = [*sorted(unit.wanted), *order]
    whole, wanted, wish = (kinds(state, part) for part in (members, unit.wanted, order[:size]))
    taken = division(frame.params, whole, wanted, size, wish)
    assert taken is not None, "allowed_sizes offers no other size"
    room = list(taken)
    chosen = []
    for place in order:
        of = kind(state, place)
        if room[of]:
            room[of] -= 1
            chosen.append(place)
    state.count("splits")
    return state.members[state.form_cohort(chosen)]


def _waits(state: State, place: int) -> bool:
    owner = state.places.get(place, st.OWNER)
    return owner != st.NOBODY and bool(state.held_of.get(owner))
