"""Lowering: what nobody needs any more is taken back, whole cohorts at a time.

The counterpart of a raise. A *cell*, a cohort and a class, has slack if each member has an edge to
that class that is no true tie. A set of cells between two classes can be lowered if such edges
match all their members perfectly: everybody loses one neighbour of the other class. Together with
a raise in the same release it is a rotation: everybody loses one and gains one.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.sequence import state as st
from ktsafe.sequence.state import Cell, State

COHORTS_MAX = 48
"""Cohorts that one lowering looks at."""


def lower(state: State, cells: set[Cell], rng: np.random.Generator) -> None:
    """Lower around each of the given cells, where that can be done."""
    done: set[Cell] = set()
    for cell in sorted(cells):
        if cell in done or cell[0] not in state.members:
            continue
        found = _system(state, cell)
        done |= set(found)
        while found:
            dropped, lacking = _matching(found, rng)
            if not lacking:
                for edge in dropped:
                    state.drop_edge(edge)
                state.count("lowered", len(dropped))
                break
            found = _without(state, found, lacking)


Options = dict[int, dict[int, int]]
"""For each member of a cell its neighbours across droppable edges, and the edges."""


def _system(state: State, start: Cell) -> dict[Cell, Options]:
    """Return cells with slack that edges without a tie connect to the first, closed."""
    cells: dict[Cell, Options] = {}
    refused: set[Cell] = set()
    queue = [start]
    while queue and len(cells) < COHORTS_MAX:
        cell = queue.pop(0)
        if cell in cells or cell in refused:
            continue
        options = _options(state, cell)
        if options is None:
            refused.add(cell)
            continue
        cells[cell] = options
        here = state.cls(state.members[cell[0]][0])
        reached = {state.cohort(other) for others in options.values() for other in others}
        queue += [(label, here) for label in sorted(reached)]
    return _closed(cells) if start in cells else {}


def _options(state: State, cell: Cell) -> Options | None:
    """Return what each member could lose; None where a member has nothing."""
    label, cls = cell
    options: Options = {}
    for place in state.members[label]:
        mine = {
            other: edge
            for other, edge in sorted(state.adjacent[place].items())
            if state.cls(other) == cls
            and not state.is_true(edge)
            # One that appears in this release would vanish unseen, while others visibly change.
            and state.edges.get(edge, st.ADDED) < state.release
        }
        if not mine:
            return None
        options[place] = mine
    return options


def _closed(cells: dict[Cell, Options]) -> dict[Cell, Options]:
    """Remove edges that leave the system, and cells with a member that has none left."""
    while True:
        inside = {place for options in cells.values() for place in options}
        lacking = set()
        for cell, options in cells.items():
            for place, others in options.items():
                options[place] = {o: e for o, e in others.items() if o in inside}
                if not options[place]:
                    lacking.add(cell)
        if not lacking:
            return cells
        cells = {cell: options for cell, options in cells.items() if cell not in lacking}


def _without(state: State, cells: dict[Cell, Options], lacking: set[int]) -> dict[Cell, Options]:
    """Remove the cells of members that were not matched."""
    labels = {state.cohort(place) for place in lacking}
    return _closed({cell: o for cell, o in cells.items() if cell[0] not in labels})


def _matching(cells: dict[Cell, Options], rng: np.random.Generator) -> tuple[list[int], set[int]]:
    """Match members greedily, those with fewest choices first; return edges and the unmatched."""
    adjacent = {p: dict(others) for options in cells.values() for p, others in options.items()}
    places = sorted(adjacent)
    tie_break = dict(zip(places, rng.random(len(places)).tolist(), strict=True))
    buckets: defaultdict[int, set[int]] = defaultdict(set)
    for place, others in adjacent.items():
        buckets[len(others)].add(place)
    edges: list[int] = []
    unmatched: set[int] = set()
    alive = set(places)
    while alive:
        degree = next(d for d in range(len(places) + 1) if buckets[d])
        place = min(buckets[degree], key=tie_break.__getitem__)
        gone = [place]
        if degree == 0:
            unmatched.add(place)
        else:
            partner = min(adjacent[place], key=lambda o: (len(adjacent[o]), tie_break[o]))
            edges.append(adjacent[place][partner])
            gone.append(partner)
        for leaver in gone:
            buckets[len(adjacent[leaver])].discard(leaver)
            alive.discard(leaver)
        for leaver in gone:
            for other in adjacent.pop(leaver):
                if other in alive:
                    buckets[len(adjacent[other])].discard(other)
                    del adjacent[other][leaver]
                    buckets[len(adjacent[other])].add(other)
                elif other in adjacent:
                    del adjacent[other][leaver]
    return edges, unmatched
