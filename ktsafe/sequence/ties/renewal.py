"""Which pairs of classes go dark to be planned afresh.

Nothing shown gets older than promised.

Oldest first, and so many that what is left can go in equal shares of the shown edges, release by
release, so their number stays level. How large a share is, is told by `turns`. Of equally old pairs
those go first of which most changed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ktsafe.anonymization.aims import cells_of
from ktsafe.sequence.memory.sequence_tables import Tie
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.turns import TURN

SPREAD = 0.05
"""Share of the edges of a cell that may go dark before others of equally old pairs do."""


def to_renew(state: State) -> list[Tie]:
    """Return the pairs of classes to hide now because of age."""
    shown = list(state.edges.between)
    turns = state.current.turns
    # What a first release shows is as if it were one release old: a share of it goes dark, too.
    number, planned = state.current.number, state.current.planned
    age = {classes: number - planned.get(classes, number - 1) for classes in shown}
    n_edges = {c: len(state.edges.between[c]) for c in shown}
    shown.sort(key=lambda c: (-age[c], -_staleness(state, c), c))
    # What is dark now is shown again in the next release.
    n_all = sum(n_edges.values()) + sum(map(len, state.cleared_edges.between.values()))
    # What goes later is the oldest pairs but for a share of each release that they have left. So
    # there is room for all that waited for a turn.
    due = room = 0.0
    for classes in shown:
        due += n_edges[classes]
        room = max(room, due - n_all * max(1 - turns.since(age[classes]) / TURN, 0.0))
    renewed: list[Tie] = []
    waiting = 0
    for classes in _spread(state, shown, age, n_edges):
        # What is left of the room is for the older pairs that did not fit.
        if age[classes] < waiting or room <= 0:
            break
        if n_edges[classes] <= room:
            renewed.append(classes)
            room -= n_edges[classes]
        else:
            waiting = age[classes]
    return renewed


def _spread(
    state: State, shown: list[Tie], age: dict[Tie, int], n_edges: dict[Tie, int]
) -> Iterator[Tie]:
    """Return pairs, the oldest first.

    Of equally old ones those go first with cells that lost least so far.
    """
    if not shown:
        return
    values = np.array(state.codes.classes, dtype=np.int64).reshape(len(state.codes.classes), -1)
    cells = np.column_stack(cells_of(values, np.array(shown)))
    edges = np.array([n_edges[c] for c in shown], dtype=np.float64)
    ages = np.array([age[c] for c in shown])
    total = np.column_stack([np.bincount(c, edges)[c] for c in cells.T]) + 1
    dark = np.zeros_like(total)
    is_left = np.ones(len(shown), dtype=np.bool_)
    for _ in shown:
        after = ((dark + edges[:, None]) / total).max(axis=1)
        after[~is_left | (ages < ages[is_left].max())] = np.inf
        i = int(np.argmax(after <= after.min() + SPREAD))
        yield shown[i]
        is_left[i] = False
        dark += np.where(cells == cells[i], edges[i], 0.0)


def _staleness(state: State, classes: Tie) -> float:
    """Return a pair's ended edges and hidden young ties, per true."""
    n_stale = state.edges.n_ended[classes] + state.hidden_ties.n_young[classes]
    n_true = len(state.edges.between[classes]) - state.edges.n_inserted[classes]
    return n_stale / max(n_true, 1)
