"""Which edges each pair of classes shows, release by release.

Constants may be tuned, and what is due decided otherwise. All members of a cohort gain and lose
alike, or the gate refuses the release; no release costs more than nothing, and nothing is older
than promised (tests/ktsafe/sequence/test_planning.py, test_ages.py).

    the oldest pairs go dark: nothing shown is older than promised          (`to_renew`)
    each pair that was dark is planned afresh, and each in which enough changed shows hidden ties
        beside what it shows, young ones first: members of a cohort gain alike; the aim decides
        how many edges each of these pairs gets                                 (`pairs`)

All members of a cohort gain alike and lose alike, so nobody is told by what they visibly gain
or lose from one release to the next. A tie that ends stays as an inserted edge until its pair goes
dark, and does not return. A tie of a departed person returns as if the person were there, or the
place would be known by what it lost. Should all pairs together cost more than no edges would, the
least true are cleared.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.aims import cells_of
from ktsafe.anonymization.pair_program import Edges
from ktsafe.anonymization.rewiring import closeness, exchanged
from ktsafe.graph.numbering import edge_keys
from ktsafe.sequence.memory.column_table import among
from ktsafe.sequence.memory.sequence_tables import ENDED, RESIDUAL, TRUE, Tie
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.turns import TURN
from ktsafe.sequence.pairs import (
    PairOfClasses,
    at_prices,
    planned,
    program,
    show_exactly,
    true_ties,
)
from ktsafe.sequence.step_context import StepContext

STALE_MIN = 0.02
"""Share of its ties that must have come or gone before a pair is looked at again."""


def plan_ties(context: StepContext) -> None:
    """Choose what pairs of classes show, where enough changed.

    The others stay as they are.
    """
    state = context.state
    before = set(state.between(state.edges))
    state.current.turns.go_on(context.spec.options.max_age)
    renewed = to_renew(state)
    clear(state, renewed)
    due = {classes for classes in state.current.stale if _is_due(state, classes)}
    turns = sorted((due | state.current.opened).difference(renewed))
    pairs = [PairOfClasses.of(state, classes) for classes in turns]
    truth = true_ties(state)
    _plan(context, pairs, truth)
    _clear_least_true(state)
    del pairs  # Those of a first release hold all ties.
    rewire_new_edges(context, truth)
    if state.current.number == 0:
        # As much is dark as in any other release, or the next one would have fewer edges.
        clear(state, to_renew(state))
    _note_plans(state, before)


def clear(state: State, pairs: list[Tie]) -> None:
    """Let pairs show nothing; they are planned afresh in the next release."""
    for pair in [PairOfClasses.of(state, classes) for classes in pairs]:
        _let_show(state, pair, pair.shown[:0])


def _plan(context: StepContext, pairs: list[PairOfClasses], truth: Edges) -> None:
    """Choose what each of some pairs shows.

    `truth` is all true ties between places.
    """
    seeds = context.seeds(len(pairs))
    close = _closeness(context, pairs, truth)
    # A pair is a part: at its price, what it shows changes nothing that another one looks at.
    programs = at_prices(context, pairs, list(context.run(program, pairs, close, seeds)))
    plans = list(context.run(planned, pairs, programs, seeds))
    for pair, edges in zip(pairs, plans, strict=True):
        _let_show(context.state, pair, edges)


def _closeness(
    context: StepContext, pairs: list[PairOfClasses], truth: Edges
) -> list[NDArray[np.int64]]:
    """Return how close the ends of the candidates of each pair are.

    0 where the aim is another.
    """
    asked = [pair.places[pair.candidates].astype(np.int32) for pair in pairs]
    if context.spec.options.aim != "balanced":
        return [np.zeros(len(edges), dtype=np.int64) for edges in asked]
    close = closeness(context.state.places.n, truth, np.concatenate((truth[:0], *asked)))
    return np.split(close, np.cumsum([len(edges) for edges in asked]))[: len(pairs)]


def _clear_least_true(state: State) -> None:
    """Clear pairs of classes until edges cost no more than none."""
    shown = {classes: len(edges) for classes, edges in state.between(state.edges).items()}
    inserted = {classes: state.n_inserted[classes] for classes in shown}
    worth = sum(shown.values()) - 2 * sum(inserted.values())
    if worth >= 0:
        return
    dear = []
    for classes in sorted(shown, key=lambda c: (-inserted[c] / shown[c], c)):
        dear.append(classes)
        worth -= shown[classes] - 2 * inserted[classes]
        if worth >= 0:
            break
    clear(state, dear)


def _let_show(state: State, pair: PairOfClasses, edges: Edges) -> None:
    """Let a pair show exactly these edges.

    Those of now, more, none, or afresh.
    """
    state.current.stale.pop(pair.classes, None)
    if len(edges) == len(pair.shown):
        return
    state.cleared_edges.free(pair.last_rows)
    state.current.returned.add(edge_keys(pair.places[pair.last]))
    if not len(edges):
        stays = pair.labels != ENDED
        were_true = np.isin(pair.labels[stays], (TRUE, RESIDUAL))
        state.remember_cleared(pair.places[pair.shown[stays]], were_true)
        state.current.stale[pair.classes] = pair.n_ties
        state.count("pairs_cleared")
    elif len(pair.shown):
        state.count("pairs_raised")
    else:
        state.count("pairs_planned")
    show_exactly(state, pair, edges)


def rewire_new_edges(context: StepContext, truth: Edges) -> None:
    """Exchange ends of new inserted edges until they look like ties.

    They do within their pair of classes, before anybody sees them: rows stay as planned, and whole
    cohorts change alike. Edges that were shown before stay, also those that return after their pair
    was cleared: otherwise true ties would return, and inserted edges would not. The effort is that
    of the first release: with less, clustering would fall over the year, whatever the network's is.
    """
    state, rng, executor = context.state, context.rng, context.executor
    edges, current = state.edges, state.current
    new = current.gained.array()
    new = new[edges.is_true[new] != TRUE]
    new = new[~among(edge_keys(edges.pairs(new)), current.returned.array())]
    if not len(new):
        return
    is_new = np.zeros(edges.n, dtype=np.bool_)
    is_new[new] = True
    used = edges.used()
    is_true = edges.is_true[used] == TRUE
    before, shown, others = (
        edges.ends(rows) for rows in (new, used[is_true], used[~is_true & ~is_new[used]])
    )
    classes = state.places.cls.astype(np.int32)
    effort = context.spec.options.effort
    after = exchanged(
        classes, shown, before, others, truth=truth, rng=rng, effort=effort, executor=executor
    )
    moved = (after != before).any(axis=1)
    state.hide(new[moved])
    state.show(after[moved].astype(np.int64))


def _note_plans(state: State, before: set[Tie]) -> None:
    """Note pairs that show edges now, not before, as readers see.

    Of dark pairs it is forgotten once what they showed last is older than may be shown.
    """
    number, planned, turns = state.current.number, state.current.planned, state.current.turns
    planned |= dict.fromkeys(state.between(state.edges).keys() - before, number)
    for classes in [c for c, then in planned.items() if turns.was_last(number - then)]:
        del planned[classes]
    turns.forget(number - min(planned.values(), default=number))


def _is_due(state: State, classes: Tie) -> bool:
    """Whether two classes have hidden ties, and changed enough lately."""
    n_hidden = len(state.between(state.hidden_ties).get(classes, ()))
    n_true = len(state.between(state.edges)[classes]) - state.n_inserted[classes]
    return n_hidden > 0 and state.current.stale[classes] >= STALE_MIN * (n_true + n_hidden)


# Which pairs of classes go dark to be planned afresh.
#
# Nothing shown gets older than promised.
#
# Oldest first, and so many that what is left can go in equal shares of the shown edges, release by
# release, so their number stays level. How large a share is, is told by `turns`. Of equally old
# pairs those go first of which most changed.


SPREAD = 0.05
"""Share of the edges of a cell that may go dark before others of equally old pairs do."""


def to_renew(state: State) -> list[Tie]:
    """Return the pairs of classes to hide now because of age."""
    edges, turns = state.between(state.edges), state.current.turns
    shown = list(edges)
    # What a first release shows is as if it were one release old: a share of it goes dark, too.
    number, planned = state.current.number, state.current.planned
    age = {classes: number - planned.get(classes, number - 1) for classes in shown}
    n_edges = {c: len(rows) for c, rows in edges.items()}
    shown.sort(key=lambda c: (-age[c], -_staleness(state, c), c))
    # What is dark now is shown again in the next release.
    n_all = sum(n_edges.values()) + sum(map(len, state.between(state.cleared_edges).values()))
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
    n_stale = state.n_ended[classes] + state.n_young[classes]
    n_true = len(state.between(state.edges)[classes]) - state.n_inserted[classes]
    return n_stale / max(n_true, 1)
