"""The change attack: a vertex that visibly changes must not be alone in how.

D(v) is what v visibly gains and loses from one release to the next: two multisets of classes.
Source: k_delta in the definition of a sequence's guarantee. Here v's whole cohort, which is part of
every CS_W(v), changes as v does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import NotKTSafe
from ktsafe.sequence.memory.state import State


def visible_changes(state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return D of every place that was there before and changed, as cells that are not 0.

    Returns
    -------
    (int64, shape (cells, 2); int64, shape (cells,))
        Place and what changed, by place: the class of the neighbours gained, or the number of
        classes beyond it for those lost. And how many they are.
    """
    places, n_classes = state.places, len(state.codes.classes)
    width = 2 * n_classes
    keys = []
    for edges, offset in ((state.current.gained, 0), (state.current.lost, n_classes)):
        pairs = edges.array()
        for place, other in (pairs.T, pairs.T[::-1]):
            # What only newcomers see changed for nobody.
            was_there = places.born[place] < state.current.number
            keys.append((place * width + offset + places.cls[other])[was_there])
    ordered = np.sort(np.concatenate(keys))
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    cells = np.column_stack(np.divmod(ordered[starts], width))
    return cells, np.diff(np.append(starts, len(ordered)))


def check_cover(state: State) -> None:
    """Raise unless all members of a cohort change alike, or none does.

    Then no later split of a cohort can part those who changed alike: whatever the parts are, each
    has at least k of them.

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
