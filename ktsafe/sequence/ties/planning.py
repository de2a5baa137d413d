"""Which edges of a pair of classes a release shows.

    without cover, for each pair of classes whose turn it is and that changed:
        candidates  =  true ties, and inserted edges that are shown
        maximize    ties shown  -  edges inserted  -  rho (edges that appear or disappear)
    with cover, where all members of a cohort gain alike and lose alike:
        a pair without edges is planned anew                       (rebuild)
        a pair gains hidden ties: the same number for each member  (wave)
        a pair that is dearer than its ties, or much dearer than a new plan, loses all  (clear)

In either case the shown graph stays as it is where nothing pays, so that no release is dearer than
the former one shown again; and no pair of classes is dearer than without edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ktsafe.exact.filling import fill
from ktsafe.exact.pair_program import solve
from ktsafe.graph import edge_keys
from ktsafe.sequence.memory import state as st
from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.ties.pairs import Edges, PairOfClasses, show_exactly

RHO = 0.3
"""What an edge that appears or disappears costs, in ties. Free changes would tell true ties from
inserted ones by age (AUC .97); with .3 they do not (.53)."""

PERIOD = 8
"""Every pair of classes has its turn once in so many releases."""


class Planned(NamedTuple):
    """Edges that a pair might show, and what that costs."""

    edges: Edges
    cost: int


def plan_ties(state: State, *, cover: bool, rng: np.random.Generator) -> None:
    """Choose what every pair of classes shows."""
    for classes in sorted(state.held_between.keys() | {p for p, e in state.between.items() if e}):
        if cover:
            _plan_covered(state, classes, rng)
        else:
            _plan_freely(state, classes, rng)


def turn(state: State, classes: Tie) -> int:
    """Return how many releases ago a pair had its turn; 0 now."""
    return (state.release + 5 * classes[0] + 3 * classes[1]) % PERIOD


def _plan_freely(state: State, classes: Tie, rng: np.random.Generator) -> None:
    pair = PairOfClasses.of(state, classes)
    found = improved(pair, RHO, rng) if pair.n_ties else None
    if found is not None and found.cost + RHO * pair.changed_by(found.edges) < pair.cost:
        show_exactly(state, pair, found.edges)
        state.count("pairs_planned")
        pair = PairOfClasses.of(state, classes)
    if pair.cost > pair.n_ties:
        show_exactly(state, pair, pair.shown[:0])
        state.count("pairs_cleared")


def _plan_covered(state: State, classes: Tie, rng: np.random.Generator) -> None:
    pair = PairOfClasses.of(state, classes)
    if pair.cost > pair.n_ties:
        show_exactly(state, pair, pair.shown[:0])
        state.count("pairs_cleared")
        return
    is_new = bool((state.places.rows[pair.places, st.BORN] == state.release).any())
    since = turn(state, classes)
    if not (is_new or since == 0 or (since == 1 and not len(pair.shown))):
        return
    if len(pair.shown) and since == 0:
        fresh = improved(pair, 0.0, rng)
        if fresh is not None and pair.n_ties + (PERIOD - 1) * fresh.cost < PERIOD * pair.cost:
            show_exactly(state, pair, pair.shown[:0])
            state.count("pairs_cleared")
            return
    found = raised(pair, rng)
    if found is not None and found.cost < pair.cost:
        show_exactly(state, pair, found.edges)
        state.count("pairs_raised")


def improved(pair: PairOfClasses, rho: float, rng: np.random.Generator) -> Planned | None:
    """Return the cheapest edges found for a pair, given what it shows; None: better none."""
    candidates = np.concatenate((pair.shown, pair.hidden))
    is_tie = np.concatenate((pair.is_true, np.ones(len(pair.hidden), dtype=np.bool_)))
    is_shown = np.arange(len(candidates)) < len(pair.shown)
    gain = 2.0 * is_tie + 2 * rho * is_shown
    used = gain > 0
    program = pair.program(candidates[used], gain[used], 1 + rho)
    plan = solve(program)
    if plan.value <= 0:
        return None
    edges = fill(program, plan.r, plan.s, program.edges[plan.shown], rng=rng)
    return None if edges is None else Planned(edges, pair.cost_of(edges))


def raised(pair: PairOfClasses, rng: np.random.Generator) -> Planned | None:
    """Return what a pair shows if hidden ties come in, all members of a cohort gaining alike."""
    program = pair.program(pair.hidden, np.full(len(pair.hidden), 2.0), 1.0)
    plan = solve(program)
    if plan.value <= 0:
        return None
    before = pair.degrees()
    r, s = plan.r + before[program.a], plan.s + before[program.b]
    kept = np.concatenate((pair.shown, pair.hidden[plan.shown]))
    edges = fill(program, r, r if program.is_one else s, kept, rng=rng)
    if edges is None or not np.isin(edge_keys(pair.shown), edge_keys(edges)).all():
        return None
    return Planned(edges, pair.cost_of(edges))
