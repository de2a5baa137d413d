"""A pair of classes of a sequence.

Its places, shown edges and hidden ties, as arrays.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.pair_program import Edges, Pair
from ktsafe.graph.edges import edge_keys
from ktsafe.sequence.memory.column_table import NEVER, NOBODY, among, positions
from ktsafe.sequence.memory.sequence_tables import COUNTERFEIT, ENDED, RESIDUAL, TRUE, Tie
from ktsafe.sequence.memory.state import State


@dataclasses.dataclass(frozen=True, eq=False)
class PairOfClasses:
    """The sequence's knowledge of two classes, or of one.

    Attributes
    ----------
    classes:
        The two classes, ascending.
    places:
        int64, shape (n,): the places of both classes, those of the first one first.
    cohort:
        int32, shape (n,): position of each place's cohort; those of the first class come first.
    sizes:
        int64, shape (cohorts,): their members.
    n_first:
        How many of the cohorts are of the first class; all of them if it is one class.
    rows:
        int64, shape (x,): the rows of the released edges.
    shown:
        The released edges.
    is_true, is_ended, is_residual:
        bool, shape (x,): whether each of them is a true tie, or was one until it ended, or until
        one of its people left.
    hidden_rows:
        int64: the rows of true ties between these places that are not released.
    hidden:
        These ties.
    remembered:
        int64: the rows of what was released before the pair was cleared.
    cleared_edges:
        What was released before the pair was cleared and has not ended; nothing if it was not, or
        shows edges again.
    is_left:
        bool, shape (former,): whether each of them was a tie of a departed person.
    young_shown, young_hidden:
        bool, shape (x,) and (hidden,): whether a true tie is younger than a cohort of its ends.
    """

    classes: Tie
    places: NDArray[np.int64]
    cohort: NDArray[np.int32]
    sizes: NDArray[np.int64]
    n_first: int
    rows: NDArray[np.int64]
    shown: Edges
    is_true: NDArray[np.bool_]
    is_ended: NDArray[np.bool_]
    is_residual: NDArray[np.bool_]
    hidden_rows: NDArray[np.int64]
    hidden: Edges
    remembered: NDArray[np.int64]
    cleared_edges: Edges
    is_left: NDArray[np.bool_]
    young_shown: NDArray[np.bool_]
    young_hidden: NDArray[np.bool_]

    @classmethod
    def of(cls, state: State, classes: Tie) -> PairOfClasses:
        """Gather a pair of classes."""
        labels_of, members = state.places.cohorts_of, state.places.members
        labels = [label for number in dict.fromkeys(classes) for label in labels_of[number]]
        sizes = np.array([len(members[label]) for label in labels], dtype=np.int64)
        places = np.concatenate([members[label] for label in labels])
        # A table of all places: to look among those of large classes is to wait for memory.
        position_of = np.empty(state.places.n, dtype=np.int32)
        position_of[places] = np.arange(len(places), dtype=np.int32)
        tables = (state.edges, state.hidden_ties, state.cleared_edges)
        rows, hidden_rows, before = (table.between[classes] for table in tables)

        def in_pair(pairs: NDArray[np.int64]) -> Edges:
            wrong = state.places.cls[pairs[:, 0]] != classes[0]
            in_order = np.where(wrong[:, None], pairs[:, ::-1], pairs)
            return position_of[in_order]

        hidden = in_pair(state.people.place[state.hidden_ties.pairs(hidden_rows)])
        shown = in_pair(state.edges.pairs(rows))
        what = state.edges.is_true[rows]
        is_true = what == TRUE
        born = state.places.born[places]
        cleared_edges = in_pair(state.cleared_edges.pairs(before))
        was_true = state.cleared_edges.was_true[before] == 1
        is_gone = was_true & ~among(edge_keys(cleared_edges), edge_keys(hidden))
        may_return = ~is_gone | (state.places.kind[places[cleared_edges]] == COUNTERFEIT).any(
            axis=1
        )
        return cls(
            classes=classes,
            places=places,
            cohort=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            sizes=sizes,
            n_first=len(labels_of[classes[0]]),
            rows=rows,
            shown=shown,
            is_true=is_true,
            is_ended=what == ENDED,
            is_residual=what == RESIDUAL,
            hidden_rows=hidden_rows,
            hidden=hidden,
            remembered=before,
            cleared_edges=cleared_edges[may_return],
            is_left=is_gone[may_return],
            young_shown=is_true & (state.edges.began[rows] > born[shown].max(axis=1)),
            young_hidden=state.hidden_ties.began[hidden_rows] > born[hidden].max(axis=1),
        )

    @property
    def ties(self) -> Edges:
        """True ties between the two classes, among published people.

        The shown, then the hidden.
        """
        return np.concatenate((self.shown[self.is_true], self.hidden))

    @property
    def candidates(self) -> tuple[Edges, NDArray[np.bool_]]:
        """What it can show next.

        Its ties, then what else it showed last, if it is dark.

        And whether each counts as a tie: bool, shape (x,). Those of departed people do.
        """
        ties, last = self.ties, self.cleared_edges
        is_other = ~among(edge_keys(last), edge_keys(ties))
        is_tie = np.append(np.ones(len(ties), dtype=np.bool_), self.is_left[is_other])
        return np.concatenate((ties, last[is_other])), is_tie

    @property
    def n_ties(self) -> int:
        """How many there are."""
        return int(self.is_true.sum()) + len(self.hidden)

    @property
    def is_young(self) -> NDArray[np.bool_]:
        """Whether each of `ties` is younger than its ends' cohorts."""
        return np.concatenate((self.young_shown[self.is_true], self.young_hidden))

    def is_tie(self, edges: Edges) -> NDArray[np.bool_]:
        """Return whether each of the given edges is a true tie."""
        return among(edge_keys(edges), edge_keys(self.ties))

    def cost(self, edges: Edges) -> int:
        """Return what it costs to show exactly these edges.

        Ties hidden, others inserted.
        """
        is_hidden = ~among(edge_keys(self.ties), edge_keys(edges))
        return int(is_hidden.sum()) + int((~self.is_tie(edges)).sum())

    def program(self, edges: Edges, gain: NDArray[np.float64], price: float) -> Pair:
        """Return the program that shows some of the given candidates."""
        return Pair.in_order(self.sizes, self.n_first, edges, gain, price)

    def degrees(self) -> NDArray[np.int64]:
        """Return how many shown edges each member of each cohort has.

        Int64, shape (cohorts,).
        """
        ends = np.bincount(self.cohort[self.shown].reshape(-1), minlength=len(self.sizes))
        return ends // self.sizes


