"""A pair of classes of a sequence: places, edges, hidden ties.

Gains and prices may be tuned: the gate judges what is planned, attacks on changes how much it
tells. `CHANCE` and `GAIN_MIN` are there against such attacks. Arrays must be those of the state
(tests/ktsafe/sequence/test_planning.py); seeds are one for each pair, so executors change no byte.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.aims import Cells, Market, Rest, cells_of, priced
from ktsafe.anonymization.pair_edges import realize
from ktsafe.anonymization.pair_program import Edges, Pair, solve
from ktsafe.anonymization.rewiring import supported
from ktsafe.graph.numbering import edge_keys
from ktsafe.sequence.memory.column_table import NOBODY, Integers, among, positions
from ktsafe.sequence.memory.sequence_tables import COUNTERFEIT, RESIDUAL, TRUE, Tie
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.memory.turns import TURN
from ktsafe.sequence.step_context import StepContext


@dataclasses.dataclass(frozen=True, eq=False)
class PairOfClasses:
    """The sequence's knowledge of two classes, or of one.

    Edges name positions in `places`, rows those of the state's tables.

    Attributes
    ----------
    classes:
        The two classes, ascending.
    places:
        int64, shape (n,): the places of both classes, by cohort, those of the first class first.
    sizes:
        int64, shape (cohorts,): members of each cohort, in this order.
    n_first:
        How many of the cohorts are of the first class; all of them if it is one class.
    shown, shown_rows, labels:
        The released edges, their rows, and what each is (`ktsafe.sequence.memory.sequence_tables`).
    hidden, hidden_rows:
        True ties that are not released, and their rows.
    last, last_rows:
        If the pair is dark, what it showed last and has not ended; and the rows of all that.
    candidates:
        What can be shown next: the true ties, shown and hidden; then what else was shown last.
    is_tie:
        bool, shape (candidates,): whether each counts as a tie. Those of departed people do.
    is_young:
        bool, shape (true ties,): whether each is younger than a cohort of its ends.
    """

    classes: Tie
    places: NDArray[np.int64]
    sizes: NDArray[np.int64]
    n_first: int
    shown: Edges
    shown_rows: Integers
    labels: Integers
    hidden: Edges
    hidden_rows: Integers
    last: Edges
    last_rows: Integers
    candidates: Edges
    is_tie: NDArray[np.bool_]
    is_young: NDArray[np.bool_]

    @classmethod
    def of(cls, state: State, classes: Tie) -> PairOfClasses:
        """Gather a pair of classes."""
        labels_of, members = state.places.cohorts_of, state.places.members
        cohorts = [label for number in dict.fromkeys(classes) for label in labels_of[number]]
        places = np.concatenate([members[label] for label in cohorts])
        # A table of all places: to look among those of large classes is to wait for memory.
        position_of = np.empty(state.places.n, dtype=np.int32)
        position_of[places] = np.arange(len(places), dtype=np.int32)

        def in_pair(pairs: NDArray[np.int64]) -> Edges:
            wrong = state.places.cls[pairs[:, 0]] != classes[0]
            return position_of[np.where(wrong[:, None], pairs[:, ::-1], pairs)]

        tables = (state.edges, state.hidden_ties, state.cleared_edges)
        shown_rows, hidden_rows, last_rows = (state.between(table)[classes] for table in tables)
        shown = in_pair(state.edges.pairs(shown_rows))
        hidden = in_pair(state.people.place[state.hidden_ties.pairs(hidden_rows)])
        labels = state.edges.is_true[shown_rows]
        ties = np.concatenate((shown[labels == TRUE], hidden))
        began = state.edges.began[shown_rows[labels == TRUE]], state.hidden_ties.began[hidden_rows]
        born = state.places.born[places[ties]].max(axis=1)

        last = in_pair(state.cleared_edges.pairs(last_rows))
        was_true = state.cleared_edges.was_true[last_rows] == 1
        is_left = was_true & ~among(edge_keys(last), edge_keys(hidden))
        is_vacated = (state.places.kind[places[last]] == COUNTERFEIT).any(axis=1)
        may_return = ~is_left | is_vacated
        last, is_left = last[may_return], is_left[may_return]
        is_other = ~among(edge_keys(last), edge_keys(ties))
        return cls(
            classes=classes,
            places=places,
            sizes=np.array([len(members[label]) for label in cohorts], dtype=np.int64),
            n_first=len(labels_of[classes[0]]),
            shown=shown,
            shown_rows=shown_rows,
            labels=labels,
            hidden=hidden,
            hidden_rows=hidden_rows,
            last=last,
            last_rows=last_rows,
            candidates=np.concatenate((ties, last[is_other])),
            is_tie=np.append(np.ones(len(ties), dtype=np.bool_), is_left[is_other]),
            is_young=np.concatenate(began) > born,
        )

    @property
    def n_ties(self) -> int:
        """How many true ties there are among published people."""
        return len(self.is_young)

    def program(self, edges: Edges, gain: NDArray[np.float64], price: float) -> Pair:
        """Return the program that shows some of the given candidates."""
        return Pair.in_order(self.sizes, self.n_first, edges, gain, price)

    def degrees(self) -> NDArray[np.int64]:
        """Return how many shown edges each member of each cohort has.

        Int64, shape (cohorts,).
        """
        cohort = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.bincount(cohort[self.shown].reshape(-1), minlength=len(self.sizes)) // self.sizes


def show_exactly(state: State, pair: PairOfClasses, edges: Edges) -> None:
    """Release exactly these edges between two classes.

    Others are hidden, or no longer inserted.
    """
    wanted, known = edge_keys(edges), edge_keys(pair.shown)
    state.hide(pair.shown_rows[~among(known, wanted)])
    new = edges[~among(wanted, known)]
    hidden = edge_keys(pair.hidden)
    order = np.argsort(hidden)
    found = np.append(hidden[order], -1)
    at = positions(found[:-1], edge_keys(new))
    hidden_rows = np.where(
        found[at] == edge_keys(new), np.append(pair.hidden_rows[order], NOBODY)[at], NOBODY
    )
    state.show(pair.places[new], hidden_rows)


# Edges that pairs of classes can show next, and their choice.
#
# Both are programs of a pair (`ktsafe.anonymization.pair_program`). What a shown tie gains is
# set by `gains`, what an edge costs by `at_prices`, as in single releases
# (`ktsafe.anonymization.aims`). With one difference: most pairs are not planned, and what they
# show counts as it is. A pair that is dark because of its age counts as if it showed as many edges
# as it has ties, since it will in the next release.


GAIN = 2.0
"""What a tie gains, where an edge costs 1 at the aim of least cost."""

CLOSENESS = 2.0
"""How many times as much as in single releases the closeness of its ends changes what an edge
gains: else what is drawn would drown it, and triangles would be fewer release by release."""

YOUNG = 7.0
"""What a young tie gains more, where few are young."""

CHANCE = 1.3
"""How much of an edge's gain is drawn when its pair is planned afresh. Without that, what a member
of a cohort gained and lost over two releases would tell more about their true ties."""

GAIN_MIN = 1e-6
"""What an inserted edge gains at least that is shown again. If all were drawn anew, those that are
shown again and again would be the true ties."""

LEAST, MOST = 0.1, 2.0
"""Of the edges that planned pairs should have by their own ties: how many they get, at least and at
most, to make up for what others show."""


def true_ties(state: State) -> Edges:
    """Return all true ties between places, departed people's as before."""
    edges, cleared = state.edges, state.cleared_edges
    rows = edges.used()
    shown = edges.ends(rows[np.isin(edges.is_true[rows], (TRUE, RESIDUAL))])
    hidden = state.people.place[state.hidden_ties.pairs(state.hidden_ties.used())]
    rows = cleared.used()
    dark = cleared.ends(rows[cleared.was_true[rows] == 1])
    left = dark[(state.places.kind[dark] == COUNTERFEIT).any(axis=1)]
    hidden = hidden[(hidden != NOBODY).all(axis=1)].astype(np.int32)
    return np.concatenate((shown, hidden, left))


