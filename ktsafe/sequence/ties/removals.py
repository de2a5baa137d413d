"""Hard departures: the id of who leaves vanishes at once, and what was a tie is exchanged.

The place gets another published id, its *successor*: an inserted vertex that belongs to nobody. To
the certificate nothing changes, since a place is one object whatever id names it. Each former true
tie (p, u) is exchanged for an inserted edge (y, z), y of p's class and z of u's: both go, and
(y, u) and (p, z) are released. No location changes. But u, y, z and p visibly change by themselves:
the cover excepts these places and no others. What cannot be exchanged stays residual, and goes
later, under cover.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.people.blocks import draw_published
from ktsafe.sequence.ties.raising import relabel

TRIES_MAX = 200
"""Inserted edges that are looked at for one tie."""


@dataclasses.dataclass(slots=True)
class Removals:
    """What departures removed in one release. Private.

    Attributes
    ----------
    successions:
        Published ids: the one that vanished and its successor.
    places:
        The places that got another id, ascending.
    touched:
        The places at the ends of exchanged edges: they visibly change by themselves.
    """

    successions: list[Tie] = dataclasses.field(default_factory=list)
    places: list[int] = dataclasses.field(default_factory=list)
    touched: set[int] = dataclasses.field(default_factory=set)

    def retired(self, gone: list[int]) -> list[int]:
        """Return the ids that vanish with whole cohorts, ascending.

        A place that was left in this release and vanishes with its cohort needs no other id, and
        nobody ever sees the one that it got: it vanishes under the former one, as the others do.
        """
        former = {successor: old for old, successor in self.successions}
        self.successions = [pair for pair in self.successions if pair[1] not in gone]
        return sorted(former.get(published, published) for published in gone)


def remove_places(state: State, left: set[int], rng: np.random.Generator) -> Removals:
    """Give every place that was left in this release another published id.

    Parameters
    ----------
    left:
        The cohorts that people left.
    """
    removals = Removals()
    for label in sorted(left):
        for place in state.members[label]:
            if state.places.get(place, st.LEFT) == state.release:
                removals.places.append(place)
    removals.places.sort()
    drawn = draw_published(state, len(removals.places), rng).tolist()
    for place, successor in zip(removals.places, drawn, strict=True):
        removals.successions.append((state.places.get(place, st.PUBLISHED), successor))
        state.places.set(place, st.PUBLISHED, successor)
        state.places.set(place, st.KIND, st.INSERTED)
    state.count("removed", len(removals.places))
    return removals


def exchange_ties(state: State, removals: Removals, rng: np.random.Generator) -> None:
    """Exchange the residual edges of removed places, where nobody else is seen to change.

    Comes after everything that moves under cover: whoever moved so takes no part, or the others who
    moved alike would lose their cover.
    """
    moved = {end for edges in (state.gained, state.lost) for edge in edges for end in edge}
    pools: dict[Tie, list[int]] = {}
    for place in removals.places:
        for other, edge in sorted(state.adjacent[place].items()):
            if state.edges.get(edge, st.IS_TRUE) != st.RESIDUAL or not moved.isdisjoint(
                (place, other)
            ):
                continue
            pair = state.class_pair(place, other)
            if pair not in pools:
                pools[pair] = _pool(state, pair, moved, rng)
            found = _partner(state, place, other, pools[pair])
            if found is not None:
                removals.touched.update((place, other, *found))
                _exchange(state, (place, other), found)
                state.count("exchanged")


def _pool(state: State, pair: Tie, moved: set[int], rng: np.random.Generator) -> list[int]:
    """Return rows of edges that may be exchanged, residual ones first, else as it falls."""
    rows = [
        row
        for row in sorted(state.between.get(pair, ()))
        if _is_free(state, row)
        and moved.isdisjoint((state.edges.get(row, st.LOW), state.edges.get(row, st.HIGH)))
    ]
    order = [rows[i] for i in rng.permutation(len(rows)).tolist()]
    return sorted(order, key=lambda row: state.edges.get(row, st.IS_TRUE) != st.RESIDUAL)


def _is_free(state: State, row: int) -> bool:
    """Whether an edge is no true tie, and was there before this release."""
    return not state.is_true(row) and 0 <= state.edges.get(row, st.ADDED) < state.release


def _partner(state: State, p: int, u: int, pool: list[int]) -> Tie | None:
    """Take an edge (y, z) out of the pool for which (p, u) can be exchanged; None if none is."""
    for i, row in enumerate(pool[:TRIES_MAX]):
        low, high = state.edges.get(row, st.LOW), state.edges.get(row, st.HIGH)
        # An earlier exchange may have taken the edge, and its row may be another one's by now.
        if state.adjacent[low].get(high) != row or not _is_free(state, row):
            continue
        for y, z in ((low, high), (high, low)):
            fits = state.cls(y) == state.cls(p) and state.cls(z) == state.cls(u)
            if fits and _is_new(state, y, u) and _is_new(state, p, z):
                del pool[i]
                return y, z
    return None


def _is_new(state: State, u: int, v: int) -> bool:
    """Whether there is no edge, and was none before this release."""
    return u != v and v not in state.adjacent[u] and (min(u, v), max(u, v)) not in state.lost


def _exchange(state: State, tie: Tie, edge: Tie) -> None:
    (p, u), (y, z) = tie, edge
    state.drop_edge(state.adjacent[p][u])
    state.drop_edge(state.adjacent[y][z])
    for one, other in ((y, u), (p, z)):
        row = state.add_edge(one, other, is_true=False)
        ends = [state.places.get(place, st.OWNER) for place in (one, other)]
        held = None if st.NOBODY in ends else state.held_of.get(ends[0], {}).get(ends[1])
        if held is not None:
            relabel(state, held, row)