def show_exactly(state: State, pair: PairOfClasses, edges: Edges) -> None:
    """Release exactly these edges between two classes.

    Others are hidden, or no longer inserted.
    """
    wanted, known = edge_keys(edges), edge_keys(pair.shown)
    hide(state, pair.rows[~among(known, wanted)])
    new = edges[~among(wanted, known)]
    hidden = edge_keys(pair.hidden)
    order = np.argsort(hidden)
    found = np.append(hidden[order], -1)
    at = positions(found[:-1], edge_keys(new))
    hidden_rows = np.where(
        found[at] == edge_keys(new), np.append(pair.hidden_rows[order], NOBODY)[at], NOBODY
    )
    _show(state, pair.places[new], hidden_rows)


def hide(state: State, rows: NDArray[np.int64]) -> None:
    """Release the edges in these rows no longer.

    True ties are remembered as hidden.
    """
    ties = rows[state.edges.is_true[rows] == TRUE]
    people, began = state.places.owner[state.edges.pairs(ties)], state.edges.began[ties]
    state.edges.drop(rows)
    state.hidden_ties.hold(people, began)


def show(state: State, ends: NDArray[np.int64]) -> None:
    """Release edges between places that have none.

    Hidden ties of theirs, or inserted.
    """
    _show(state, ends, state.hidden_ties.rows_of(state.places.owner[ends]))


def _show(state: State, ends: NDArray[np.int64], hidden_rows: NDArray[np.int64]) -> None:
    is_true = hidden_rows != NOBODY
    began = np.full(len(ends), NEVER)
    began[is_true] = state.hidden_ties.began[hidden_rows[is_true]]
    state.hidden_ties.free(hidden_rows[is_true])
    state.edges.show(ends, began)


def relabel(state: State, edges: NDArray[np.int64], began: int | NDArray[np.int64]) -> None:
    """Let inserted edges stand for ties that were hidden: nothing visible happens."""
    if not len(edges):
        return
    state.edges.label(edges, TRUE)
    state.edges.write(edges, began=began)
    state.count("relabelled", len(edges))
