"""A pair of classes of a sequence: its places, shown edges and hidden ties, as arrays."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.imagined import GATHERED_WEIGHT, Edges, imagined_ties, is_own
from ktsafe.exact.pair_program import Pair
from ktsafe.graph import edge_keys
from ktsafe.sequence.memory.current import Tie
from ktsafe.sequence.memory.edge_tables import ENDED, RESIDUAL, TRUE
from ktsafe.sequence.memory.paged_table import NEVER
from ktsafe.sequence.memory.place_table import COUNTERFEIT, INSERTED
from ktsafe.sequence.memory.sorted_numbers import among
from ktsafe.sequence.memory.state import State


@dataclasses.dataclass(frozen=True, eq=False)
class PairOfClasses:
    """What the sequence knows of two classes, or of one and the same.

    Attributes
    ----------
    classes:
        The two classes, ascending.
    places:
        int64, shape (n,): the places of both classes, those of the first one first.
    cohort:
        int32, shape (n,): position of each place's cohort; those of the first class come first.
    is_inserted:
        bool, shape (n,): whether the place is an inserted one, never anybody's.
    sizes:
        int64, shape (cohorts,): their members.
    n_first:
        How many of the cohorts are of the first class; all of them if it is one class.
    shown:
        The released edges.
    is_true, is_ended, is_residual:
        bool, shape (x,): whether each of them is a true tie, or was one until it ended, or until
        one of its people left.
    hidden:
        True ties between these places that are not released.
    former:
        What was released before the pair was cleared and has not ended; nothing if it was not, or
        shows edges again.
    is_left:
        bool, shape (former,): whether each of them was a tie of somebody who left.
    young_shown, young_hidden:
        bool, shape (x,) and (hidden,): whether a true tie is younger than a cohort of its ends.
    weight:
        float64, shape (ties,): for how many ties each of `ties` counts.
    """

    classes: Tie
    places: NDArray[np.int64]
    cohort: NDArray[np.int32]
    is_inserted: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    n_first: int
    shown: Edges
    is_true: NDArray[np.bool_]
    is_ended: NDArray[np.bool_]
    is_residual: NDArray[np.bool_]
    hidden: Edges
    former: Edges
    is_left: NDArray[np.bool_]
    young_shown: NDArray[np.bool_]
    young_hidden: NDArray[np.bool_]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, state: State, classes: Tie) -> PairOfClasses:
        """Gather a pair of classes."""
        groups: list[list[int]] = []
        firsts = 0
        for number in dict.fromkeys(classes):
            groups += [
                state.places.members[label] for label in sorted(state.places.cohorts_of[number])
            ]
            firsts = firsts or len(groups)
        sizes = np.array([len(group) for group in groups], dtype=np.int64)
        places = np.array([place for group in groups for place in group], dtype=np.int64)
        order = np.argsort(places)
        rows, held, before = (
            np.sort(np.array(list(table.between.get(classes, ())), dtype=np.int64))
            for table in (state.edges, state.held, state.former)
        )

        def positions(pairs: NDArray[np.int64]) -> Edges:
            wrong = state.places.cls[pairs[:, 0]] != classes[0]
            turned = np.where(wrong[:, None], pairs[:, ::-1], pairs)
            return order[np.searchsorted(places, turned, sorter=order)].astype(np.int32)

        hidden = positions(state.people.place[state.held.pairs(held)])
        shown = positions(state.edges.pairs(rows))
        labels = state.edges.is_true[rows]
        is_true = labels == TRUE
        born = state.places.born[places]
        former = positions(state.former.pairs(before))
        was_true = state.former.was_true[before] == 1
        is_gone = was_true & ~among(edge_keys(former), edge_keys(hidden))
        may_return = ~is_gone | (state.places.kind[places[former]] == COUNTERFEIT).any(axis=1)
        return cls(
            classes=classes,
            places=places,
            cohort=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            is_inserted=state.places.kind[places] == INSERTED,
            sizes=sizes,
            n_first=firsts,
            shown=shown,
            is_true=is_true,
            is_ended=labels == ENDED,
            is_residual=labels == RESIDUAL,
            hidden=hidden,
            former=former[may_return],
            is_left=is_gone[may_return],
            young_shown=is_true & (state.edges.began[rows] > born[shown].max(axis=1)),
            young_hidden=state.held.began[held] > born[hidden].max(axis=1),
            weight=np.ones(int(is_true.sum()) + len(hidden)),
        )

    def ends(self, edges: Edges) -> list[Tie]:
        """Return the places of the ends of edges, ascending."""
        return list(map(tuple, np.sort(self.places[edges], axis=1).tolist()))

    @property
    def ties(self) -> Edges:
        """True ties between the two classes, among published people: the shown, then the hidden."""
        return np.concatenate((self.shown[self.is_true], self.hidden))

    @property
    def n_ties(self) -> int:
        """How many there are."""
        return int(self.is_true.sum()) + len(self.hidden)

    @property
    def is_young(self) -> NDArray[np.bool_]:
        """Whether each of `ties` began after the cohorts of its ends were formed."""
        return np.concatenate((self.young_shown[self.is_true], self.young_hidden))

    def is_tie(self, edges: Edges) -> NDArray[np.bool_]:
        """Return whether each of the given edges is a true tie."""
        return among(edge_keys(edges), edge_keys(self.ties))

    def cost(self, edges: Edges) -> float:
        """Return what it costs to show exactly these edges: ties hidden, others inserted."""
        is_hidden = ~among(edge_keys(self.ties), edge_keys(edges))
        return float(self.weight[is_hidden].sum()) + int((~self.is_tie(edges)).sum())

    def program(self, edges: Edges, gain: NDArray[np.float64], price: float) -> Pair:
        """Return the program that shows some of the given candidates."""
        first = np.arange(self.n_first, dtype=np.int32)
        other = np.arange(self.n_first, len(self.sizes), dtype=np.int32)
        is_one = self.n_first == len(self.sizes)
        return Pair(self.cohort, self.sizes, first, first if is_one else other, edges, gain, price)

    def degrees(self) -> NDArray[np.int64]:
        """Return how many shown edges each member of each cohort has: int64, shape (cohorts,)."""
        ends = np.bincount(self.cohort[self.shown].reshape(-1), minlength=len(self.sizes))
        return ends // self.sizes


def with_imagined(pair: PairOfClasses, share: float, rng: np.random.Generator) -> PairOfClasses:
    """Return the pair with imagined ties of its inserted members among its ties.

    Parameters
    ----------
    pair:
        The pair of classes.
    share, rng:
        As in `ktsafe.exact.imagined.imagined_ties`.
    """
    if not pair.is_inserted.any() or not pair.n_ties:
        return pair
    last = pair.shown if len(pair.shown) else pair.former
    program = pair.program(pair.ties, np.ones(pair.n_ties), 1.0)
    ties, weight = imagined_ties(program, pair.is_inserted, last, share, rng)
    is_shown = among(edge_keys(ties), edge_keys(pair.shown))
    own = is_own(pair.shown, pair.is_inserted)
    is_true = pair.is_true | own
    weights = np.where(own[is_true], GATHERED_WEIGHT, 1.0)
    return dataclasses.replace(
        pair,
        is_true=is_true,
        hidden=np.concatenate((pair.hidden, ties[~is_shown])),
        young_hidden=np.append(pair.young_hidden, np.zeros((~is_shown).sum(), dtype=np.bool_)),
        weight=np.concatenate((weights, np.ones(len(pair.hidden)), weight[~is_shown])),
    )


def show_exactly(state: State, pair: PairOfClasses, edges: Edges) -> None:
    """Release exactly these edges between two classes: others are hidden, or no longer inserted."""
    wanted, known = edge_keys(edges), edge_keys(pair.shown)
    hide(state, pair.places[pair.shown[~among(known, wanted)]])
    show(state, pair.places[edges[~among(wanted, known)]])


def hide(state: State, ends: NDArray[np.int64]) -> None:
    """Release edges between places, shape (x, 2), no longer; true ties are remembered as hidden."""
    if not len(ends):
        return
    rows = state.edges.adjacent.rows_of(ends)
    is_true = state.edges.is_true[rows] == TRUE
    began = state.edges.began[rows[is_true]]
    state.edges.drop(rows)
    state.held.hold(state.places.owner[ends[is_true]], began)


def show(state: State, ends: NDArray[np.int64]) -> None:
    """Release edges between places that have none: hidden ties of theirs, or inserted."""
    hidden = state.held.of.rows_of(state.places.owner[ends])
    is_true = hidden >= 0
    began = np.full(len(ends), NEVER)
    began[is_true] = state.held.began[hidden[is_true]]
    state.held.unhold(hidden[is_true])
    state.edges.show(ends, began)


def relabel(state: State, row: int, edge: int) -> None:
    """Let an inserted edge stand for a tie that was hidden: nothing visible happens."""
    began = state.held.began[row]
    state.held.unhold(np.array([row]))
    state.edges.label(np.array([edge]), TRUE)
    state.edges.began[edge] = began
    state.count("relabelled")
