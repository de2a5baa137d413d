"""Orbits of released edges under the shift of permanent groups.

A group is a cohort of m places with ascending numbers that never changes its members. The shift
takes each place to the next one of its group, the last one to the first. An edge is released with
its whole orbit or not at all, so the shift maps every release onto itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.memory.tables import TRUE


def following(state: State, place: int) -> int:
    """Return where the shift takes a place."""
    members = state.members[state.cohort(place)]
    return place + 1 if place < members[-1] else members[0]


def orbit(state: State, u: int, v: int) -> list[Tie]:
    """Return the pairs of places to which the shift takes a pair, each once, ends ascending."""
    pairs: dict[Tie, None] = {}
    low, high = min(u, v), max(u, v)
    while (low, high) not in pairs:
        pairs[low, high] = None
        u, v = following(state, u), following(state, v)
        low, high = min(u, v), max(u, v)
    return list(pairs)


def show(state: State, u: int, v: int) -> None:
    """Release the orbit of a true tie between two places that have no edge."""
    for low, high in orbit(state, u, v):
        state.add_edge(low, high, is_true={low, high} == {u, v})


def drop_unneeded(state: State) -> int:
    """Release orbits no longer that hold no true tie; return how many. A whole scan."""
    rows = state.edges.used()
    keys = orbit_keys(state, state.edges.pairs(rows))
    _, number = np.unique(keys, axis=0, return_inverse=True)
    number = number.reshape(-1)
    is_needed = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.bool_)
    is_needed[number[state.edges.is_true[rows] == TRUE]] = True
    for row in rows[~is_needed[number]].tolist():
        state.drop_edge(row)
    return int(np.count_nonzero(~is_needed))


def orbit_keys(state: State, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what names the orbit of each pair of places: two groups and a distance.

    Parameters
    ----------
    ends:
        int64, shape (x, 2).

    Returns
    -------
    int64, shape (x, 3)
        Equal rows iff the pairs lie in one orbit.
    """
    group = state.places.cohort[ends]
    first, size = _layout(state)
    position = ends - first[group]
    is_turned = group[:, 0] > group[:, 1]
    group[is_turned] = group[is_turned][:, ::-1]
    position[is_turned] = position[is_turned][:, ::-1]
    m = np.maximum(size[group[:, 0]], 1)
    distance = (position[:, 1] - position[:, 0]) % m
    # Within one group an orbit can be walked from either end.
    is_inside = group[:, 0] == group[:, 1]
    distance = np.where(is_inside, np.minimum(distance, m - distance), distance)
    return np.column_stack((group, distance))


def shift_of(state: State, places: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the shift over all released places, by their positions in `places`."""
    position = np.full(state.places.n, -1, dtype=np.int64)
    position[places] = np.arange(len(places))
    first, size = _layout(state)
    group = state.places.cohort[places]
    image = first[group] + (places - first[group] + 1) % np.maximum(size[group], 1)
    shift: NDArray[np.int32] = position[image].astype(np.int32)
    return shift


def _layout(state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first place and the size of every group, by its label; 0 where it is gone."""
    first = np.zeros(state.n_cohorts + 1, dtype=np.int64)
    size = np.zeros(state.n_cohorts + 1, dtype=np.int64)
    for label, members in state.members.items():
        first[label], size[label] = members[0], len(members)
    return first, size
