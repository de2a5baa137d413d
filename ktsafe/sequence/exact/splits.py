"""Which part of a cohort may be split off: either part keeps m, alpha and its real people.

A part in which anybody is real holds k real people, or all there are where the whole has fewer.
Otherwise a split would take away the real candidates with which a newcomer was published.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ktsafe.params import PrivacyParams
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State

Kinds = tuple[int, int, int, int]
"""How many places are nobody's and harmless, nobody's and ever sensitive, and both of people."""


def kind(state: State, place: int) -> int:
    """Return of which kind a place is, a position in `Kinds`."""
    is_real = state.places.get(place, st.OWNER) != st.NOBODY
    return 2 * is_real + state.places.get(place, st.EVER)


def kinds(state: State, places: Iterable[int]) -> Kinds:
    """Count places by kind."""
    rows = state.places.rows[list(places)]
    numbers = 2 * (rows[:, st.OWNER] != st.NOBODY) + rows[:, st.EVER]
    harmless, ever, harmless_real, ever_real = np.bincount(numbers, minlength=4).tolist()
    return harmless, ever, harmless_real, ever_real


def division(
    params: PrivacyParams, whole: Kinds, wanted: Kinds, size: int, wish: Kinds
) -> Kinds | None:
    """Return how many places of each kind a part takes, near to a wish; None if it cannot be.

    Parameters
    ----------
    whole, wanted:
        The cohort, and those of it who must be in the part.
    size:
        Of the part; it and the rest have at least m members.
    wish:
        What would be taken if nothing stood against it.
    """
    alpha = params.alpha
    most = size * alpha.numerator // alpha.denominator
    rest_most = (sum(whole) - size) * alpha.numerator // alpha.denominator
    least = whole[1] + whole[3] - rest_most
    if least > most:
        return None
    real = whole[2] + whole[3]
    enough = min(params.k, real)
    low = max(wanted[2] + wanted[3], size - whole[0] - whole[1])
    high = min(real, size - wanted[0] - wanted[1])
    wish_real = wish[2] + wish[3]
    for people in sorted(range(low, high + 1), key=lambda n: (abs(n - wish_real), -n)):
        if 0 < people < enough or 0 < real - people < enough:
            continue
        mine = _ever_range(whole[2:], wanted[2:], people)
        others = _ever_range(whole[:2], wanted[:2], size - people)
        first, last = max(mine[0], least - others[1]), min(mine[1], most - others[0])
        if first <= last and others[0] <= others[1]:
            ever_real = _clamped(wish[3], first, last)
            ever = _clamped(
                wish[1], max(others[0], least - ever_real), min(others[1], most - ever_real)
            )
            return size - people - ever, ever, people - ever_real, ever_real
    return None


def _ever_range(whole: tuple[int, ...], wanted: tuple[int, ...], count: int) -> tuple[int, int]:
    """Return how many of `count` places must and may be ever sensitive, by supply and demand."""
    return max(wanted[1], count - whole[0]), min(whole[1], count - wanted[0])


def _clamped(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
