"""The inserted edges between two classes that a rotation may drop, and who depends on whom."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.ties import _rotating_core as core

EDGES_MIN = 2
"""Edges below which nothing can be rotated."""


class Kinds:
    """How each place has visibly changed so far in this release; who has not is absent."""

    def __init__(self, state: State, changed: Mapping[int, Hashable]) -> None:
        self._state = state
        self._of = dict(changed)
        self.cohorts = {state.cohort(place) for place in changed}
        """Cohorts of which somebody changed."""

    def of(self, place: int) -> Hashable:
        """Return how a place changed, None if it did not."""
        return self._of.get(place)

    def add(self, place: int, change: Hashable) -> None:
        """Note that a place changed, once more if it did before."""
        self._of[place] = (self._of.get(place), change)
        self.cohorts.add(self._state.cohort(place))


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """Edges that may be dropped.

    The vertices of the edges are numbered locally. A *part* is the members of one cohort that
    changed alike so far: of a part that has not changed yet at least as many must take part as
    give each other cover, of one that has, everybody.

    Attributes
    ----------
    pair:
        The two classes, ascending.
    places:
        Place of each vertex, ascending.
    ends:
        int64, shape (m, 2): vertices of each edge, preferred edges first.
    part:
        int64, shape (n,): part of each vertex.
    cohort, size, need:
        Of each part: its cohort, its members, how many of them take part if any does.
    """

    pair: Tie
    places: list[int]
    ends: NDArray[np.int64]
    part: NDArray[np.int64]
    cohort: list[int]
    size: NDArray[np.int64]
    need: NDArray[np.int64]

    def compressed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the adjacency; neighbours keep the order of the edges."""
        m = len(self.ends)
        source = np.concatenate((self.ends[:, 0], self.ends[:, 1]))
        target = np.concatenate((self.ends[:, 1], self.ends[:, 0]))
        order = np.lexsort((np.tile(np.arange(m), 2), source))
        indptr = np.zeros(len(self.places) + 1, dtype=np.int64)
        np.cumsum(np.bincount(source, minlength=len(self.places)), out=indptr[1:])
        return indptr, target[order]


def pool_of(
    state: State, pair: Tie, kinds: Kinds, least: int, rng: np.random.Generator
) -> Pool | None:
    """Return what may be dropped between two classes; None where that is nothing.

    Parameters
    ----------
    least:
        Members of a cohort that must change alike.
    """
    rows: NDArray[np.int64] = np.array(sorted(state.between.get(pair, ())), dtype=np.int64)
    edges = state.edges.rows[rows]
    # One that appears in this release would vanish unseen, while others visibly change.
    free = (edges[:, st.IS_TRUE] != st.TRUE) & (edges[:, st.ADDED] < state.release)
    edges = _between_willing(state, edges[free], kinds, least)
    if len(edges) < EDGES_MIN:
        return None
    places, ends = _numbered(edges)
    part, cohort, size, need = _parts(state, places, kinds, least)
    keep = core.droppable(ends, part, need)
    if not keep.any():
        return None
    # Residual edges are preferred, the rest comes as it falls.
    is_residual = edges[keep, st.IS_TRUE] == st.RESIDUAL
    order = np.lexsort((rng.random(len(is_residual)), ~is_residual))
    return Pool(pair, places.tolist(), ends[keep][order], part, cohort, size, need)


def _between_willing(
    state: State, edges: NDArray[np.int64], kinds: Kinds, least: int
) -> NDArray[np.int64]:
    """Return the edges between cohorts of which enough members have one, whatever their parts.

    Few edges pass, and this is much cheaper than telling parts apart.
    """
    if len(edges) < EDGES_MIN:
        return edges
    places, ends = _numbered(edges)
    labels, group = core.numbered(state.places.rows[places, st.COHORT])
    need = np.full(len(labels), least, dtype=np.int64)
    need[[label in kinds.cohorts for label in labels.tolist()]] = 1
    willing: NDArray[np.int64] = edges[core.droppable(ends, group, need)]
    return willing


def _numbered(edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of some rows of edges, ascending, and the positions of the ends in them."""
    places, ends = core.numbered(edges[:, : st.HIGH + 1].ravel())
    return places, ends.reshape(-1, 2)


def _parts(
    state: State, places: NDArray[np.int64], kinds: Kinds, least: int
) -> tuple[NDArray[np.int64], list[int], NDArray[np.int64], NDArray[np.int64]]:
    """Return the part of each place, and of each part its cohort, its size and its need."""
    labels, inverse = core.numbered(state.places.rows[places, st.COHORT])
    first = np.zeros(len(labels), dtype=np.int64)
    numbers: dict[tuple[int, Hashable], int] = {}
    cohort: list[int] = []
    size: list[int] = []
    need: list[int] = []
    for i, label in enumerate(labels.tolist()):
        members = state.members[label]
        first[i] = len(cohort)
        # Nearly always nobody of a cohort changed before, and it is one part.
        counts = (
            Counter(kinds.of(place) for place in members)
            if label in kinds.cohorts
            else {None: len(members)}
        )
        for kind, count in counts.items():
            numbers[label, kind] = len(cohort)
            cohort.append(label)
            size.append(count)
            need.append(least if kind is None else count)
    part = first[inverse]
    if len(cohort) > len(labels):
        owners = labels[inverse].tolist()
        for i, (place, label) in enumerate(zip(places.tolist(), owners, strict=True)):
            part[i] = numbers[label, kinds.of(place)]
    return part, cohort, np.array(size), np.array(need)
