"""What a sequence remembers: places, people, released edges, ties held back, and cohorts.

Five tables are the state; everything else here is derived from them, kept in step by the methods
below, and rebuilt from them after recovery or an undone release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.paged_table import FREE, PagedTable
from ktsafe.sequence.memory.tables import (
    COUNTERFEIT,
    INSERTED,
    NEVER,
    NOBODY,
    REAL,
    RESIDUAL,
    TRUE,
    FormerEdgeTable,
    HeldTieTable,
    PersonTable,
    PlaceTable,
    ReleasedEdgeTable,
)

Tie = tuple[int, int]
Cell = tuple[int, int]
"""A cohort and the class of a neighbour that all its members gain or lose together."""


class State:
    """The tables and their indexes.

    Attributes
    ----------
    classes:
        Quasi-identifier codes of each class, in the order in which they were first seen.
    categories:
        Texts of the codes of each attribute, likewise.
    adjacent:
        For each place its released neighbours, and the row of the edge to each.
    cls_of:
        The published class of each place.
    members:
        For each cohort that is not empty its places, ascending.
    ever:
        For each of those cohorts the number of members that were ever published sensitive.
    between:
        For two classes, ascending, the rows of the released edges between them.
    former_between:
        Likewise the rows of `former`.
    n_inserted:
        For two classes the number of released edges between them that are no true ties.
    stale:
        For two classes how many true ties between them came or went since it was last decided what
        they show. Remembered, as the tables are.
    changed, opened:
        Those of them in which this happened in this release, and because somebody was published.
    gained, lost:
        Edges between places, ascending, that this release shows and the former did not, or the
        other way round.
    returned:
        Edges that were shown before their pair of classes was cleared, of pairs planned afresh now.
    held_of:
        For each row of people the rows of people it has a tie with that is not released, and the
        row of `held`.
    """

    def __init__(self, n_attributes: int) -> None:
        self.places = PlaceTable()
        self.people = PersonTable()
        self.edges = ReleasedEdgeTable()
        self.held = HeldTieTable()
        self.former = FormerEdgeTable()
        self.categories: list[list[str]] = [[] for _ in range(n_attributes)]
        self.classes: list[tuple[int, ...]] = []
        self._class_numbers: dict[tuple[int, ...], int] = {}
        self.release = 0
        self.n_cohorts = 0
        self.counts: dict[str, int] = {}
        self.adjacent: list[dict[int, int]] = []
        self.cls_of: list[int] = []
        self.members: dict[int, list[int]] = {}
        self.ever: dict[int, int] = {}
        self.cohorts_of: defaultdict[int, set[int]] = defaultdict(set)
        self.row_of: dict[int, int] = {}
        self.held_of: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self.held_between: defaultdict[Tie, set[int]] = defaultdict(set)
        self.between: defaultdict[Tie, set[int]] = defaultdict(set)
        self.former_between: defaultdict[Tie, set[int]] = defaultdict(set)
        self.n_inserted: defaultdict[Tie, int] = defaultdict(int)
        self.stale: dict[Tie, int] = {}
        self.changed: set[Tie] = set()
        self.opened: set[Tie] = set()
        self.withheld: set[int] = set()
        self.differing: set[int] = set()
        self.gained: dict[Tie, None] = {}
        self.lost: dict[Tie, None] = {}
        self.returned: set[Tie] = set()
        self.touched: set[int] = set()

    @property
    def tables(self) -> tuple[PagedTable, ...]:
        """The five tables."""
        return (self.places, self.people, self.edges, self.held, self.former)

    # -- derived state ---------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Derive every index from the tables."""
        self.adjacent = [{} for _ in range(self.places.n)]
        self.cls_of = self.places.cls[:].tolist()
        used = self.edges.used()
        for row, (low, high) in zip(used.tolist(), self.edges.pairs(used).tolist(), strict=True):
            self.adjacent[low][high] = row
            self.adjacent[high][low] = row
        self.between.clear()
        self.n_inserted.clear()
        self.index_edges(used)
        self.former_between.clear()
        for row in self.former.used().tolist():
            self.former_between[self.class_pair(*self.former.pair(row))].add(row)
        self._rebuild_cohorts()
        rows = self.people.used()
        self.row_of = dict(zip(self.people.key[rows].tolist(), rows.tolist(), strict=True))
        is_placed = self.people.place[rows] != NOBODY
        self.withheld = set(rows[~is_placed].tolist())
        placed = rows[is_placed]
        shown = self.places.cls[self.people.place[placed]]
        self.differing = set(placed[shown != self.people.cls[placed]].tolist())
        self.held_of.clear()
        self.held_between.clear()
        for row in self.held.used().tolist():
            self._index_held(row)
        self.forget_visible()

    def _rebuild_cohorts(self) -> None:
        self.members.clear()
        self.ever.clear()
        self.cohorts_of.clear()
        used = self.places.used()
        cohort = self.places.cohort[used]
        order = np.argsort(cohort, kind="stable")
        labels, starts = np.unique(cohort[order], return_index=True)
        for label, part in zip(
            labels.tolist(), np.split(used[order], starts[1:]), strict=len(labels) > 0
        ):
            self.members[label] = part.tolist()
            self.ever[label] = int(self.places.ever[part].sum())
            self.cohorts_of[self.cls(self.members[label][0])].add(label)

    def set_classes(self, classes: list[tuple[int, ...]]) -> None:
        """Replace the classes."""
        self.classes = classes
        self._class_numbers = {codes: number for number, codes in enumerate(classes)}

    def forget_visible(self) -> None:
        """Begin a new release: nothing has visibly changed yet."""
        self.gained.clear()
        self.lost.clear()
        self.returned.clear()
        self.touched.clear()
        self.changed.clear()
        self.opened.clear()

    def count(self, what: str, times: int = 1) -> None:
        """Count a private figure over the whole sequence."""
        self.counts[what] = self.counts.get(what, 0) + times

    def commit(self) -> None:
        """Make all changes permanent."""
        for table in self.tables:
            table.commit()

    # -- looking things up -----------------------------------------------------------------------

    def cls(self, place: int) -> int:
        """Return the published class of a place."""
        return self.cls_of[place]

    def cohort(self, place: int) -> int:
        """Return the cohort of a place."""
        return self.places.cohort[place]

    def place(self, row: int) -> int:
        """Return the place of a person, `NOBODY` while withheld."""
        return self.people.place[row]

    def is_true(self, edge: int) -> bool:
        """Whether a released edge is a true tie."""
        return self.edges.is_true[edge] == TRUE

    def class_of(self, codes: tuple[int, ...]) -> int:
        """Return the number of a class, a new one if it was never seen."""
        try:
            return self._class_numbers[codes]
        except KeyError:
            self.classes.append(codes)
            self._class_numbers[codes] = len(self.classes) - 1
            return len(self.classes) - 1

    # -- released edges --------------------------------------------------------------------------

    def add_edge(self, u: int, v: int, *, is_true: bool) -> int:
        """Release an edge between two places that have none."""
        low, high = (u, v) if u < v else (v, u)
        row = self.edges.add(low=low, high=high, is_true=int(is_true))
        self.adjacent[low][high] = row
        self.adjacent[high][low] = row
        self.between[self.class_pair(low, high)].add(row)
        self.n_inserted[self.class_pair(low, high)] += not is_true
        if (low, high) in self.lost:
            del self.lost[low, high]
        else:
            self.gained[low, high] = None
        self._touch(low, high)
        return row

    def index_edges(self, rows: NDArray[np.int64]) -> None:
        """Note between which classes many new edges lie."""
        classes = np.sort(self.places.cls[self.edges.pairs(rows)], axis=1)
        inserted = (self.edges.is_true[rows] != TRUE).tolist()
        for row, low, high, n in zip(rows.tolist(), *classes.T.tolist(), inserted, strict=True):
            self.between[low, high].add(row)
            self.n_inserted[low, high] += n

    def class_pair(self, u: int, v: int) -> Tie:
        """Return the published classes of two places, ascending."""
        a, b = self.cls(u), self.cls(v)
        return (a, b) if a <= b else (b, a)

    def drop_edge(self, row: int) -> None:
        """Release an edge no longer."""
        low, high = self.edges.pair(row)
        del self.adjacent[low][high]
        del self.adjacent[high][low]
        self.between[self.class_pair(low, high)].discard(row)
        self.n_inserted[self.class_pair(low, high)] -= not self.is_true(row)
        self.edges.free(row)
        if (low, high) in self.gained:
            del self.gained[low, high]
        else:
            self.lost[low, high] = None
        self._touch(low, high)

    def label(self, row: int, what: int) -> None:
        """Note whether a released edge is a true tie; nothing visible happens."""
        classes = self.class_pair(*self.edges.pair(row))
        self.n_inserted[classes] += (what != TRUE) - (not self.is_true(row))
        self.edges.is_true[row] = what
        self.note_change(classes)

    def note_change(self, classes: Tie) -> None:
        """Note that a true tie between two classes came or went."""
        self.stale[classes] = self.stale.get(classes, 0) + 1
        self.changed.add(classes)

    def remember(self, classes: Tie) -> None:
        """Note what a pair of classes shows, which will be shown no longer."""
        for edge in sorted(self.between[classes]):
            low, high = self.edges.pair(edge)
            self.former_between[classes].add(self.former.add(low=low, high=high))

    def forget_former(self, classes: Tie) -> None:
        """Remember no longer what a pair of classes showed before it was cleared."""
        for row in sorted(self.former_between.pop(classes, ())):
            self.former.free(row)

    def _touch(self, *places: int) -> None:
        self.touched.update(self.cohort(place) for place in places)

    # -- places and cohorts ----------------------------------------------------------------------

    def add_places(
        self,
        published: NDArray[np.int64],
        classes: NDArray[np.int64],
        sensitive: NDArray[np.int64],
        ever: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """Add inserted places without edges and without cohort; `form_cohort` gives them one.

        Returns their numbers, ascending.
        """
        count = len(published)
        self.adjacent.extend({} for _ in range(count))
        self.cls_of.extend(classes.tolist())
        # Never a freed row: a place is an identity.
        return self.places.add_many(
            count,
            published=published,
            cls=classes,
            sensitive=sensitive,
            ever=ever.astype(np.int64),
            cohort=FREE,
            owner=NOBODY,
            kind=INSERTED,
            born=self.release,
            left=NEVER,
        )

    def settle(self, row: int, place: int) -> None:
        """Give a place to a person."""
        self.people.place[row] = place
        self.places.owner[place] = row
        self.places.kind[place] = REAL
        self.withheld.discard(row)
        for other in self.held_of[row]:
            self._reindex_held(self.held_of[row][other])

    def vacate(self, row: int) -> int:
        """Turn a person's place into a counterfeit; the person is withheld. Returns the place.

        The released ties stay as residual edges, and are held back for the person.
        """
        place = self.place(row)
        for other in self.held_of[row]:
            self._unindex_held(self.held_of[row][other])
        self.people.place[row] = NOBODY
        self.places.owner[place] = NOBODY
        self.places.kind[place] = COUNTERFEIT
        self.places.left[place] = self.release
        self.people.since[row] = self.release
        self.withheld.add(row)
        self.differing.discard(row)
        for other, edge in sorted(self.adjacent[place].items()):
            if self.is_true(edge):
                self.label(edge, RESIDUAL)
                self.hold(row, self.places.owner[other])
        return place

    def form_cohort(self, places: Iterable[int]) -> int:
        """Make a cohort of places of one class that have none, or of part of one cohort."""
        label = self.n_cohorts
        self.n_cohorts += 1
        chosen = sorted(places)
        source = self.cohort(chosen[0])
        if source != FREE:
            inside = set(chosen)
            self.members[source] = [p for p in self.members[source] if p not in inside]
            self.touched.add(source)
        for place in chosen:
            self.places.cohort[place] = label
        ever = int(self.places.ever[chosen].sum())
        if source != FREE:
            self.ever[source] -= ever
        self.members[label] = chosen
        self.ever[label] = ever
        self.cohorts_of[self.cls(chosen[0])].add(label)
        self.touched.add(label)
        return label

    def remove_cohort(self, label: int) -> list[int]:
        """Remove a cohort whose places have no edges; return their published ids."""
        gone = self.members.pop(label)
        del self.ever[label]
        vanished = set(gone)
        for rows in self.former_between.values():
            ends = {row: set(self.former.pair(row)) for row in rows}
            for row in [row for row in sorted(rows) if ends[row] & vanished]:
                rows.discard(row)
                self.former.free(row)
        self.cohorts_of[self.cls(gone[0])].discard(label)
        published = [self.places.published[place] for place in gone]
        for place in gone:
            for column in self.places.columns:
                column[place] = FREE
            self.cls_of[place] = FREE
        self.touched.discard(label)
        return published

    def publish_sensitive(self, place: int, code: int, *, is_sensitive: bool) -> None:
        """Change the published sensitive value of a place."""
        self.places.sensitive[place] = code
        if is_sensitive and not self.places.ever[place]:
            self.places.ever[place] = 1
            self.ever[self.cohort(place)] += 1
        self.touched.add(self.cohort(place))

    # -- people ----------------------------------------------------------------------------------

    def add_person(self, key: int, cls: int, sensitive: int) -> int:
        """Add a withheld person; return the row."""
        row = self.people.add(
            key=key, place=NOBODY, cls=cls, sensitive=sensitive, since=self.release
        )
        self.row_of[key] = row
        self.withheld.add(row)
        return row

    def remove_person(self, row: int) -> None:
        """Forget a withheld person and all ties held back."""
        for other in list(self.held_of[row]):
            self.unhold(self.held_of[row][other])
        del self.held_of[row]
        del self.row_of[self.people.key[row]]
        self.withheld.discard(row)
        self.people.free(row)

    # -- ties held back --------------------------------------------------------------------------

    def hold(self, u: int, v: int) -> int:
        """Hold a tie between two rows of people back."""
        row = self.held.add(first=min(u, v), second=max(u, v), since=self.release)
        self._index_held(row)
        return row

    def unhold(self, row: int) -> None:
        """Hold a tie back no longer."""
        self._unindex_held(row)
        u, v = self.held.pair(row)
        del self.held_of[u][v]
        del self.held_of[v][u]
        self.held.free(row)

    def held_places(self, row: int) -> Tie:
        """Return the places of a tie that is held back."""
        first, second = self.held.pair(row)
        return self.place(first), self.place(second)

    def _index_held(self, row: int) -> None:
        u, v = self.held.pair(row)
        self.held_of[u][v] = row
        self.held_of[v][u] = row
        pair = self._class_pair(row)
        if pair is not None:
            self.held_between[pair].add(row)

    def _unindex_held(self, row: int) -> None:
        pair = self._class_pair(row)
        if pair is not None:
            self.held_between[pair].discard(row)
            if not self.held_between[pair]:
                del self.held_between[pair]

    def _reindex_held(self, row: int) -> None:
        pair = self._class_pair(row)
        if pair is not None:
            self.held_between[pair].add(row)
            self.note_change(pair)
            self.opened.add(pair)
            # Nobody could have published it before both ends were.
            self.held.since[row] = self.release

    def _class_pair(self, row: int) -> Tie | None:
        """Return the published classes of the ends, ascending; None while one is withheld."""
        u, v = self.held_places(row)
        if NOBODY in (u, v):
            return None
        return self.class_pair(u, v)
