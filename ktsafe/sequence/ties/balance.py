"""Prices and totals of the pairs of classes that are planned in a release.

As in single releases (`ktsafe.exact.aims`), with one difference: most pairs are not planned, and
what they show counts as it is. A pair that is dark because of its age counts as if it showed as
many edges as it has ties, since it will in the next release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.aims import Cells, Market, Rest, cells_of, priced
from ktsafe.exact.pair_program import Pair
from ktsafe.sequence.memory.sequence_tables import Tie
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.step_context import StepContext
from ktsafe.sequence.ties.pairs import PairOfClasses
from ktsafe.sequence.ties.renewal import turn

LEAST, MOST = 0.1, 2.0
"""Of the edges that planned pairs should have by their own ties: how many they get, at least and at
most, to make up for what others show."""


def at_prices(context: StepContext, pairs: list[PairOfClasses], programs: list[Pair]) -> list[Pair]:
    """Return the programs of pairs with the prices and totals that the aim asks for.

    Parameters
    ----------
    context:
        The release in the making.
    pairs, programs:
        The pairs that are planned, and what each can show next.
    """
    if not pairs:
        return []
    state = context.state
    numbers = {pair.classes: i for i, pair in enumerate(pairs)}
    known = [*numbers, *sorted(_with_ties(state).difference(numbers))]
    shown, ties = np.array([_counted(state, classes) for classes in known]).T
    is_planned = np.arange(len(known)) < len(pairs)
    # Dummy ties of inserted members are among those of their pairs.
    ties[is_planned] = [pair.n_ties for pair in pairs]
    is_dark = np.array([c in state.cleared_edges.between for c in known]) & ~is_planned
    base = np.where(is_dark, ties, shown)
    wanted = np.maximum(ties - base, 1)[is_planned].astype(np.float64)
    values = np.array(state.codes.classes, dtype=np.int64)
    values = values.reshape(len(state.codes.classes), -1)
    # In each release that share of a cell is dark, so that the others show more.
    wished = (1 + 1 / turn(context.spec.options.max_age)) * ties
    cells = [
        _cells(of_pair, wished - base, wanted) for of_pair in cells_of(values, np.array(known))
    ]
    n_candidates = [len(pair.hidden) if len(pair.shown) else pair.n_ties for pair in pairs]
    market = Market(programs, np.array(n_candidates), context.run, _rest(state, sum(n_candidates)))
    return priced(market, cells, wanted, context.spec.options.aim)


def _cells(
    of_pair: NDArray[np.int64], lacks: NDArray[np.float64], wanted: NDArray[np.float64]
) -> Cells:
    """Return the cells of an attribute with what the planned pairs, the first ones, lack there."""
    lacking = np.bincount(of_pair, lacks)
    own = np.bincount(of_pair[: len(wanted)], wanted, len(lacking))
    return Cells(
        of_pair[: len(wanted)], np.clip(lacking, np.maximum(LEAST * own, 1), MOST * own + 1)
    )


def _rest(state: State, n_candidates: int) -> Rest:
    """Return what the release shows and hides besides the ties that are candidates."""
    n_edges = sum(map(len, state.edges.between.values()))
    n_true = n_edges - sum(state.edges.n_inserted.values())
    return Rest(n_edges, n_true, n_true + len(state.hidden_ties.used()) - n_candidates)


def _with_ties(state: State) -> set[Tie]:
    """Return the pairs of classes that have ties or show edges."""
    return state.edges.between.keys() | state.hidden_ties.between.keys()


def _counted(state: State, classes: Tie) -> tuple[int, int]:
    """Return how many edges two classes show, and how many ties they have."""
    n_edges = len(state.edges.between.get(classes, ()))
    n_hidden = len(state.hidden_ties.between.get(classes, ()))
    return n_edges, n_edges - state.edges.n_inserted.get(classes, 0) + n_hidden
