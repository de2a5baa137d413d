"""The inserted edges between two classes that a rotation may drop, and who depends on whom."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence import _rotating_core as core
from ktsafe.sequence import state as st
from ktsafe.sequence.state import State, Tie

EDGES_MIN = 2
"""Edges below which nothing can be rotated."""

Kinds = dict[int, Hashable]
"""How each place has visibly changed so far in this release; who has not is absent."""


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
    edges = edges[free]
    if len(edges) < EDGES_MIN:
        return None
    places, local = np.unique(edges[:, : st.HIGH + 1], return_inverse=True)
    ends = local.reshape(-1, 2).astype(np.int64)
    part, cohort, size, need = _parts(state, places.tolist(), kinds, least)
    keep = core.droppable(ends, part, need)
    if not keep.any():
        return None
    # Residual edges are preferred, the rest comes as it falls.
    is_residual = edges[keep, st.IS_TRUE] == st.RESIDUAL
    order = np.lexsort((rng.random(len(is_residual)), ~is_residual))
    return Pool(pair, places.tolist(), ends[keep][order], part, cohort, size, need)


def _parts(
    state: State, places: list[int], kinds: Kinds, least: int
) -> tuple[NDArray[np.int64], list[int], NDArray[np.int64], NDArray[np.int64]]:
    """Return the part of each place, and of each part its cohort, its size and its need."""
    numbers: dict[tuple[int, Hashable], int] = {}
    cohort: list[int] = []
    size: list[int] = []
    need: list[int] = []
    for label in sorted({state.cohort(place) for place in places}):
        members = Counter(kinds.get(place) for place in state.members[label])
        for kind, count in members.items():
            numbers[label, kind] = len(cohort)
            cohort.append(label)
            size.append(count)
            need.append(least if kind is None else count)
    part = [numbers[state.cohort(place), kinds.get(place)] for place in places]
    return np.array(part), cohort, np.array(size), np.array(need)
