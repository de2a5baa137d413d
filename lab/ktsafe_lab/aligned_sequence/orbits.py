"""Orbits of released edges under the shift of permanent groups.

A group is a cohort of m places with ascending numbers that never changes its members. The shift
takes each place to the next one of its group, the last one to the first. An edge is released with
its whole orbit or not at all, so the shift maps every release onto itself. An orbit is shown while
at least half of it is true: then what is inserted costs no more than hiding what is true.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.memory.sequence_tables import TRUE
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.step_context import StepContext


def following(state: State, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the shift takes places."""
    first, size = _layout(state)
    group = state.places.cohort[places]
    start: NDArray[np.int64] = first[group]
    return start + (places - start + 1) % np.maximum(size[group], 1)


def orbits_of(state: State, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs of places that the shift reaches, by orbit.

    Orbit by orbit, each pair of places once, ends ascending.
    """
    turns = [pairs]
    for _ in range(int(_layout(state)[1].max(initial=1)) - 1):
        turns.append(following(state, turns[-1]))
    whole = np.sort(np.stack(turns, axis=1).reshape(-1, 2), axis=1)
    _, first = np.unique(whole, axis=0, return_index=True)
    return whole[np.sort(first)]


def show_what_is_half_true(context: StepContext) -> None:
    """Show the orbits at least half true, by a whole scan."""
    state = context.state
    hidden_ties = state.hidden_ties.used()
    shown_as = state.edges.rows_of(state.people.place[state.hidden_ties.pairs(hidden_ties)])
    is_shown = shown_as != NOBODY
    began = state.hidden_ties.began[hidden_ties[is_shown]]
    state.hidden_ties.free(hidden_ties[is_shown])
    state.relabel(shown_as[is_shown], began)
    edges = state.edges.used()
    hidden = state.people.place[state.hidden_ties.pairs(state.hidden_ties.used())]
    hidden = np.sort(hidden[(hidden != NOBODY).all(axis=1)], axis=1)
    ends = np.concatenate((state.edges.pairs(edges), hidden))
    keys, first, number = np.unique(
        orbit_keys(state, ends), axis=0, return_index=True, return_inverse=True
    )
    number = number.reshape(-1)
    is_true = np.concatenate((state.edges.is_true[edges] == TRUE, np.ones(len(hidden), dtype=bool)))
    true = np.bincount(number[is_true], minlength=len(keys))
    shown = np.bincount(number[: len(edges)], minlength=len(keys)) > 0
    worth = 2 * true >= _sizes(state, keys)
    state.hide(state.edges.rows_of(orbits_of(state, ends[first[shown & ~worth]])))
    state.show(orbits_of(state, ends[first[worth & ~shown]]))
    state.count("orbits_dropped", int(np.count_nonzero(shown & ~worth)))
    state.count("orbits_shown", int(np.count_nonzero(worth & ~shown)))


def _sizes(state: State, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each orbit's number of pairs of places, by its name."""
    m = _layout(state)[1][keys[:, 0]]
    # Within a group, half the way round, each pair is met from both ends.
    return np.where((keys[:, 0] == keys[:, 1]) & (2 * keys[:, 2] == m), m // 2, m)


def orbit_keys(state: State, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what names the orbit of each pair of places.

    Two groups and a distance.

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
    shift: NDArray[np.int32] = position[following(state, places)].astype(np.int32)
    return shift


def _layout(state: State) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each group's first place and size by label, else 0."""
    first = np.zeros(state.n_cohorts + 1, dtype=np.int64)
    size = np.zeros(state.n_cohorts + 1, dtype=np.int64)
    for label, members in state.places.members.items():
        first[label], size[label] = members[0], len(members)
    return first, size