def gains(pair: PairOfClasses, close: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each of the pair's candidates gains if it is shown.

    Float64, shape (x,).

    All gain more, the closer their ends are: int64, shape (x,), see
    `ktsafe.anonymization.rewiring`. Ties of departed people gain as much as those of present
    people: if they did not return, departures would show in the share of neighbours that a place
    lost. Cohorts were formed by the ties of their time, so younger ties fit worse and would seldom
    be shown. They gain more, the fewer they are; where half of the ties are young, or more, age
    tells nothing apart.
    """
    closer = CLOSENESS * (supported(close) - 1)
    gain: NDArray[np.float64] = GAIN * (pair.is_tie + closer)
    share = pair.is_young.mean() if pair.n_ties else 0.0
    gain[: pair.n_ties] += YOUNG * max(0.0, 1 - 2 * share) * pair.is_young
    return gain


def program(pair: PairOfClasses, close: NDArray[np.int64], seed: int) -> Pair:
    """Return the program of what a pair can show next.

    True ties come first.

    A pair that shows edges can show hidden ties beside them. Else it is planned afresh: edges that
    were shown last are shown again where they fit, true or inserted, and others come and go without
    a cause.
    """
    edges, gain = pair.candidates, gains(pair, close)
    if len(pair.shown):
        n_shown = pair.n_ties - len(pair.hidden)
        return pair.program(edges[n_shown:], gain[n_shown:], 1.0)
    rng = np.random.default_rng(seed)
    if len(pair.last):
        gain = np.maximum(gain + CHANCE * (rng.random(len(gain)) - 0.5), GAIN_MIN)
    return pair.program(edges, gain, 1.0)


def at_prices(context: StepContext, pairs: list[PairOfClasses], programs: list[Pair]) -> list[Pair]:
    """Return the programs of pairs with the aim's prices and totals.

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
    is_dark = np.array([c in state.between(state.cleared_edges) for c in known]) & ~is_planned
    base = np.where(is_dark, ties, shown)
    wanted = np.maximum(ties - base, 1)[is_planned].astype(np.float64)
    values = np.array(state.codes.classes, dtype=np.int64)
    values = values.reshape(len(state.codes.classes), -1)
    wished = (1 + _more_than_ties(state) / TURN) * ties
    cells = [
        _cells(of_pair, wished - base, wanted) for of_pair in cells_of(values, np.array(known))
    ]
    n_candidates = [len(pair.hidden) if len(pair.shown) else pair.n_ties for pair in pairs]
    market = Market(programs, np.array(n_candidates), context.run, _rest(state, sum(n_candidates)))
    return priced(market, cells, wanted, context.spec.options.aim)


def _more_than_ties(state: State) -> int:
    """Return the share of edges beyond the ties, in `TURN`s parts.

    That is what is dark, or what was when what is shown was planned, which is more once turns get
    slower. If planned pairs alone had fewer edges for it, they would lack them for a whole turn.
    """
    current = state.current
    n_edges = {classes: len(rows) for classes, rows in state.between(state.edges).items()}
    then = sum(
        n * current.turns.share(current.number - current.planned.get(classes, current.number))
        for classes, n in n_edges.items()
    )
    return max(current.turns.share(0), then // max(sum(n_edges.values()), 1))


def planned(pair: PairOfClasses, program: Pair, seed: int) -> Edges:
    """Return a pair's edges by its program, price and total."""
    rng = np.random.default_rng(seed)
    if len(pair.shown):
        return _raised(pair, program, rng)
    plan = solve(program, rng=rng, effort="fast")
    edges = realize(program, plan.degree, program.edges[plan.shown], rng=rng)
    return pair.shown if edges is None else edges


def _raised(pair: PairOfClasses, program: Pair, rng: np.random.Generator) -> Edges:
    """Return a pair's edges with hidden ties, all members gaining alike."""
    plan = solve(program, rng=rng)
    kept = np.concatenate((pair.shown, program.edges[plan.shown]))
    edges = realize(program, plan.degree + pair.degrees(), kept, rng=rng)
    if edges is None or not among(edge_keys(pair.shown), edge_keys(edges)).all():
        return pair.shown
    return edges


def _cells(
    of_pair: NDArray[np.int64], lacks: NDArray[np.float64], wanted: NDArray[np.float64]
) -> Cells:
    """Return an attribute's cells with what planned pairs lack there.

    Planned pairs are the first ones.
    """
    lacking = np.bincount(of_pair, lacks)
    own = np.bincount(of_pair[: len(wanted)], wanted, len(lacking))
    return Cells(
        of_pair[: len(wanted)], np.clip(lacking, np.maximum(LEAST * own, 1), MOST * own + 1)
    )


def _rest(state: State, n_candidates: int) -> Rest:
    """Return shown and hidden edges besides the candidate ties."""
    n_edges = sum(map(len, state.between(state.edges).values()))
    n_true = n_edges - sum(state.n_inserted.values())
    return Rest(n_edges, n_true, n_true + len(state.hidden_ties.used()) - n_candidates)


def _with_ties(state: State) -> set[Tie]:
    """Return the pairs of classes that have ties or show edges."""
    return state.between(state.edges).keys() | state.between(state.hidden_ties).keys()


def _counted(state: State, classes: Tie) -> tuple[int, int]:
    """Return two classes' numbers of shown edges and of ties."""
    n_edges = len(state.between(state.edges).get(classes, ()))
    n_hidden = len(state.between(state.hidden_ties).get(classes, ()))
    return n_edges, n_edges - state.n_inserted.get(classes, 0) + n_hidden
