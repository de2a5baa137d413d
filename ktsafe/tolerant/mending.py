"""Nearly safe releases are made safe: few edges change, until everybody is at home.

    repeat, while somebody is unsafe:
        home of a cohort  =  the star that most of its members have
        members of cohorts with unsafe members who are not at home come nearer:
            edges come and go, or pass to another person of the class,
            if no more people become unsafe, or as chance will have it
        now and then: cohorts that find no way lose all edges

What is wrong thus wanders from person to person, until it comes to one with many neighbours, who
bears one more or less within t and epsilon.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.strategies import Request
from ktsafe.tolerant import _mending_core as core
from ktsafe.tolerant._locations_core import LocationTable, Tolerance, Vertices
from ktsafe.tolerant.locations import located

HEATS = 10 * (0.0,) + 60 * (0.001,) + 4 * (20 * (0.1,) + 20 * (0.03,) + 10 * (0.001,))
"""Of each round: as in `ktsafe.tolerant._mending_core.bring_home`."""

PHASES = 10
"""Times that cohorts are cleared which found no way."""

CLEARED_ENDS = 150
"""Ends of edges in cohorts that are cleared together; beyond that one at a time, the least."""

UNSAFE_MAX = 1 / 3
"""Share of vertices that may be unsafe at first; with more little of the truth would be left."""

TURNS_MAX = 5
"""Vertices that are brought home, for each one there is. Networks that can be mended take one."""

SPARE = 16
"""Neighbours that each may have more than at first."""


def mended(
    request: Request,
    inserted: NDArray[np.int32],
    edges: NDArray[np.int32],
    cohort: NDArray[np.int32],
) -> NDArray[np.int32] | None:
    """Return the edges of a safe release that differs little; None if none is found.

    Parameters
    ----------
    request:
        Of its graph the people, of its parameters all.
    inserted:
        int32, shape (i,): class of each inserted vertex; none is sensitive.
    edges:
        int32, shape (m, 2): a release.
    cohort:
        int32, shape (n + i,): whose stars shall be alike.
    """
    turns = TURNS_MAX * len(cohort)
    for phase in range(PHASES):
        state = _State.of(request, inserted, edges)
        if phase == 0 and state.unsafe().mean() > UNSAFE_MAX:
            return None
        for heat in HEATS:
            turns -= state.bring_home(cohort, heat, request.rng)
            if turns < 0:
                return None
        edges, is_unsafe = state.edges(), state.unsafe()
        if not is_unsafe.any():
            return edges
        # Cohorts that found no way show no edges any more, and those who lose a neighbour by
        # that come home in the next phase.
        ends = np.bincount(cohort[edges].reshape(-1), minlength=int(cohort.max()) + 1)
        stuck = np.unique(cohort[is_unsafe])
        cleared = stuck[ends[stuck] <= max(CLEARED_ENDS, ends[stuck].min())]
        edges = edges[~np.isin(cohort, cleared)[edges].any(axis=1)]
    return None


@dataclasses.dataclass(frozen=True, eq=False)
class _State:
    """A release on its way: where vertices are, and its edges."""

    at: LocationTable
    vertices: Vertices
    rule: Tolerance
    release: core.Mendable

    @classmethod
    def of(cls, request: Request, inserted: NDArray[np.int32], edges: NDArray[np.int32]) -> _State:
        """Return the state with these edges."""
        harmless = np.zeros(len(inserted), dtype=np.bool_)
        is_sensitive = np.append(request.graph.is_sensitive, harmless)
        at, vertices, rule = located(request.graph, inserted, is_sensitive, edges, request.params)
        # Real members are counted once all are safe.
        at.floor[:] = 0
        return cls(at, vertices, rule, _release(vertices, edges, at.histogram.shape[1]))

    def unsafe(self) -> NDArray[np.bool_]:
        """Return whether the protection set of each vertex is too small or too sensitive."""
        size, sensitive, _ = self.at.in_set[self.at.of_vertex].T
        alpha = self.rule.alpha
        found: NDArray[np.bool_] = (size < self.rule.k) | (sensitive * alpha[1] > alpha[0] * size)
        return found

    def bring_home(self, cohort: NDArray[np.int32], heat: float, rng: np.random.Generator) -> int:
        """Let members of cohorts with unsafe members come home; return how many were away."""
        if self.at.unsafe[0] == 0:
            return 0
        here = self.at.of_vertex
        home = _most_frequent(cohort, here)
        self.release.home[:] = np.column_stack((self.at.histogram[home], self.at.size[home]))
        is_away = here != home
        concerned = is_away & np.isin(cohort, cohort[self.unsafe()])
        order = rng.permutation(np.flatnonzero(concerned if concerned.any() else is_away))
        core.bring_home(self.at, self.vertices, self.rule, self.release, order, heat, rng)
        return len(order)

    def edges(self) -> NDArray[np.int32]:
        """Return the edges: int32, shape (m, 2)."""
        held = self.release.held
        source = np.repeat(np.arange(len(held)), held)
        target = self.release.near[_slots(self.release.first, held)]
        return np.column_stack((source, target))[source < target].astype(np.int32)


def _most_frequent(cohort: NDArray[np.int32], here: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each vertex the location at which most members of its cohort are."""
    places, number = np.unique(np.column_stack((cohort, here)), axis=0, return_counts=True)
    order = np.lexsort((-number, places[:, 0]))
    first = np.unique(places[order, 0], return_index=True)[1]
    found: NDArray[np.int64] = places[order[first], 1][cohort]
    return found


def _slots(first: NDArray[np.int64], held: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of all neighbours, vertex by vertex."""
    found: NDArray[np.int64] = np.repeat(first[:-1] - (np.cumsum(held) - held), held)
    return found + np.arange(len(found))


def _release(vertices: Vertices, edges: NDArray[np.int32], n_values: int) -> core.Mendable:
    """Return the edges of a release, with room for more."""
    classes, n = vertices.classes, len(vertices.classes)
    held = np.bincount(edges.reshape(-1), minlength=n)
    first = np.concatenate(([0], np.cumsum(held + SPARE)))
    near = np.zeros(first[-1], dtype=np.int64)
    order = np.argsort(edges.T.reshape(-1), kind="stable")
    near[_slots(first, held)] = edges[:, ::-1].T.reshape(-1)[order]
    sizes = np.bincount(classes)
    values = np.zeros((len(sizes), vertices.values.shape[1]), dtype=np.int64)
    values[classes] = vertices.values
    return core.Mendable(
        first=first,
        near=near,
        held=held,
        home=np.zeros((n, n_values + 1), dtype=np.int64),
        class_first=np.concatenate(([0], np.cumsum(sizes))),
        members=np.argsort(classes, kind="stable"),
        values=values,
    )
