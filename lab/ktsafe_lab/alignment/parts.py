"""Parts of a large alignment that are searched independently, in any executor.

A part is a set of groups with its members and the edges among them. Its search moves members
between the part's positions only, so parts never interact. The outcome depends on the seed
alone, not on the worker of a part or its order. The search over the whole graph handles edges
between parts. Orbits are completed once, globally, so nothing has to be merged.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe_lab.alignment import _aligned_core as core

EDGES_PER_PART = 50_000
"""Edges of a part, about: what the caches hold."""


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """One part, with local numbers.

    Attributes
    ----------
    vertices, groups:
        int64: the vertices and the groups behind the local numbers.
    problem, seats:
        The part's own graph and plan.
    """

    vertices: NDArray[np.int64]
    groups: NDArray[np.int64]
    problem: core.Problem
    seats: core.Seating


def cut_into_parts(problem: core.Problem, seats: core.Seating) -> list[Part]:
    """Return the parts of a large graph.

    Nothing for one that is searched as a whole.

    Groups of each class follow the edges in their order, so slices of it at the same height hold
    neighbours.
    """
    n_parts = len(problem.indices) // 2 // EDGES_PER_PART
    if n_parts < 2:
        return []
    counts = np.diff(seats.first)
    rank = np.arange(int(seats.first[-1])) - np.repeat(seats.first[:-1], counts)
    part_of_group = rank * n_parts // np.repeat(counts, counts)
    return [_part(problem, seats, part_of_group == p) for p in range(n_parts)]


def put_back(seats: core.Seating, part: Part, occupant: NDArray[np.int32]) -> None:
    """Seat the members of a part as its search has left them."""
    m = int(seats.caps[0])
    slots = (part.groups[:, np.newaxis] * m + np.arange(m)).reshape(-1)
    taken = occupant != core.EMPTY
    vertices = part.vertices[occupant[taken]]
    seats.occupant[slots] = core.EMPTY
    seats.occupant[slots[taken]] = vertices
    seats.group[vertices] = slots[taken] // m
    seats.position[vertices] = slots[taken] % m
    flagged = np.zeros(len(slots), dtype=np.int64)
    flagged[taken] = part.problem.is_sensitive[occupant[taken]]
    seats.sensitive[part.groups] = flagged.reshape(-1, m).sum(axis=1)


def _part(problem: core.Problem, seats: core.Seating, chosen: NDArray[np.bool_]) -> Part:
    """Cut out the chosen groups with the edges among their members."""
    m = int(seats.caps[0])
    groups = np.flatnonzero(chosen)
    vertices = np.flatnonzero(chosen[seats.group])
    local = np.full(len(problem.cls), core.EMPTY, dtype=np.int32)
    local[vertices] = np.arange(len(vertices))
    local_group = np.cumsum(chosen) - 1

    degrees = np.diff(problem.indptr)
    source = np.repeat(local, degrees)
    target = local[problem.indices]
    inside = (source != core.EMPTY) & (target != core.EMPTY)
    indptr = np.zeros(len(vertices) + 1, dtype=np.int64)
    np.cumsum(np.bincount(source[inside], minlength=len(vertices)), out=indptr[1:])

    occupant = seats.occupant.reshape(-1, m)[groups].reshape(-1)
    taken = occupant != core.EMPTY
    occupant[taken] = local[occupant[taken]]
    in_class = np.add.reduceat(chosen, seats.first[:-1], dtype=np.int64)
    return Part(
        vertices,
        groups,
        core.Problem(indptr, target[inside], problem.cls[vertices], problem.is_sensitive[vertices]),
        core.Seating(
            local_group[seats.group[vertices]].astype(np.int32),
            seats.position[vertices],
            occupant,
            seats.sensitive[groups],
            np.concatenate(([0], np.cumsum(in_class))),
            seats.caps,
        ),
    )
