"""The certificate for w = all, checked where something changed, or everywhere.

Cohorts partition the published places. Each has at least m members with equal presence, at most
the share alpha of them ever sensitive, and all members on one exact location: one class, and for
every attribute the same counts among the neighbours. Then every protection set of every release is
a union of cohorts, and so is every intersection of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ktsafe.errors import NotKTSafe
from ktsafe.sequence import state as st
from ktsafe.sequence.blocks import Frame
from ktsafe.sequence.state import State


def location(state: State, place: int) -> tuple[int, tuple[tuple[tuple[int, int], ...], ...]]:
    """Return the class of a place, and for each attribute how often each code is a neighbour's."""
    classes = Counter(state.cls(other) for other in state.adjacent[place])
    n_attributes = len(state.categories) - 1
    counts: list[Counter[int]] = [Counter() for _ in range(n_attributes)]
    for cls, times in classes.items():
        for count, code in zip(counts, state.classes[cls], strict=True):
            count[code] += times
    degree = (-1, len(state.adjacent[place]))
    return state.cls(place), ((degree,), *(tuple(sorted(count.items())) for count in counts))


def check(state: State, frame: Frame, labels: Iterable[int]) -> None:
    """Check the given cohorts.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold for one of them.
    """
    params = frame.params
    for label in sorted(labels):
        members = state.members.get(label, [])
        if not members:
            continue
        if len(members) < params.group_size_min:
            raise NotKTSafe("A cohort has too few members.")
        ever = sum(state.places.get(place, st.EVER) for place in members)
        if ever * params.alpha.denominator > len(members) * params.alpha.numerator:
            raise NotKTSafe("A cohort has too many sensitive members.")
        # A part of a cohort is as old as the cohort; members are added to none.
        if len({state.places.get(place, st.BORN) for place in members}) > 1:
            raise NotKTSafe("The members of a cohort were not published together.")
        if len({location(state, place) for place in members}) > 1:
            raise NotKTSafe("The members of a cohort are not on one location.")
