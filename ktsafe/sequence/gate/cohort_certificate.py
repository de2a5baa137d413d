"""The certificate for w = all, checked where something changed, or everywhere.

Cohorts partition the published places. Each has at least m members with equal presence, at most
the share alpha of them ever sensitive, and all members on one exact location: one class, and for
every class the same number of neighbours. Then every protection set of every release is a union of
cohorts, and so is every intersection of them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import NotKTSafe
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.frame import Frame

CELLS_MAX = 2**22
"""Counts that are compared at once."""


def check(state: State, frame: Frame, labels: Iterable[int]) -> None:
    """Check the given cohorts.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold for one of them.
    """
    params = frame.params
    cohorts = [members for label in sorted(labels) if (members := state.places.members.get(label))]
    for members in cohorts:
        if len(members) < params.group_size_min:
            raise NotKTSafe("A cohort has too few members.")
        ever = int(state.places.ever[members].sum())
        if ever * params.alpha.denominator > len(members) * params.alpha.numerator:
            raise NotKTSafe("A cohort has too many sensitive members.")
        # A part of a cohort is as old as the cohort; members are added to none.
        if not is_one(state.places.born[members]):
            raise NotKTSafe("The members of a cohort were not published together.")
        if not is_one(state.places.cls[members]):
            raise NotKTSafe("The members of a cohort differ in class.")
    width = len(state.codes.classes)
    batch: list[list[int]] = []
    for members in cohorts:
        batch.append(members)
        if width * sum(map(len, batch)) > CELLS_MAX:
            _check_locations(state, batch, width)
            batch = []
    _check_locations(state, batch, width)


def is_one(values: NDArray[np.int64]) -> bool:
    """Whether all of some values are equal."""
    return bool((values == values[0]).all())


def _check_locations(state: State, cohorts: list[list[int]], width: int) -> None:
    """Raise unless the members of each cohort have equal neighbour counts."""
    places = [place for members in cohorts for place in members]
    if not places:
        return
    neighbours = [list(state.edges.adjacent[place]) for place in places]
    row = np.repeat(np.arange(len(places)), [len(others) for others in neighbours])
    flat = np.array([other for others in neighbours for other in others], dtype=np.int64)
    cells = row * width + state.places.cls[flat]
    table = np.bincount(cells, minlength=len(places) * width).reshape(len(places), width)
    sizes = np.array([len(members) for members in cohorts], dtype=np.int64)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    if (table != table[first]).any():
        raise NotKTSafe("The members of a cohort are not on one location.")
