"""Which edges each pair of classes shows, release by release.

    for each pair of classes that has its turn and changed, or whose edges cost more than its ties:
        do what costs least within the next releases
        keep      what is shown
        raise     show hidden ties beside it: each member of a cohort gains as many
        clear     show nothing, and plan afresh one release later

All members of a cohort gain alike and lose alike, so that nobody is told by what they visibly gain
or lose. In between a pair stays as it is, and a tie that ends stays as an inserted edge. Where a
release tells little, a hidden tie counts for more than an inserted edge (`weight_of`).
Inserted members count as people with ties (`imagined`). Should all pairs together cost more than no
edges would, the least true are cleared.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import repeat

import numpy as np

from ktsafe.exact.filling import fill
from ktsafe.exact.imagined import Edges
from ktsafe.exact.pair_program import solve
from ktsafe.graph import edge_keys
from ktsafe.sequence.memory.current import Tie
from ktsafe.sequence.memory.place_table import INSERTED
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.frame import Draft
from ktsafe.sequence.ties.guise import disguise
from ktsafe.sequence.ties.pairs import PairOfClasses, show_exactly, with_imagined

PERIOD = 4
"""Every pair of classes has its turn once in so many releases; one without edges has two."""

STALE_MIN = 0.02
"""Share of its ties that must have come or gone before a pair is planned again. A pair without
edges need not wait for its turn if all have: it was cleared one release ago."""

HORIZON_MAX = 8
"""Releases within which it must pay that a pair is without edges for one, at most. Where ties come
and go faster, it is the releases in which as many do as there are."""

HIDDEN_MAX = 3.0
"""Inserted edges that a hidden tie counts for at most."""

INSERTED_MAX = 2.0
"""Inserted edges that a pair may show for each true one."""

DARK_MAX = 1 / 3
"""Share of the true ties shown that may go dark at once by choice, the last pair counting half: one
of three large pairs may, and no pair with more than two thirds. Where there are few kinds of
people, all pairs may be best cleared in the same release."""

RHO = 0.5
"""What it costs, in ties, that an edge appears or does not come back. If inserted edges were drawn
anew each time, those that are shown again and again would be the true ties (AUC .91, not .55)."""


Way = tuple[str, Edges]
"""What a pair of classes does, and which edges it shows then."""

Choice = tuple[Way, Way]
"""What is best, and what is best while the pair may not be cleared: one and the same object where
it is not cleared, or must be."""


def plan_ties(draft: Draft) -> None:
    """Choose what pairs of classes show, where enough changed; the others stay as they are."""
    state = draft.state
    due = {classes for classes in state.current.stale if _is_due(state, classes)}
    due |= {classes for classes in state.current.changed if _is_too_dear(state, classes)}
    turns = sorted(due | state.current.opened)
    # Those of which most changed come first: others wait where too much would go dark.
    turns.sort(key=lambda classes: -_share_changed(state, classes))
    pairs = [PairOfClasses.of(state, classes) for classes in turns]
    padded = [pair for pair in pairs if pair.is_inserted.any()]
    pairs = [pair for pair in pairs if not pair.is_inserted.any()]
    room = DARK_MAX * _counts(state)[0]
    for pair, choice in zip(pairs, _plans(draft, pairs), strict=True):
        room -= _take(state, pair, choice, room)
    for pair in padded:
        room -= _take(state, pair, _choice_padded(draft, pair), room)
    _clear_least_true(state)
    effort = draft.frame.options.effort if state.current.number == 0 else "fast"
    disguise(draft, effort)


def _take(state: State, pair: PairOfClasses, choice: Choice, room: float) -> int:
    """Let a pair do what is best; return how many of its true ties go dark.

    One with more than twice as many as may go dark waits: it is not cleared by choice.
    """
    best, lit = choice
    n_true = int(pair.is_true.sum())
    waits = best is not lit and n_true / 2 > room
    if not waits:
        del state.current.stale[pair.classes]
    what, edges = lit if waits else best
    _do(state, pair, what, edges)
    return n_true if what == "cleared" else 0


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


def _plans(draft: Draft, pairs: list[PairOfClasses]) -> list[Choice]:
    """Return what each pair does.

    Where nothing was shown yet, a first plan with weight 1 tells how much can be.
    """
    state, seeds = draft.state, draft.seeds(len(pairs))
    horizons = [_horizon(state, pair) for pair in pairs]
    # A pair is a part: what it shows changes nothing that another one looks at.
    run = partial(draft.run, _best, pairs, seeds, horizons)
    n_true, n_edges, n_ties = _counts(state)
    plans = [] if n_edges else list(run(repeat(1.0)))
    if plans:
        shown = [edges for (_, edges), _ in plans]
        n_edges = sum(map(len, shown))
        n_true = sum(int(p.is_tie(edges).sum()) for p, edges in zip(pairs, shown, strict=True))
    weights = [weight_of(n_true, n_edges, n_ties, is_grown=pair.is_grown) for pair in pairs]
    return plans if plans and max(weights) == 1 else list(run(weights))


def _horizon(state: State, pair: PairOfClasses) -> float:
    """Return for how many releases a plan counts, by the ties that changed in this one."""
    n_changed = state.current.changed.get(pair.classes, 0)
    return min(max(pair.n_ties / n_changed, 1.0), HORIZON_MAX) if n_changed else HORIZON_MAX


def _counts(state: State) -> tuple[int, int, int]:
    """Return how many released edges are true, how many there are, and how many ties."""
    n_edges = sum(map(len, state.edges.between.values()))
    n_true = n_edges - sum(state.edges.n_inserted.values())
    return n_true, n_edges, n_true + len(state.held.used())


def _choice_padded(draft: Draft, pair: PairOfClasses) -> Choice:
    """Plan a pair with inserted members: as if they had ties, while the release can bear it.

    They get as many edges for a tie as people were given so far.
    """
    state, rng = draft.state, draft.rng
    seeds, horizon = draft.seeds(2), _horizon(state, pair)
    n_true, n_edges, all_ties = _counts(state)
    n_ties = n_true + sum(map(len, state.held.between.values()))
    weight = weight_of(n_true, n_edges, all_ties, is_grown=pair.is_grown)
    if pair.is_grown:
        # However much is told, inserted members without edges would stand out.
        weight = max(weight, INSERTED_MAX)
    likely = with_imagined(pair, min(n_edges / n_ties, 1.0), rng) if n_ties else pair
    choice = _best(likely, seeds[0], horizon, weight)
    more = min(_worth(pair, edges) for _, edges in choice) - _worth(pair, pair.shown)
    if choice[0][0] != "kept" and 2 * n_true - n_edges + more < 0:
        choice = _best(pair, seeds[1], horizon, weight)
    return choice


def _worth(pair: PairOfClasses, edges: Edges) -> int:
    """Return by how much edges cost less than none."""
    return 2 * int(pair.is_tie(edges).sum()) - len(edges)


def _is_too_dear(state: State, classes: Tie) -> bool:
    """Whether the edges between two classes count for more than their ties would if hidden."""
    n_inserted, shown = state.edges.n_inserted[classes], state.edges.between[classes]
    if n_inserted <= INSERTED_MAX * (len(shown) - n_inserted):
        return False
    ends = state.edges.pairs(np.array(sorted(shown), dtype=np.int64))
    imagined = (state.places.kind[ends] == INSERTED).any(axis=1).sum()
    return bool(n_inserted - imagined > INSERTED_MAX * (len(shown) - n_inserted))


def _clear_least_true(state: State) -> None:
    """Clear pairs of classes until all edges together cost no more than none would."""
    shown = {classes: len(edges) for classes, edges in state.edges.between.items() if edges}
    inserted = {classes: state.edges.n_inserted[classes] for classes in shown}
    worth = sum(shown.values()) - 2 * sum(inserted.values())
    if worth >= 0:
        return
    for classes in sorted(shown, key=lambda c: (-inserted[c] / shown[c], c)):
        pair = PairOfClasses.of(state, classes)
        _do(state, pair, "cleared", pair.shown[:0])
        worth -= shown[classes] - 2 * inserted[classes]
        if worth >= 0:
            return


def _do(state: State, pair: PairOfClasses, what: str, edges: Edges) -> None:
    """Let a pair show exactly these edges."""
    if what == "kept":
        return
    state.former.forget(pair.classes)
    state.current.returned.update(pair.ends(pair.former))
    if what == "cleared":
        state.former.remember(pair.classes, pair.ends(pair.shown))
        state.current.stale[pair.classes] = pair.n_ties
    show_exactly(state, pair, edges)
    state.count(f"pairs_{what}")


def _is_due(state: State, classes: Tie) -> bool:
    """Whether two classes have their turn, and enough changed since they had it last."""
    if not state.held.between.get(classes):
        return False
    since = (state.current.number + 5 * classes[0] + 3 * classes[1]) % PERIOD
    changed = _share_changed(state, classes)
    if state.edges.between[classes]:
        return since == 0 and changed >= STALE_MIN
    return changed >= (STALE_MIN if since <= 1 else 1)


def _share_changed(state: State, classes: Tie) -> float:
    """Return the share of two classes' ties that changed since their turn; 1 after a clearing."""
    n_shown, n_hidden = len(state.edges.between[classes]), len(state.held.between.get(classes, ()))
    n_ties = n_shown - state.edges.n_inserted[classes] + n_hidden
    return state.current.stale[classes] / max(n_ties, 1)


