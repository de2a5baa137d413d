"""What is released between places, and what was before a pair of classes was cleared."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from ktsafe.sequence.memory.current import Current, Tie
from ktsafe.sequence.memory.paged_table import Column, PairTable
from ktsafe.sequence.memory.place_table import PlaceTable

FALSE, TRUE, RESIDUAL = range(3)
"""Of a released edge: inserted, a true tie, a former tie of somebody who left the place."""


class ReleasedEdgeTable(PairTable):
    """What is released.

    Attributes
    ----------
    low, high:
        The places of its ends, ascending.
    is_true:
        `FALSE`, `TRUE` or `RESIDUAL`.
    adjacent:
        For each place its released neighbours, and the row of the edge to each.
    between:
        For two classes, ascending, the rows of the edges between them.
    n_inserted:
        For two classes how many of those are no true ties.
    """

    name = "edges"
    low: Column
    high: Column
    is_true: Column

    def __init__(self, current: Current, places: PlaceTable) -> None:
        super().__init__()
        self._current = current
        self._places = places
        self.index()

    def index(self) -> None:
        """Derive neighbours, and the edges between classes."""
        self.adjacent: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self.between: defaultdict[Tie, set[int]] = defaultdict(set)
        self.n_inserted: defaultdict[Tie, int] = defaultdict(int)
        used = self.used()
        for row, (low, high) in zip(used.tolist(), self.pairs(used).tolist(), strict=True):
            self.adjacent[low][high] = row
            self.adjacent[high][low] = row
        self.note(used.tolist())

    def is_tie(self, row: int) -> bool:
        """Whether an edge is a true tie."""
        return self.is_true[row] == TRUE

    def note(self, rows: list[int]) -> None:
        """Note between which classes edges lie."""
        classes = np.sort(self._places.cls[self.pairs(np.array(rows, dtype=np.int64))], axis=1)
        inserted = (self.is_true[rows] != TRUE).tolist()
        for row, low, high, n in zip(rows, *classes.T.tolist(), inserted, strict=True):
            self.between[low, high].add(row)
            self.n_inserted[low, high] += n

    def forget(self, row: int) -> None:
        """Note no longer between which classes an edge lies."""
        classes = self._places.class_pair(*self.pair(row))
        self.between[classes].discard(row)
        self.n_inserted[classes] -= not self.is_tie(row)

    def show(self, u: int, v: int, *, is_true: bool) -> None:
        """Release an edge between two places that have none."""
        low, high = (u, v) if u < v else (v, u)
        row = self.add(low=low, high=high, is_true=int(is_true))
        self.adjacent[low][high] = row
        self.adjacent[high][low] = row
        classes = self._places.class_pair(low, high)
        self.between[classes].add(row)
        self.n_inserted[classes] += not is_true
        self._note_visible((low, high), self._current.gained, self._current.lost)

    def drop(self, row: int) -> None:
        """Release an edge no longer."""
        low, high = self.pair(row)
        del self.adjacent[low][high]
        del self.adjacent[high][low]
        self.forget(row)
        self.free(row)
        self._note_visible((low, high), self._current.lost, self._current.gained)

    def label(self, row: int, what: int) -> None:
        """Note whether an edge is a true tie; nothing visible happens."""
        classes = self._places.class_pair(*self.pair(row))
        self.n_inserted[classes] += (what != TRUE) - (not self.is_tie(row))
        self.is_true[row] = what
        self._current.note_change(classes)

    def _note_visible(self, edge: Tie, now: dict[Tie, None], before: dict[Tie, None]) -> None:
        if edge in before:
            del before[edge]
        else:
            now[edge] = None
        self._current.touched.update(self._places.cohort[place] for place in edge)


class FormerEdgeTable(PairTable):
    """What a pair of classes showed before it was cleared.

    Attributes
    ----------
    low, high:
        The places of its ends, ascending.
    between:
        For two classes, ascending, the rows of the edges between them.
    """

    name = "former"
    low: Column
    high: Column

    def __init__(self, places: PlaceTable) -> None:
        super().__init__()
        self._places = places
        self.index()

    def index(self) -> None:
        """Derive the edges between classes."""
        self.between: defaultdict[Tie, set[int]] = defaultdict(set)
        for row in self.used().tolist():
            self.between[self._places.class_pair(*self.pair(row))].add(row)

    def remember(self, classes: Tie, edges: list[Tie]) -> None:
        """Note what a pair of classes shows, which will be shown no longer."""
        self.between[classes] |= {self.add(low=low, high=high) for low, high in edges}

    def forget(self, classes: Tie) -> None:
        """Remember no longer what a pair of classes showed."""
        for row in sorted(self.between.pop(classes, ())):
            self.free(row)

    def forget_places(self, gone: set[int]) -> None:
        """Remember no longer the edges of places that vanish."""
        for rows in self.between.values():
            for row in sorted(rows):
                if gone & set(self.pair(row)):
                    rows.discard(row)
                    self.free(row)
