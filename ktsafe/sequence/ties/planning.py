"""Which edges each pair of classes shows, release by release.

    the oldest pairs go dark: nothing shown is older than promised             (`renewal`)
    each pair that was dark is planned afresh                                  (`ways.afresh`)
    each other pair in which enough changed
        raises    shows hidden ties beside what it shows, young ones first:
                  each member of a cohort gains as many                        (`ways.raised`)
        or keeps  what it shows

All members of a cohort gain alike and lose alike, so that nobody is told by what they visibly gain
or lose from one release to the next. A tie that ends stays as an inserted edge until its pair goes
dark, and does not return. A tie of somebody who left returns as if the person were there, or the
place would be known by what it lost. Inserted members count as people with ties (`imagined`).
Should all pairs together cost more than no edges would, the least true are cleared.
"""

from __future__ import annotations

from functools import partial
from itertools import repeat

import numpy as np

from ktsafe.exact.imagined import Edges
from ktsafe.sequence.memory.current import Tie
from ktsafe.sequence.memory.place_table import INSERTED
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.frame import Draft
from ktsafe.sequence.ties.guise import disguise
from ktsafe.sequence.ties.pairs import PairOfClasses, show_exactly, with_imagined
from ktsafe.sequence.ties.renewal import to_renew
from ktsafe.sequence.ties.ways import INSERTED_MAX, best, weight_of

STALE_MIN = 0.02
"""Share of its ties that must have come or gone before a pair is looked at again."""


def plan_ties(draft: Draft) -> None:
    """Choose what pairs of classes show, where enough changed; the others stay as they are."""
    state, max_age = draft.state, draft.frame.options.max_age
    before = _shown(state)
    renewed = to_renew(state, max_age)
    for classes in renewed:
        clear(state, classes)
    due = {classes for classes in state.current.stale if _is_due(state, classes)}
    due |= {classes for classes in state.current.changed if _is_too_dear(state, classes)}
    turns = sorted((due | state.current.opened).difference(renewed))
    pairs = [PairOfClasses.of(state, classes) for classes in turns]
    padded = [pair for pair in pairs if pair.is_inserted.any()]
    pairs = [pair for pair in pairs if not pair.is_inserted.any()]
    for pair, edges in zip(pairs, _plans(draft, pairs), strict=True):
        _let_show(state, pair, edges)
    for pair in padded:
        _let_show(state, pair, _planned_padded(draft, pair))
    _clear_least_true(state)
    effort = draft.frame.options.effort if state.current.number == 0 else "fast"
    disguise(draft, effort)
    _note_plans(state, before, max_age)


def clear(state: State, classes: Tie) -> None:
    """Let a pair show nothing; it is planned afresh in the next release."""
    pair = PairOfClasses.of(state, classes)
    _let_show(state, pair, pair.shown[:0])


def _plans(draft: Draft, pairs: list[PairOfClasses]) -> list[Edges]:
    """Return what each pair shows.

    Where nothing was shown yet, a first plan with weight 1 tells how much can be.
    """
    state, seeds = draft.state, draft.seeds(len(pairs))
    # A pair is a part: what it shows changes nothing that another one looks at.
    run = partial(draft.run, best, pairs, seeds)
    n_true, n_edges, n_ties = _counts(state)
    plans = [] if n_edges else list(run(repeat(1.0)))
    if plans:
        n_edges = sum(map(len, plans))
        n_true = sum(int(p.is_tie(edges).sum()) for p, edges in zip(pairs, plans, strict=True))
    weights = [weight_of(n_true, n_edges, n_ties, is_grown=pair.is_grown) for pair in pairs]
    return plans if plans and max(weights) == 1 else list(run(weights))


def _counts(state: State) -> tuple[int, int, int]:
    """Return how many released edges are true, how many there are, and how many ties."""
    n_edges = sum(map(len, state.edges.between.values()))
    n_true = n_edges - sum(state.edges.n_inserted.values())
    return n_true, n_edges, n_true + len(state.held.used())


def _planned_padded(draft: Draft, pair: PairOfClasses) -> Edges:
    """Plan a pair with inserted members: as if they had ties, while the release can bear it.

    They get as many edges for a tie as people were given so far.
    """
    state, rng = draft.state, draft.rng
    seeds = draft.seeds(2)
    n_true, n_edges, all_ties = _counts(state)
    n_ties = n_true + sum(map(len, state.held.between.values()))
    weight = weight_of(n_true, n_edges, all_ties, is_grown=pair.is_grown)
    if pair.is_grown:
        # However much is told, inserted members without edges would stand out.
        weight = max(weight, INSERTED_MAX)
    likely = with_imagined(pair, min(n_edges / n_ties, 1.0), rng) if n_ties else pair
    edges = best(likely, seeds[0], weight)
    more = _worth(pair, edges) - _worth(pair, pair.shown)
    return edges if 2 * n_true - n_edges + more >= 0 else best(pair, seeds[1], weight)


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
        clear(state, classes)
        worth -= shown[classes] - 2 * inserted[classes]
        if worth >= 0:
            return


def _let_show(state: State, pair: PairOfClasses, edges: Edges) -> None:
    """Let a pair show exactly these edges: those of now, more, none, or afresh."""
    state.current.stale.pop(pair.classes, None)
    if len(edges) == len(pair.shown):
        return
    state.former.forget(pair.classes)
    state.current.returned.update(pair.ends(pair.former))
    if not len(edges):
        stays = ~pair.is_ended
        were_true = (pair.is_true | pair.is_residual)[stays]
        state.former.remember(pair.classes, pair.places[pair.shown[stays]], were_true)
        state.current.stale[pair.classes] = pair.n_ties
        state.count("pairs_cleared")
    elif len(pair.shown):
        state.count("pairs_raised")
    else:
        state.count("pairs_planned")
    show_exactly(state, pair, edges)


def _shown(state: State) -> set[Tie]:
    """Return the pairs of classes that show edges."""
    return {classes for classes, rows in state.edges.between.items() if rows}


def _note_plans(state: State, before: set[Tie], max_age: int) -> None:
    """Note which pairs show edges now and did not before, as a reader sees it.

    Of dark pairs it is forgotten once what they showed last is older than may be shown.
    """
    number, planned = state.current.number, state.current.planned
    planned |= dict.fromkeys(_shown(state) - before, number)
    for classes in [c for c, then in planned.items() if number - then > max_age]:
        del planned[classes]


def _is_due(state: State, classes: Tie) -> bool:
    """Whether two classes have hidden ties, and enough changed since they were looked at last."""
    n_hidden = len(state.held.between.get(classes, ()))
    n_true = len(state.edges.between[classes]) - state.edges.n_inserted[classes]
    return n_hidden > 0 and state.current.stale[classes] >= STALE_MIN * (n_true + n_hidden)
