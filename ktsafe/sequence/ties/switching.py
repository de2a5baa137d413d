"""Switches, for sequences without cover: a new tie replaces two inserted edges of its ends.

With inserted edges (v, x) and (w, y), x of w's class and y of v's, both are dropped, and (v, w) and
(x, y) released: no location changes, and one inserted edge fewer is needed. But only four vertices
visibly change, which is why `cover` does without.
"""

from __future__ import annotations

from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State


def switch_held(state: State) -> None:
    """Publish every tie that is held back and can be had by a switch."""
    for classes in sorted(state.held_between):
        for row in sorted(state.held_between.get(classes, ())):
            v, w = state.held_places(row)
            found = _exchange(state, v, w)
            if found is None:
                continue
            x, y = found
            state.drop_edge(state.adjacent[v][x])
            state.drop_edge(state.adjacent[w][y])
            state.unhold(row)
            state.add_edge(v, w, is_true=True)
            state.add_edge(x, y, is_true=False)
            state.count("switched")


def _exchange(state: State, v: int, w: int) -> tuple[int, int] | None:
    """Return inserted neighbours x of v and y of w that can become neighbours instead."""
    if w in state.adjacent[v]:
        return None
    left = _inserted(state, v, state.cls(w))
    right = _inserted(state, w, state.cls(v))
    for x in left:
        for y in right:
            if x != y and y not in state.adjacent[x]:
                return x, y
    return None


def _inserted(state: State, place: int, cls: int) -> list[int]:
    """Return neighbours of a class across edges that are no true tie, residual ones first."""
    found = [
        (state.edges.get(edge, st.IS_TRUE) != st.RESIDUAL, other)
        for other, edge in state.adjacent[place].items()
        if state.cls(other) == cls and not state.is_true(edge)
    ]
    return [other for _, other in sorted(found)]
