"""What is released between places, and what was before a pair of classes was cleared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.current import Current, EdgeList, Tie
from ktsafe.sequence.memory.neighbours import Neighbours, by_classes
from ktsafe.sequence.memory.paged_table import NEVER, Column, PairTable
from ktsafe.sequence.memory.place_table import PlaceTable
from ktsafe.sequence.memory.sorted_numbers import ascending, distinct

FALSE, TRUE, RESIDUAL, ENDED = range(4)
"""Of a released edge: inserted, a true tie, a former tie of somebody who left the place, a former
tie of two people who are still there."""


class ReleasedEdgeTable(PairTable):
    """What is released.

    Attributes
    ----------
    low, high:
        The places of its ends, ascending.
    is_true:
        `FALSE`, `TRUE`, `RESIDUAL` or `ENDED`.
    began:
        The release in which a true tie began; of other edges it says nothing.
    adjacent:
        For each place its released neighbours, and the row of the edge to each.
    between:
        For two classes, ascending, the rows of the edges between them.
    n_inserted, n_ended:
        For two classes how many of those are no true ties, and how many are `ENDED`.
    """

    name = "edges"
    later = (("began", 0),)
    low: Column
    high: Column
    is_true: Column
    began: Column

    def __init__(self, current: Current, places: PlaceTable) -> None:
        super().__init__()
        self._current = current
        self._places = places
        self.index()

    def index(self) -> None:
        """Derive neighbours, and the edges between classes."""
        self.adjacent = Neighbours(self)
        self.between: defaultdict[Tie, set[int]] = defaultdict(set)
        self.n_inserted: defaultdict[Tie, int] = defaultdict(int)
        self.n_ended: defaultdict[Tie, int] = defaultdict(int)
        self.note(self.used())

    def is_tie(self, row: int) -> bool:
        """Whether an edge is a true tie."""
        return self.is_true[row] == TRUE

    def note(self, rows: NDArray[np.int64]) -> None:
        """Note between which classes edges lie."""
        for classes, inside in self._by_classes(rows):
            self.between[classes].update(inside)
            self._count(classes, self.is_true[inside], 1)

    def forget(self, rows: NDArray[np.int64]) -> None:
        """Note no longer between which classes edges lie."""
        for classes, inside in self._by_classes(rows):
            self.between[classes].difference_update(inside)
            self._count(classes, self.is_true[inside], -1)

    def show(self, ends: NDArray[np.int64], began: NDArray[np.int64]) -> None:
        """Release edges between places that have none.

        Parameters
        ----------
        ends:
            int64, shape (x, 2): their places.
        began:
            int64, shape (x,): the release in which each began as a true tie; `NEVER` if inserted.
        """
        low, high = ascending(ends).T
        is_true = np.where(began == NEVER, FALSE, TRUE)
        rows = self.add_many(len(ends), low=low, high=high, is_true=is_true, began=began)
        self.adjacent.enter(rows)
        self.note(rows)
        self._note_visible(self.pairs(rows), self._current.gained, self._current.lost)

    def drop(self, rows: NDArray[np.int64]) -> None:
        """Release edges no longer."""
        ends = self.pairs(rows)
        self.adjacent.leave(ends)
        self.forget(rows)
        self.free_many(rows)
        self._note_visible(ends, self._current.lost, self._current.gained)

    def label(self, rows: NDArray[np.int64], what: int) -> None:
        """Note whether edges are true ties; nothing visible happens."""
        for classes, inside in self._by_classes(rows):
            self._count(classes, self.is_true[inside], -1)
            self._count(classes, np.full(len(inside), what), 1)
            self._current.note_change(classes, len(inside))
        self.is_true[rows] = what

    def _count(self, classes: Tie, labels: NDArray[np.int64], times: int) -> None:
        self.n_inserted[classes] += times * int((labels != TRUE).sum())
        self.n_ended[classes] += times * int((labels == ENDED).sum())

    def _by_classes(self, rows: NDArray[np.int64]) -> Iterator[tuple[Tie, list[int]]]:
        return by_classes(ascending(self._places.cls[self.pairs(rows)]), rows)

    def _note_visible(self, edges: NDArray[np.int64], now: EdgeList, before: EdgeList) -> None:
        now.add(edges[~before.remove(edges)])
        self._current.touched.update(distinct(self._places.cohort[edges]).tolist())


class FormerEdgeTable(PairTable):
    """What a pair of classes showed before it was cleared.

    Attributes
    ----------
    low, high:
        The places of its ends, ascending.
    was_true:
        1 if it was a true tie when it was shown last, or had been one of somebody who left.
    between:
        For two classes, ascending, the rows of the edges between them.
    """

    name = "former"
    later = (("was_true", 0),)
    low: Column
    high: Column
    was_true: Column

    def __init__(self, places: PlaceTable) -> None:
        super().__init__()
        self._places = places
        self.index()

    def index(self) -> None:
        """Derive the edges between classes."""
        self.between: defaultdict[Tie, set[int]] = defaultdict(set)
        for row in self.used().tolist():
            self.between[self._places.class_pair(*self.pair(row))].add(row)

    def remember(self, classes: Tie, ends: NDArray[np.int64], were_true: NDArray[np.bool_]) -> None:
        """Note what a pair of classes shows, which will be shown no longer."""
        low, high = ascending(ends).T
        was_true = were_true.astype(np.int64)
        rows = self.add_many(len(ends), low=low, high=high, was_true=was_true)
        self.between[classes].update(rows.tolist())

    def forget(self, classes: Tie) -> None:
        """Remember no longer what a pair of classes showed."""
        self.free_many(np.array(sorted(self.between.pop(classes, ())), dtype=np.int64))

    def forget_places(self, gone: set[int]) -> None:
        """Remember no longer the edges of places that vanish."""
        for rows in self.between.values():
            for row in sorted(rows):
                if gone & set(self.pair(row)):
                    rows.discard(row)
                    self.free(row)
