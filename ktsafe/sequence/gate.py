"""The gate of a sequence's release: its certificate and its cover.

It may become stricter or faster, never laxer: tests/ktsafe/sequence/test_gate.py breaks one thing
at a time, test_cover.py counts place by place. `CELLS_MAX` is for memory. It shares code with the
engine; the auditor does not.

*The certificate for w = all*, where something changed, or everywhere: cohorts partition the
published places. Each has at least m members with equal presence, at most the share alpha of them
ever sensitive, and all members on one exact location: one class, and for every class the same
number of neighbours. Then every protection set of every release is a union of cohorts, and so is
every intersection of them.

*The cover*: a visible change must be shared. D(v) is what v visibly gains and loses
from one release to the next: two multisets of classes. Source: k_delta in the definition of a
sequence's guarantee. Here v's whole cohort, which is part of every CS_W(v), changes as v does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import NotKTSafe
from ktsafe.graph.numbering import edge_ends
from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.step_context import SequenceSpec

CELLS_MAX = 2**22
"""Counts that are compared at once."""


def check(state: State, spec: SequenceSpec, labels: Iterable[int]) -> None:
    """Check the given cohorts.

    Raises
    ------
    NotKTSafe
        If the certificate does not hold for one of them.
    """
    cohorts = checked_members(state, spec, labels)
    if not cohorts:
        return
    places = np.concatenate(cohorts)
    sizes = np.array([len(members) for members in cohorts], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    first = np.repeat(starts, sizes)
    width = len(state.codes.classes)
    # Whole cohorts, as many as have so many counts together.
    batch = np.cumsum(sizes) * width // CELLS_MAX
    for group in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(batch)) + 1):
        part = slice(starts[group[0]], starts[group[-1]] + sizes[group[-1]])
        _check_locations(state, places[part], first[part] - starts[group[0]], width)


def checked_members(
    state: State, spec: SequenceSpec, labels: Iterable[int]
) -> list[NDArray[np.int64]]:
    """Return the existing places of given cohorts, by ascending label.

    Raises
    ------
    NotKTSafe
        If a cohort is not large enough, harmless enough, of one age and of one class.
    """
    known = state.places.members
    cohorts = [known[label] for label in sorted(labels) if label in known]
    if not cohorts:
        return []
    places, alpha = np.concatenate(cohorts), spec.params.alpha
    sizes = np.array([len(members) for members in cohorts], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    if (sizes < spec.params.group_size_min).any():
        raise NotKTSafe("A cohort has too few members.")
    ever = np.add.reduceat(state.places.ever[places], starts)
    if (ever * alpha.denominator > sizes * alpha.numerator).any():
        raise NotKTSafe("A cohort has too many sensitive members.")
    first = np.repeat(starts, sizes)
    # A part of a cohort is as old as the cohort; members are added to none.
    for values, how in (
        (state.places.born[places], "were not published together"),
        (state.places.cls[places], "differ in class"),
    ):
        if (values != values[first]).any():
            raise NotKTSafe(f"The members of a cohort {how}.")
    return cohorts


def _check_locations(
    state: State, places: NDArray[np.int64], first: NDArray[np.int64], width: int
) -> None:
    """Raise unless places have their cohort's first member's neighbour counts."""
    cells = np.concatenate([row * width + state.places.cls[o] for row, o in _ends(state, places)])
    table = np.bincount(cells, minlength=len(places) * width).reshape(len(places), width)
    if (table != table[first]).any():
        raise NotKTSafe("The members of a cohort are not on one location.")


def _ends(
    state: State, places: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the released edges of places.

    The position of the place, and the place beside it.
    """
    position = np.full(state.places.n, NOBODY, dtype=np.int32)
    position[places] = np.arange(len(places))
    ends = state.edges.ends(state.edges.rows_around(places))
    for one, other in (ends.T, ends.T[::-1]):
        row = position[one]
        yield row[row >= 0].astype(np.int64), other[row >= 0]


def visible_changes(state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return D of every changed former place, as nonzero cells.

    Returns
    -------
    (int64, shape (cells, 2); int64, shape (cells,))
        Place and what changed, by place: the class of the neighbours gained, or the number of
        classes beyond it for those lost. And how many they are.
    """
    places, n_classes = state.places, len(state.codes.classes)
    width = 2 * n_classes
    keys = []
    gained = state.edges.pairs(state.current.gained.array())
    lost = edge_ends(state.current.lost.array())
    for pairs, offset in ((gained, 0), (lost, n_classes)):
        for ends in (pairs, pairs[:, ::-1]):
            # What only newcomers see changed for nobody.
            place, other = ends[places.born[ends[:, 0]] < state.current.number].T
            keys.append(place * width + offset + places.cls[other])
    ordered = np.sort(np.concatenate(keys))
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    cells = np.column_stack(np.divmod(ordered[starts], width))
    return cells, np.diff(np.append(starts, len(ordered)))


def check_cover(state: State) -> None:
    """Raise unless all members of a cohort change alike, or none does.

    Then no later split of a cohort can part members that changed alike: whatever the parts are,
    each has at least k of them.

    Raises
    ------
    NotKTSafe
        If some members change otherwise than the rest of their cohort.
    """
    cells, counts = visible_changes(state)
    if not len(cells):
        return
    cohort = state.places.cohort[cells[:, 0]]
    order = np.lexsort((cells[:, 1], cohort))
    cohort, what, counts = cohort[order], cells[order, 1], counts[order]
    is_first = np.append(True, (np.diff(cohort) != 0) | (np.diff(what) != 0))
    starts = np.flatnonzero(is_first)
    # All members have the cell, and all the same number in it.
    n_changed = np.diff(np.append(starts, len(counts)))
    members = state.places.members
    sizes = np.array([len(members[label]) for label in cohort[starts].tolist()])
    is_even = np.minimum.reduceat(counts, starts) == np.maximum.reduceat(counts, starts)
    if (n_changed != sizes).any() or not is_even.all():
        raise NotKTSafe(
            "A visible change is not shared by the whole cohort.",
            hint="Do not publish this graph.",
        )
