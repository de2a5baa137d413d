"""The true graph's people, and the ties of theirs that are not released."""

from __future__ import annotations

from collections import defaultdict

from ktsafe.sequence.memory.current import Current, Tie
from ktsafe.sequence.memory.paged_table import NOBODY, Column, PagedTable, PairTable
from ktsafe.sequence.memory.place_table import PlaceTable


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

    def join(self, key: int, cls: int, sensitive: int) -> None:
        """Add a withheld person."""
        row = self.add(
            key=key, place=NOBODY, cls=cls, sensitive=sensitive, since=self._current.number
        )
        self.row_of[key] = row
        self.withheld.add(row)
        self._current.moved.add(row)

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
    since:
        The release since which the tie could have been shown.
    of:
        For each row of people those it has such a tie with, and the row of the tie.
    between:
        For two published classes, ascending, the rows of the ties of which no end is withheld.
    """

    name = "held"
    first: Column
    second: Column
    since: Column

    def __init__(self, current: Current, places: PlaceTable, people: PersonTable) -> None:
        super().__init__()
        self._current = current
        self._places = places
        self._people = people
        self.index()

    def index(self) -> None:
        """Derive the ties of each person and between classes."""
        self.of: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self.between: defaultdict[Tie, set[int]] = defaultdict(set)
        for row in self.used().tolist():
            self._enter(row)

    def hold(self, u: int, v: int) -> int:
        """Hold a tie between two rows of people back."""
        row = self.add(first=min(u, v), second=max(u, v), since=self._current.number)
        self._enter(row)
        self._current.moved.update((u, v))
        return row

    def unhold(self, row: int) -> None:
        """Hold a tie back no longer."""
        self._leave(row)
        u, v = self.pair(row)
        del self.of[u][v]
        del self.of[v][u]
        self._current.moved.update((u, v))
        self.free(row)

    def open(self, person: int) -> None:
        """Note that the ties of somebody who was published can be shown, from now on."""
        for row in self.of[person].values():
            classes = self.class_pair(*self.pair(row))
            if classes is not None:
                self.between[classes].add(row)
                self._current.note_opened(classes)
                self.since[row] = self._current.number

    def close(self, person: int) -> None:
        """Note that no tie of somebody who will be withheld can be shown."""
        for row in self.of[person].values():
            self._leave(row)

    def class_pair(self, u: int, v: int) -> Tie | None:
        """Return the published classes of two rows of people; None while one is withheld."""
        p, q = self._people.place[u], self._people.place[v]
        return None if NOBODY in (p, q) else self._places.class_pair(p, q)

    def _enter(self, row: int) -> None:
        u, v = self.pair(row)
        self.of[u][v] = row
        self.of[v][u] = row
        classes = self.class_pair(u, v)
        if classes is not None:
            self.between[classes].add(row)

    def _leave(self, row: int) -> None:
        classes = self.class_pair(*self.pair(row))
        if classes is not None:
            self.between[classes].discard(row)
            if not self.between[classes]:
                del self.between[classes]
