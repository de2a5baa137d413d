"""What a pair of classes can show next: edges planned afresh, or more than now.

Both are programs of the pair (`ktsafe.exact.pair_program`). What a shown tie gains is set here, and
nowhere else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.filling import fill
from ktsafe.exact.imagined import Edges
from ktsafe.exact.pair_program import solve
from ktsafe.graph import edge_keys
from ktsafe.sequence.memory.sorted_numbers import among
from ktsafe.sequence.ties.pairs import PairOfClasses

HIDDEN_MAX = 3.0
"""Inserted edges that a hidden tie counts for at most."""

INSERTED_MAX = 2.0
"""Inserted edges that a pair may show for each true one."""

YOUNG = 4.0
"""Inserted edges that a young tie counts for beside those of any other, where few are young."""

CHANCE = 2.0
"""How much of an edge's gain is drawn when its pair is planned afresh. Without that, what a member
of a cohort gained and lost over two releases would tell more about their true ties."""

GAIN_MIN = 1e-6
"""What an inserted edge gains at least that is shown again. If all were drawn anew, those that are
shown again and again would be the true ties."""


def weight_of(n_true: int, n_edges: int, n_ties: int, *, is_grown: bool) -> float:
    """Return for how many inserted edges a hidden tie counts: more, the less a release tells.

    With a weight of 2 / F1 - 1 all edges are shown that raise F1, with 1 those that lower the cost.
    The weight lies in between: one less than the former where people came later, since their
    cohorts fit badly, and else two less. It is small, too, where a release has nearly as many
    inserted edges as it may.

    Parameters
    ----------
    n_true, n_edges, n_ties:
        Released edges that are true ties, all released edges, and all true ties.
    is_grown:
        Whether anybody of the pair of classes was published after the first release.

    Examples
    --------
    >>> [weight_of(60, 100, n_ties, is_grown=False) for n_ties in (140, 170, 200, 300)]
    [1.0, 1.5, 2.0, 3.0]
    >>> weight_of(60, 100, 140, is_grown=True)
    2.0
    """
    if not n_true:
        return INSERTED_MAX
    by_f1 = (n_edges + n_ties) / n_true - (2 if is_grown else 3)
    bearable = INSERTED_MAX * n_true / max(n_edges - n_true, 1)
    return max(min(by_f1, bearable, HIDDEN_MAX), 1.0)


def gains(pair: PairOfClasses, weight: float) -> NDArray[np.float64]:
    """Return what each of the pair's ties gains if it is shown: float64, shape (ties,).

    Cohorts were formed by the ties of their time, so that younger ties fit worse and would seldom
    be shown. They gain more, the fewer they are; where half of the ties are young, or more, age
    tells nothing apart.
    """
    share = pair.is_young.mean() if pair.n_ties else 0.0
    return 2 * pair.weight + weight - 1 + YOUNG * max(0.0, 1 - 2 * share) * pair.is_young


def loss(pair: PairOfClasses, edges: Edges, weight: float) -> float:
    """Return what it costs to show exactly these edges, each hidden tie counting so much."""
    n_hidden = pair.n_ties - int(pair.is_tie(edges).sum())
    return pair.cost(edges) + (weight - 1) * n_hidden


def afresh(pair: PairOfClasses, rng: np.random.Generator, weight: float) -> Edges | None:
    """Return the best edges found for a pair without edges; None: better none.

    Edges that were shown last are shown again where they fit, true or inserted, and others come and
    go without a cause. Ties of people who left gain as much as those of people who are there: if
    they did not return, who left would be told by the share of neighbours that a place lost.
    """
    ties, last = pair.ties, pair.former
    is_other = ~among(edge_keys(last), edge_keys(ties))
    others, are_left = last[is_other], pair.is_left[is_other]
    edges = np.concatenate((ties, others))
    gain = np.append(gains(pair, weight), (1 + weight) * are_left)
    if len(last):
        gain = np.maximum(gain + CHANCE * (rng.random(len(gain)) - 0.5), GAIN_MIN)
    program = pair.program(edges, gain, 1.0)
    plan = solve(program, rng=rng, effort="fast")
    return fill(program, plan.r, plan.s, edges[plan.shown], rng=rng) if plan.value > 0 else None


def raised(pair: PairOfClasses, rng: np.random.Generator, weight: float) -> Edges | None:
    """Return what a pair shows if hidden ties come in, all members of a cohort gaining alike.

    None if that does not pay.
    """
    gain = gains(pair, weight)[pair.n_ties - len(pair.hidden) :]
    program = pair.program(pair.hidden, gain, 1.0)
    plan = solve(program, rng=rng)
    if plan.value <= 0:
        return None
    before = pair.degrees()
    r, s = plan.r + before[program.a], plan.s + before[program.b]
    kept = np.concatenate((pair.shown, pair.hidden[plan.shown]))
    edges = fill(program, r, r if program.is_one else s, kept, rng=rng)
    if edges is None or not among(edge_keys(pair.shown), edge_keys(edges)).all():
        return None
    return edges


def best(pair: PairOfClasses, seed: int, weight: float) -> Edges:
    """Return what a pair shows: more than now, as much, or nothing where that costs less.

    A pair without edges is planned afresh. Where a tie counts for so many inserted edges, no pair
    costs more than it would without edges.
    """
    rng = np.random.default_rng(seed)
    dark = loss(pair, pair.shown[:0], weight)
    more = (raised if len(pair.shown) else afresh)(pair, rng, weight)
    if more is not None and loss(pair, more, weight) <= dark:
        return more
    return pair.shown if loss(pair, pair.shown, weight) <= dark else pair.shown[:0]
