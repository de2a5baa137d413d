"""Raises: ties that were held back are published under cover, whole cohorts at a time.

All raises between two classes a and b form one *wave*: a set of units, each a whole cohort or a
part split off one, all of whose members gain exactly one neighbour of the other class. The units of
class a and those of class b have equally many members, so a perfect matching gives everybody one
edge; as many of its edges as possible are true ties. Every member of a unit gains the same, so it
stays on one location, and nobody can be told by what was gained.
"""

from __future__ import annotations

import numpy as np

from ktsafe.sequence.exact.sizes import NEW, Choice, Unit
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.people.blocks import Frame, insert_places
from ktsafe.sequence.ties.balance import balanced
from ktsafe.sequence.ties.growth import Pending, grown
from ktsafe.sequence.ties.pairing import matched_by_slack
from ktsafe.sequence.ties.units import split_off


def raise_due(state: State, frame: Frame, lag_max: int, rng: np.random.Generator) -> set[Tie]:
    """Publish every tie that has been held back for `lag_max` releases, and what comes cheap.

    Returns the pairs of classes between which something was raised.
    """
    raised: set[Tie] = set()
    for classes in sorted(state.held_between):
        while due := _due(state, classes, lag_max):
            pending = _oriented(state, classes)
            cohorts = grown(state, pending, due, frame.params.group_size_min)
            chosen = _chosen(state, pending, cohorts, due)
            _publish(state, frame, classes, chosen, rng)
            raised.add(classes)
    return raised


def _due(state: State, classes: Tie, lag_max: int) -> set[int]:
    """Relabel ties whose edge is there already; return the rows that must not wait longer."""
    due = set()
    for row in sorted(state.held_between.get(classes, ())):
        u, v = state.held_places(row)
        edge = state.adjacent[u].get(v)
        if edge is not None:
            relabel(state, row, edge)
        elif state.release - state.held.get(row, st.HELD_SINCE) >= lag_max:
            due.add(row)
    return due


def relabel(state: State, row: int, edge: int) -> None:
    """Let an inserted edge stand for a tie that was held back: nothing visible happens."""
    state.unhold(row)
    state.edges.set(edge, st.IS_TRUE, 1)
    state.count("relabelled")


def _oriented(state: State, classes: Tie) -> Pending:
    pending = {}
    for row in sorted(state.held_between[classes]):
        u, v = state.held_places(row)
        pending[row] = (u, v) if state.cls(u) == classes[0] else (v, u)
    return pending


def _chosen(state: State, pending: Pending, cohorts: set[int], due: set[int]) -> Pending:
    """Return ties between the chosen cohorts, at most one of each place, due and old ones first."""
    used: set[int] = set()
    chosen = {}
    for row in sorted(
        pending, key=lambda row: (row not in due, state.held.get(row, st.HELD_SINCE), row)
    ):
        u, v = pending[row]
        if used.isdisjoint((u, v)) and {state.cohort(u), state.cohort(v)} <= cohorts:
            used.update((u, v))
            chosen[row] = (u, v)
    return chosen


def _publish(
    state: State, frame: Frame, classes: Tie, ties: Pending, rng: np.random.Generator
) -> None:
    """Split, balance, match, and release the edges."""
    sides: list[dict[int, Unit]] = [{}] if classes[0] == classes[1] else [{}, {}]
    for tie in ties.values():
        for side, place in zip((sides[0], sides[-1]), tie, strict=True):
            label = state.cohort(place)
            side.setdefault(label, Unit(label, set())).wanted.add(place)
    choices = balanced(state, frame, classes, sides)
    members = [
        _members(state, frame, cls, choice, rng)
        for cls, choice in zip(classes, choices, strict=False)
    ]
    tied = {place for tie in ties.values() for place in tie}
    rest = [[place for place in side if place not in tied] for side in members]
    for row, (u, v) in ties.items():
        state.unhold(row)
        state.add_edge(u, v, is_true=True)
    for u, v in _matched(state, frame, classes, rest, rng):
        state.add_edge(u, v, is_true=False)
    state.count("waves")
    state.count("raised", len(ties))


def _members(
    state: State, frame: Frame, cls: int, choice: Choice, rng: np.random.Generator
) -> list[int]:
    """Return the places of one side, cohorts split as the sizes say."""
    places: list[int] = []
    for unit, size in choice:
        if unit.label == NEW:
            places += insert_places(state, frame, cls, size, rng)
        else:
            places += split_off(state, frame, unit, size, rng)
    return places


def _matched(
    state: State, frame: Frame, classes: Tie, rest: list[list[int]], rng: np.random.Generator
) -> list[Tie]:
    """Match the places that no true tie serves; inserted ones join where that cannot be done."""
    while True:
        pairs = matched_by_slack(state, classes, rest, (), rng)
        if pairs is not None:
            return pairs
        count = max(frame.params.group_size_min, *(len(side) for side in rest))
        count += count % 2
        for cls, side in zip(classes, rest, strict=False):
            side.extend(insert_places(state, frame, cls, count, rng))