def _best(pair: PairOfClasses, seed: int, horizon: float, weight: float) -> Choice:
    """Return what costs least within the horizon."""
    rng = np.random.default_rng(seed)
    nothing = pair.shown[:0]
    now, dark = _loss(pair, pair.shown, weight), _loss(pair, nothing, weight)
    ways = [("kept", pair.shown, horizon * now if now <= dark else math.inf)]
    raised = _raised(pair, rng, weight) if len(pair.shown) else _afresh(pair, rng, weight)
    if raised is not None and (planned := _loss(pair, raised, weight)) <= dark:
        ways.append(("raised", raised, horizon * planned))
    if len(pair.shown):
        afresh = _afresh(pair, rng, weight)
        if afresh is not None and (later := _loss(pair, afresh, weight)) <= dark:
            ways.append(("cleared", nothing, dark + (horizon - 1) * later))
        ways.append(("cleared", nothing, horizon * dark))
    best = min(ways, key=lambda way: way[2])
    lit = min((way for way in ways if way[0] != "cleared"), key=lambda way: way[2])
    found = best[:2]
    return found, found if best[0] != "cleared" or lit[2] == math.inf else lit[:2]


def _loss(pair: PairOfClasses, edges: Edges, weight: float) -> float:
    """Return what it costs to show exactly these edges, each hidden tie counting so much."""
    n_hidden = pair.n_ties - int(pair.is_tie(edges).sum())
    return pair.cost(edges) + (weight - 1) * n_hidden


def _afresh(pair: PairOfClasses, rng: np.random.Generator, weight: float) -> Edges | None:
    """Return the best edges found for a pair without edges; None: better none.

    Edges that were shown last are shown again where they fit, true or inserted.
    """
    last = pair.shown if len(pair.shown) else pair.former
    ties = pair.ties
    is_last = np.isin(edge_keys(ties), edge_keys(last))
    others = last[~np.isin(edge_keys(last), edge_keys(ties))]
    edges = np.concatenate((ties, others))
    worth = 2 * pair.weight + weight - 1 + 2 * RHO * is_last
    gain = np.concatenate((worth, np.full(len(others), 2 * RHO)))
    program = pair.program(edges, gain, 1 + RHO if len(last) else 1.0)
    plan = solve(program, rng=rng, effort="fast")
    return fill(program, plan.r, plan.s, edges[plan.shown], rng=rng) if plan.value > 0 else None


def _raised(pair: PairOfClasses, rng: np.random.Generator, weight: float) -> Edges | None:
    """Return what a pair shows if hidden ties come in, all members of a cohort gaining alike."""
    worth = 2 * pair.weight[pair.n_ties - len(pair.hidden) :] + weight - 1
    program = pair.program(pair.hidden, worth, 1.0)
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
