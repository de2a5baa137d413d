"""Which edges each pair of classes shows, release by release.

    for each pair of classes whose edges cost more than its ties:
        clear it
    for each pair of classes whose turn it is, or in which somebody is new:
        without edges:  plan it afresh
        else            plan it afresh; if that pays within the horizon, clear it
                        else raise it: show hidden ties, each member of a cohort gaining as many

All members of a cohort gain alike and lose alike: where a pair is cleared all lose what they had,
where it is planned afresh one release later all gain what they get. So nobody is told by what they
visibly gain or lose. In between a pair stays as it is, and a tie that ends stays as an inserted
edge. No pair ever costs more than its ties, so no release costs more than one without edges.
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

PERIOD = 4
"""Every pair of classes has its turn once in so many releases."""

HORIZON = 8
"""Releases within which it must pay that a pair is without edges for one."""

HIDDEN_WEIGHT = 1.0
"""What a hidden tie costs, in inserted edges."""


class Planned(NamedTuple):
    """Edges that a pair might show, and the loss if it does."""

    edges: Edges
    loss: float


def plan_ties(state: State, rng: np.random.Generator) -> None:
    """Choose what every pair of classes shows."""
    has_edges = {classes for classes, edges in state.between.items() if edges}
    for classes in sorted(state.held_between.keys() | has_edges):
        pair = PairOfClasses.of(state, classes)
        if pair.n_hidden + pair.n_inserted > pair.n_ties:
            _clear(state, pair)
        elif pair.n_hidden and _is_due(state, pair):
            _plan(state, pair, rng)


def _is_due(state: State, pair: PairOfClasses) -> bool:
    """Whether a pair has its turn, or had it a release ago and was cleared, or somebody is new."""
    since = (state.release + 5 * pair.classes[0] + 3 * pair.classes[1]) % PERIOD
    if since == 0 or (since == 1 and not len(pair.shown)):
        return True
    return bool((state.places.rows[pair.places, st.BORN] == state.release).any())


def _plan(state: State, pair: PairOfClasses, rng: np.random.Generator) -> None:
    now = _loss(pair.n_hidden, pair.n_inserted)
    if len(pair.shown):
        afresh = _afresh(pair, rng)
        dark = _loss(pair.n_ties, 0)
        if afresh is not None and dark + (HORIZON - 1) * afresh.loss < HORIZON * now:
            _clear(state, pair)
            return
    planned = _raised(pair, rng)
    if planned is not None and planned.loss < now:
        show_exactly(state, pair, planned.edges)
        state.count("pairs_raised" if len(pair.shown) else "pairs_planned")


def _clear(state: State, pair: PairOfClasses) -> None:
    show_exactly(state, pair, pair.shown[:0])
    state.count("pairs_cleared")


def _loss(hidden: int, inserted: int) -> float:
    return HIDDEN_WEIGHT * hidden + inserted


def _afresh(pair: PairOfClasses, rng: np.random.Generator) -> Planned | None:
    """Return the best edges found for a pair, whatever it shows; None: better none."""
    ties = np.concatenate((pair.shown[pair.is_true], pair.hidden))
    program = pair.program(ties, np.full(len(ties), 1 + HIDDEN_WEIGHT), 1.0)
    plan = solve(program, rng=rng, effort="fast")
    edges = fill(program, plan.r, plan.s, ties[plan.shown], rng=rng) if plan.value > 0 else None
    return _planned(pair, edges)


def _raised(pair: PairOfClasses, rng: np.random.Generator) -> Planned | None:
    """Return what a pair shows if hidden ties come in, all members of a cohort gaining alike."""
    program = pair.program(pair.hidden, np.full(pair.n_hidden, 1 + HIDDEN_WEIGHT), 1.0)
    plan = solve(program, rng=rng)
    if plan.value <= 0:
        return None
    before = pair.degrees()
    r, s = plan.r + before[program.a], plan.s + before[program.b]
    kept = np.concatenate((pair.shown, pair.hidden[plan.shown]))
    edges = fill(program, r, r if program.is_one else s, kept, rng=rng)
    if edges is None or not np.isin(edge_keys(pair.shown), edge_keys(edges)).all():
        return None
    return _planned(pair, edges)


def _planned(pair: PairOfClasses, edges: Edges | None) -> Planned | None:
    """Return edges with their loss; None where there are none, or they cost more than the ties."""
    if edges is None:
        return None
    true = pair.n_true(edges)
    hidden, inserted = pair.n_ties - true, len(edges) - true
    return None if hidden + inserted > pair.n_ties else Planned(edges, _loss(hidden, inserted))
