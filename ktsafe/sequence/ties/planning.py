"""Which edges each pair of classes shows, release by release.

    for each pair of classes that has its turn and changed, or whose edges cost more than its ties:
        do what costs least within the horizon
        keep      what is shown
        raise     show hidden ties beside it: each member of a cohort gains as many
        clear     show nothing, and plan afresh one release later

All members of a cohort gain alike and lose alike, so that nobody is told by what they visibly gain
or lose. In between a pair stays as it is, and a tie that ends stays as an inserted edge. No pair
ever costs more than its ties, so that no release costs more than one without edges.
"""

from __future__ import annotations

import math

import numpy as np

from ktsafe.exact.filling import fill
from ktsafe.exact.pair_program import solve
from ktsafe.graph import edge_keys
from ktsafe.sequence.memory.state import State, Tie
from ktsafe.sequence.ties.pairs import Edges, PairOfClasses, show_exactly

PERIOD = 4
"""Every pair of classes has its turn once in so many releases. One without edges has two: it may
have been cleared in its first."""

STALE_MIN = 0.02
"""Share of its ties that must have come or gone before a pair is planned again."""

HORIZON = 8
"""Releases within which it must pay that a pair is without edges for one."""

RHO = 0.5
"""What it costs, in ties, that an edge appears or does not come back. If inserted edges were drawn
anew each time, those that are shown again and again would be the true ties (AUC .91, not .55)."""


def plan_ties(state: State, rng: np.random.Generator) -> None:
    """Choose what pairs of classes show, where enough changed; the others stay as they are."""
    due = {classes for classes in state.stale if _is_due(state, classes)}
    due |= {classes for classes in state.changed if _is_too_dear(state, classes)}
    for classes in sorted(due | state.opened):
        del state.stale[classes]
        _plan(state, PairOfClasses.of(state, classes), rng)


def _is_too_dear(state: State, classes: Tie) -> bool:
    """Whether the edges between two classes cost more than none would."""
    return 2 * state.n_inserted[classes] > len(state.between[classes])


def _is_due(state: State, classes: Tie) -> bool:
    """Whether two classes have their turn, and enough changed since they had it last."""
    n_shown, n_hidden = len(state.between[classes]), len(state.held_between.get(classes, ()))
    since = (state.release + 5 * classes[0] + 3 * classes[1]) % PERIOD
    if since > (not n_shown):
        return False
    n_ties = n_shown - state.n_inserted[classes] + n_hidden
    return n_hidden > 0 and state.stale[classes] >= STALE_MIN * n_ties


def _plan(state: State, pair: PairOfClasses, rng: np.random.Generator) -> None:
    """Do what costs least within the horizon."""
    nothing = pair.shown[:0]
    now = pair.n_hidden + pair.n_inserted
    ways = [("kept", pair.shown, HORIZON * now if now <= pair.n_ties else math.inf)]
    raised = _raised(pair, rng) if len(pair.shown) else _afresh(pair, rng)
    if raised is not None and (planned := _planned(pair, raised)) is not None:
        ways.append(("raised", raised, HORIZON * planned))
    if len(pair.shown):
        afresh = _afresh(pair, rng)
        later = _planned(pair, afresh) if afresh is not None else None
        dark = pair.n_ties
        if later is not None:
            ways.append(("cleared", nothing, dark + (HORIZON - 1) * later))
        ways.append(("cleared", nothing, HORIZON * dark))
    what, edges, _ = min(ways, key=lambda way: way[2])
    if what != "kept":
        state.forget_former(pair.classes)
        if what == "cleared":
            state.remember(pair.classes)
            state.stale[pair.classes] = pair.n_ties
        show_exactly(state, pair, edges)
        state.count(f"pairs_{what}")


def _afresh(pair: PairOfClasses, rng: np.random.Generator) -> Edges | None:
    """Return the best edges found for a pair without edges; None: better none.

    Edges that were shown last are shown again where they fit, true or inserted.
    """
    last = pair.shown if len(pair.shown) else pair.former
    ties = np.concatenate((pair.shown[pair.is_true], pair.hidden))
    is_last = np.isin(edge_keys(ties), edge_keys(last))
    others = last[~np.isin(edge_keys(last), edge_keys(ties))]
    edges = np.concatenate((ties, others))
    gain = np.concatenate((2 + 2 * RHO * is_last, np.full(len(others), 2 * RHO)))
    program = pair.program(edges, gain, 1 + RHO if len(last) else 1.0)
    plan = solve(program, rng=rng, effort="fast")
    return fill(program, plan.r, plan.s, edges[plan.shown], rng=rng) if plan.value > 0 else None


def _raised(pair: PairOfClasses, rng: np.random.Generator) -> Edges | None:
    """Return what a pair shows if hidden ties come in, all members of a cohort gaining alike."""
    program = pair.program(pair.hidden, np.full(pair.n_hidden, 2.0), 1.0)
    plan = solve(program, rng=rng)
    if plan.value <= 0:
        return None
    before = pair.degrees()
    r, s = plan.r + before[program.a], plan.s + before[program.b]
    kept = np.concatenate((pair.shown, pair.hidden[plan.shown]))
    edges = fill(program, r, r if program.is_one else s, kept, rng=rng)
    if edges is None or not np.isin(edge_keys(pair.shown), edge_keys(edges)).all():
        return None
    return edges


def _planned(pair: PairOfClasses, edges: Edges) -> int | None:
    """Return what it costs that a pair shows these edges; None where that is more than its ties."""
    true = pair.n_true(edges)
    hidden, inserted = pair.n_ties - true, len(edges) - true
    return hidden + inserted if hidden + inserted <= pair.n_ties else None
