"""Two parts of a class that would hold most ties.

A pair of classes goes dark as a whole, so without parts a network of one class would have releases
without edges. Parts are drawn, and published nowhere: both have the quasi-identifiers of the class.
Each is a class of its own to cohorts and rows, so what is equal towards both is equal towards it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph.edges import edge_ends, edge_keys
from ktsafe.sequence.memory.column_table import NOBODY
from ktsafe.sequence.people.step_context import StepContext

HELD_MAX = 0.5
"""Share of all ties that a pair of classes may hold. Of a pair with less, parts cost more ties in
every release than they save in one of ten (decision 90)."""

COHORTS_MIN = 20
"""Cohorts that a class must be enough for to be parted: of fewer, newcomers would wait longer."""


def part_largest(context: StepContext) -> None:
    """Part the class with too many ties, if any, at random."""
    people, ties = context.state.people, context.state.hidden_ties
    classes, held = np.unique(edge_keys(people.cls[ties.pairs(ties.used())]), return_counts=True)
    if held.max(initial=0) <= HELD_MAX * held.sum():
        return
    rows = people.used()
    of_pair = [rows[people.cls[rows] == cls] for cls in edge_ends(classes[[held.argmax()]])[0]]
    largest = max(of_pair, key=len)
    if len(largest) < COHORTS_MIN * context.spec.forming.k:
        return
    second = context.state.codes.part(int(people.cls[largest[0]]))
    people.write(context.rng.permutation(largest)[: len(largest) // 2], cls=second)


def parted(
    context: StepContext, rows: NDArray[np.int64], classes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the part of a class for people that join or change.

    Who has a place or a part of the class already keeps it; for others it is drawn.

    Parameters
    ----------
    context:
        The release in the making.
    rows:
        int64, shape (n,): their rows, -1 of those who join.
    classes:
        int64, shape (n,): their classes.
    """
    state, codes = context.state, context.state.codes
    if not codes.second:
        return classes
    first, second = np.array(list(codes.second.items()), dtype=np.int64).T
    whole = np.arange(len(codes.classes))
    whole[second] = first
    place = np.append(state.people.place, NOBODY)[rows]
    own = np.append(state.people.cls, NOBODY)[rows]
    own = np.where(place != NOBODY, np.append(state.places.cls, NOBODY)[place], own)
    other = np.arange(len(codes.classes))
    other[first] = second
    drawn = np.where(context.rng.random(len(rows)) < 0.5, classes, other[classes])
    return np.where((own != NOBODY) & (whole[own] == classes), own, drawn)
