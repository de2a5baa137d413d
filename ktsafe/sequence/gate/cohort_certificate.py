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
    known = state.places.members
    cohorts = [known[label] for label in sorted(labels) if label in known]
    if not cohorts:
        return
    places = np.concatenate(cohorts)
    sizes = np.array([len(members) for members in cohorts], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    if (sizes < params.group_size_min).any():
        raise NotKTSafe("A cohort has too few members.")
    ever = np.add.reduceat(state.places.ever[places], starts)
    if (ever * params.alpha.denominator > sizes * params.alpha.numerator).any():
        raise NotKTSafe("A cohort has too many sensitive members.")
    first = np.repeat(starts, sizes)
    # A part of a cohort is as old as the cohort; members are added to none.
    for values, how in (
        (state.places.born[places], "were not published together"),
        (state.places.cls[places], "differ in class"),
    ):
        if (values != values[first]).any():
            raise NotKTSafe(f"The members of a cohort {how}.")
    width = len(state.codes.classes)
    # Whole cohorts, as many as have so many counts together.
    batch = np.cumsum(sizes) * width // CELLS_MAX
    for group in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(batch)) + 1):
        part = slice(starts[group[0]], starts[group[-1]] + sizes[group[-1]])
        _check_locations(state, places[part], first[part] - starts[group[0]], width)


def is_one(values: NDArray[np.int64]) -> bool:
    """Whether all of some values are equal."""
    return bool((values == values[0]).all())


def _check_locations(
    state: State, places: NDArray[np.int64], first: NDArray[np.int64], width: int
) -> None:
    """Raise unless places have equal neighbour counts as the first member of their cohort."""
    row, others, _ = state.edges.around(places)
    cells = row * width + state.places.cls[others]
    table = np.bincount(cells, minlength=len(places) * width).reshape(len(places), width)
    if (table != table[first]).any():
        raise NotKTSafe("The members of a cohort are not on one location.")
