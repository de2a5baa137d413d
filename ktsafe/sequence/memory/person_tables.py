"""The true graph's people, and the ties of theirs that are not released."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.current import Current, Tie
from ktsafe.sequence.memory.neighbours import Neighbours, by_classes
from ktsafe.sequence.memory.paged_table import NOBODY, Column, PagedTable, PairTable
from ktsafe.sequence.memory.place_table import PlaceTable
from ktsafe.sequence.memory.sorted_numbers import ascending, distinct


class PersonTable(PagedTable):
    """The true graph's vertices. A row is reused after its person left.

    Attributes
    ----------
    key:
        The person.
    place:
        The place that shows the person, or `NOBODY` while withheld.
    cls, sensitive:
        The true class, and the code of the true sensitive value.
    since:
        The release since which the person waits, or waited.
    row_of:
        For each key its row.
    withheld, differing:
        The rows of people without a place, and of those whose place shows another class.
    """

    name = "people"
    key: Column
    place: Column
    cls: Column
    sensitive: Column
    since: Column

    def __init__(self, current: Current, places: PlaceTable) -> None:
        super().__init__()
        self._current = current
        self._places = places
        self.index()

    def index(self) -> None:
        """Derive who is where, and who waits."""
        rows = self.used()
        self.row_of: dict[int, int] = dict(zip(self.key[rows].tolist(), rows.tolist(), strict=True))
        is_placed = self.place[rows] != NOBODY
        self.withheld: set[int] = set(rows[~is_placed].tolist())
        placed = rows[is_placed]
        is_other = self._places.cls[self.place[placed]] != self.cls[placed]
        self.differing: set[int] = set(placed[is_other].tolist())

    def join(
        self, keys: NDArray[np.int64], cls: NDArray[np.int64], sensitive: NDArray[np.int64]
    ) -> None:
        """Add withheld people."""
        since = self._current.number
        rows = self.add_many(
            len(keys), key=keys, place=NOBODY, cls=cls, sensitive=sensitive, since=since
        ).tolist()
        self.row_of.update(zip(keys.tolist(), rows, strict=True))
        self.withheld.update(rows)
        self._current.moved.update(rows)

    def withhold(self, row: int) -> None:
        """Take a person's place away."""
        self.place[row] = NOBODY
        self.since[row] = self._current.number
        self.withheld.add(row)
        self._current.moved.add(row)
        self.differing.discard(row)

    def remove(self, row: int) -> None:
        """Forget a withheld person."""
        del self.row_of[self.key[row]]
        self.withheld.discard(row)
        self._current.moved.add(row)
        self.free(row)


class HeldTieTable(PairTable):
    """True ties that are not released, by rows of people.

    Attributes
    ----------
    first, second:
        The rows of its ends, ascending.
    since, began:
        The releases since which the tie could have been shown, and in which it began.
    of:
        For each row of people those it has such a tie with, and the row of the tie.
    between:
        For two published classes, ascending, the rows of the ties of which no end is withheld.
    n_young:
        How many of those began after the cohorts of their ends were formed.
    """

    name = "held"
    later = (("began", 0),)
    first: Column
    second: Column
    since: Column
    began: Column

    def __init__(self, current: Current, places: PlaceTable, people: PersonTable) -> None:
        super().__init__()
        self._current = current
        self._places = places
        self._people = people
        self.index()

    def index(self) -> None:
        """Derive the ties of each person and between classes."""
        self.of = Neighbours(self)
        self.between: defaultdict[Tie, set[int]] = defaultdict(set)
        self.n_young: defaultdict[Tie, int] = defaultdict(int)
        self._enter(self.used())

    def hold(self, ties: NDArray[np.int64], began: int | NDArray[np.int64]) -> NDArray[np.int64]:
        """Hold ties back, between rows of people: shape (x, 2). Returns the ties' rows."""
        first, second = ascending(ties).T
        since = self._current.number
        rows = self.add_many(len(ties), first=first, second=second, since=since, began=began)
        self.of.enter(rows)
        self._enter(rows)
        self._current.moved.update(ties.reshape(-1).tolist())
        return rows

    def unhold(self, rows: NDArray[np.int64]) -> None:
        """Hold ties back no longer."""
        self._leave(rows)
        ties = self.pairs(rows)
        self.of.leave(ties)
        self._current.moved.update(ties.reshape(-1).tolist())
        self.free_many(rows)

    def open(self, people: NDArray[np.int64]) -> None:
        """Note that the ties of people who were published can be shown, from now on."""
        rows = distinct(self.of.around(people)[2])
        for classes, inside in self._by_classes(rows):
            self.between[classes].update(inside)
            self.n_young[classes] += self._count_young(inside)
            self._current.note_opened(classes, len(inside))
            self.since[inside] = self._current.number

    def close(self, person: int) -> None:
        """Note that no tie of somebody who will be withheld can be shown."""
        self._leave(np.array(list(self.of[person].values()), dtype=np.int64))

    def class_pairs(self, ties: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the published classes of the ends of ties, ascending; -1 while one is withheld."""
        places = self._people.place[ties]
        are_shown = (places != NOBODY).all(axis=1)
        classes = np.full_like(ties, NOBODY)
        classes[are_shown] = ascending(self._places.cls[places[are_shown]])
        return classes

    def _enter(self, rows: NDArray[np.int64]) -> None:
        for classes, inside in self._by_classes(rows):
            self.between[classes].update(inside)
            self.n_young[classes] += self._count_young(inside)

    def _leave(self, rows: NDArray[np.int64]) -> None:
        for classes, inside in self._by_classes(rows):
            self.between[classes].difference_update(inside)
            self.n_young[classes] -= self._count_young(inside)
            if not self.between[classes]:
                del self.between[classes]

    def _count_young(self, rows: list[int]) -> int:
        """Return how many ties of published people began after both cohorts were formed."""
        places = self._people.place[self.pairs(np.array(rows, dtype=np.int64))]
        return int((self.began[rows] > self._places.born[places].max(axis=1)).sum())

    def _by_classes(self, rows: NDArray[np.int64]) -> Iterator[tuple[Tie, list[int]]]:
        """Yield the ties that can be shown of each pair of classes."""
        return by_classes(self.class_pairs(self.pairs(rows)), rows)
