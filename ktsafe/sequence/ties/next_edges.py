"""What a pair of classes can show next: edges planned afresh, or more than now.

Both are programs of the pair (`ktsafe.exact.pair_program`). What a shown tie gains is set here, and
nowhere else; what an edge costs is set by the aim of the sequence (`balance`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.dummy_ties import Edges
from ktsafe.exact.pair_program import Pair, solve
from ktsafe.exact.realization import realize
from ktsafe.graph import edge_keys
from ktsafe.sequence.memory.column_table import among
from ktsafe.sequence.ties.pairs import PairOfClasses

GAIN = 2.0
"""What a tie gains, where an edge costs 1 at the aim of least cost."""

YOUNG = 7.0
"""What a young tie gains more, where few are young."""

CHANCE = 1.3
"""How much of an edge's gain is drawn when its pair is planned afresh. Without that, what a member
of a cohort gained and lost over two releases would tell more about their true ties."""

GAIN_MIN = 1e-6
"""What an inserted edge gains at least that is shown again. If all were drawn anew, those that are
shown again and again would be the true ties."""


def gains(pair: PairOfClasses) -> NDArray[np.float64]:
    """Return what each of the pair's ties gains if it is shown: float64, shape (ties,).

    Cohorts were formed by the ties of their time, so that younger ties fit worse and would seldom
    be shown. They gain more, the fewer they are; where half of the ties are young, or more, age
    tells nothing apart.
    """
    share = pair.is_young.mean() if pair.n_ties else 0.0
    return GAIN * pair.weight + YOUNG * max(0.0, 1 - 2 * share) * pair.is_young


def program(pair: PairOfClasses, seed: int) -> Pair:
    """Return the program of what a pair can show next; true ties come first.

    A pair that shows edges can show hidden ties beside them. Else it is planned afresh: edges that
    were shown last are shown again where they fit, true or inserted, and others come and go without
    a cause. Ties of departed people gain as much as those of present people: if they did not
    return, departures would show in the share of neighbours that a place lost.
    """
    if len(pair.shown):
        return pair.program(pair.hidden, gains(pair)[pair.n_ties - len(pair.hidden) :], 1.0)
    rng = np.random.default_rng(seed)
    ties, last = pair.ties, pair.cleared_edges
    is_other = ~among(edge_keys(last), edge_keys(ties))
    gain = np.append(gains(pair), GAIN * pair.is_left[is_other])
    if len(last):
        gain = np.maximum(gain + CHANCE * (rng.random(len(gain)) - 0.5), GAIN_MIN)
    return pair.program(np.concatenate((ties, last[is_other])), gain, 1.0)


def planned(pair: PairOfClasses, program: Pair, seed: int) -> Edges:
    """Return what a pair shows, by its program at the price and total that it was given."""
    rng = np.random.default_rng(seed)
    if len(pair.shown):
        return _raised(pair, program, rng)
    plan = solve(program, rng=rng, effort="fast")
    edges = realize(program, plan.r, plan.s, program.edges[plan.shown], rng=rng)
    return pair.shown if edges is None else edges


def _raised(pair: PairOfClasses, program: Pair, rng: np.random.Generator) -> Edges:
    """Return what a pair shows if hidden ties come in, all members of a cohort gaining alike."""
    plan = solve(program, rng=rng)
    before = pair.degrees()
    r, s = plan.r + before[program.a], plan.s + before[program.b]
    kept = np.concatenate((pair.shown, program.edges[plan.shown]))
    edges = realize(program, r, r if program.is_one else s, kept, rng=rng)
    if edges is None or not among(edge_keys(pair.shown), edge_keys(edges)).all():
        return pair.shown
    return edges
