"""What a sequence remembers: places, people, released edges, ties held back, and cohorts.

Five tables are the state; everything else here is derived from them, kept in step by the methods
below, and rebuilt from them after recovery or an undone release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.table import FREE, Table

# Columns of `places`: who is published. A place is never reused. LEFT: when its owner left it.
PUBLISHED, CLS, SENSITIVE, EVER, COHORT, OWNER, KIND, BORN, LEFT = range(9)
# Columns of `people`: the true graph's vertices. A row is reused after its person left.
KEY, PLACE, TRUE_CLS, TRUE_SENSITIVE, SINCE, GROUP = range(6)
# Columns of `edges`: what is released, by places.
LOW, HIGH, IS_TRUE, ADDED = range(4)
# Columns of `held`: true ties that are not released, by rows of `people`.
FIRST, SECOND, HELD_SINCE = range(3)
# Columns of `former`, LOW and HIGH: what a pair of classes showed before it was cleared, by places.

NOBODY = NEVER = -1
FALSE, TRUE, RESIDUAL = range(3)
"""Of a released edge: inserted, a true tie, a former tie of somebody who left the place."""
INSERTED, REAL, COUNTERFEIT = range(3)
"""Kinds of place: never anybody's, somebody's, formerly somebody's."""

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
    held_of:
        For each row of people the rows of people it has a tie with that is not released, and the
        row of `held`.
    """

    def __init__(self, n_attributes: int) -> None:
        columns = "published cls sensitive ever cohort owner kind born left"
        self.places = Table("places", tuple(columns.split()))
        self.people = Table("people", ("key", "place", "cls", "sensitive", "since", "group"))
        self.edges = Table("edges", ("low", "high", "is_true", "added"))
        self.held = Table("held", ("first", "second", "since"))
        self.former = Table("former", ("low", "high"))
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
        self.touched: set[int] = set()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The five tables."""
        return (self.places, self.people, self.edges, self.held, self.former)

    # -- derived state ---------------------------------------------------------------------------

    def rebuild(self) -> None:
        """Derive every index from the tables."""
        self.adjacent = [{} for _ in range(self.places.n)]
        self.cls_of = self.places.rows[:, CLS].tolist()
        used = self.edges.used()
        for row, low, high in zip(
            used.tolist(), *self.edges.rows[used][:, :2].T.tolist(), strict=True
        ):
            self.adjacent[low][high] = row
            self.adjacent[high][low] = row
        self.between.clear()
        self.n_inserted.clear()
        self.index_edges(used)
        self.former_between.clear()
        for row in self.former.used().tolist():
            low, high = self.former.get(row, LOW), self.former.get(row, HIGH)
            self.former_between[self.class_pair(low, high)].add(row)
        self._rebuild_cohorts()
        rows = self.people.used()
        keys = self.people.rows[rows]
        self.row_of = dict(zip(keys[:, KEY].tolist(), rows.tolist(), strict=True))
        self.withheld = set(rows[keys[:, PLACE] == NOBODY].tolist())
        placed = rows[keys[:, PLACE] != NOBODY]
        shown = self.places.rows[self.people.rows[placed, PLACE], CLS]
        self.differing = set(placed[shown != self.people.rows[placed, TRUE_CLS]].tolist())
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
        cohort = self.places.rows[used, COHORT]
        order = np.argsort(cohort, kind="stable")
        labels, starts = np.unique(cohort[order], return_index=True)
        for label, part in zip(
            labels.tolist(), np.split(used[order], starts[1:]), strict=len(labels) > 0
        ):
            self.members[label] = part.tolist()
            self.ever[label] = int(self.places.rows[part, EVER].sum())
            self.cohorts_of[self.cls(self.members[label][0])].add(label)

    def set_classes(self, classes: list[tuple[int, ...]]) -> None:
        """Replace the classes."""
        self.classes = classes
        self._class_numbers = {codes: number for number, codes in enumerate(classes)}

    def forget_visible(self) -> None:
        """Begin a new release: nothing has visibly changed yet."""
        self.gained.clear()
        self.lost.clear()
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
        return self.places.get(place, COHORT)

    def place(self, row: int) -> int:
        """Return the place of a person, `NOBODY` while withheld."""
        return self.people.get(row, PLACE)

    def is_true(self, edge: int) -> bool:
        """Whether a released edge is a true tie."""
        return self.edges.get(edge, IS_TRUE) == TRUE

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
        row = self.edges.add((low, high, int(is_true), self.release))
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
        edges = self.edges.rows[rows]
        classes = np.sort(self.places.rows[edges[:, : HIGH + 1], CLS], axis=1)
        inserted = (edges[:, IS_TRUE] != TRUE).tolist()
        for row, low, high, n in zip(rows.tolist(), *classes.T.tolist(), inserted, strict=True):
            self.between[low, high].add(row)
            self.n_inserted[low, high] += n

    def class_pair(self, u: int, v: int) -> Tie:
        """Return the published classes of two places, ascending."""
        a, b = self.cls(u), self.cls(v)
        return (a, b) if a <= b else (b, a)

    def drop_edge(self, row: int) -> None:
        """Release an edge no longer."""
        low, high = self.edges.get(row, LOW), self.edges.get(row, HIGH)
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
        classes = self.class_pair(self.edges.get(row, LOW), self.edges.get(row, HIGH))
        self.n_inserted[classes] += (what != TRUE) - (not self.is_true(row))
        self.edges.set(row, IS_TRUE, what)
        self.note_change(classes)

    def note_change(self, classes: Tie) -> None:
        """Note that a true tie between two classes came or went."""
        self.stale[classes] = self.stale.get(classes, 0) + 1
        self.changed.add(classes)

    def remember(self, classes: Tie) -> None:
        """Note what a pair of classes shows, which will be shown no longer."""
        for edge in sorted(self.between[classes]):
            ends = self.edges.get(edge, LOW), self.edges.get(edge, HIGH)
            self.former_between[classes].add(self.former.add(ends))

    def forget_former(self, classes: Tie) -> None:
        """Remember no longer what a pair of classes showed before it was cleared."""
        for row in sorted(self.former_between.pop(classes, ())):
            self.former.free(row)

    def _touch(self, *places: int) -> None:
        self.touched.update(self.cohort(place) for place in places)

    # -- places and cohorts ----------------------------------------------------------------------

    def add_place(self, published: int, cls: int, sensitive: int, *, ever: bool) -> int:
        """Add an inserted place without cohort; `form_cohort` gives it one."""
        shown = (published, cls, sensitive, int(ever))
        values = (*shown, FREE, NOBODY, INSERTED, self.release, NEVER)
        # Never a freed row: a place is an identity.
        place = int(self.places.add_many(np.array([values], dtype=np.int64))[0])
        self.adjacent.append({})
        self.cls_of.append(cls)
        return place

    def settle(self, row: int, place: int) -> None:
        """Give a place to a person."""
        self.people.set(row, PLACE, place)
        self.places.set(place, OWNER, row)
        self.places.set(place, KIND, REAL)
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
        self.people.set(row, PLACE, NOBODY)
        self.places.set(place, OWNER, NOBODY)
        self.places.set(place, KIND, COUNTERFEIT)
        self.places.set(place, LEFT, self.release)
        self.people.set(row, SINCE, self.release)
        self.withheld.add(row)
        self.differing.discard(row)
        for other, edge in sorted(self.adjacent[place].items()):
            if self.is_true(edge):
                self.label(edge, RESIDUAL)
                self.hold(row, self.places.get(other, OWNER))
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
            self.places.set(place, COHORT, label)
        ever = int(self.places.rows[chosen, EVER].sum())
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
            ends = {row: {self.former.get(row, LOW), self.former.get(row, HIGH)} for row in rows}
            for row in [row for row in sorted(rows) if ends[row] & vanished]:
                rows.discard(row)
                self.former.free(row)
        self.cohorts_of[self.cls(gone[0])].discard(label)
        published = [self.places.get(place, PUBLISHED) for place in gone]
        for place in gone:
            for column in range(len(self.places.columns)):
                self.places.set(place, column, FREE)
            self.cls_of[place] = FREE
        self.touched.discard(label)
        return published

    def publish_sensitive(self, place: int, code: int, *, is_sensitive: bool) -> None:
        """Change the published sensitive value of a place."""
        self.places.set(place, SENSITIVE, code)
        if is_sensitive and not self.places.get(place, EVER):
            self.places.set(place, EVER, 1)
            self.ever[self.cohort(place)] += 1
        self.touched.add(self.cohort(place))

    # -- people ----------------------------------------------------------------------------------

    def add_person(self, key: int, cls: int, sensitive: int) -> int:
        """Add a withheld person; return the row."""
        row = self.people.add((key, NOBODY, cls, sensitive, self.release, NOBODY))
        self.row_of[key] = row
        self.withheld.add(row)
        return row

    def remove_person(self, row: int) -> None:
        """Forget a withheld person and all ties held back."""
        for other in list(self.held_of[row]):
            self.unhold(self.held_of[row][other])
        del self.held_of[row]
        del self.row_of[self.people.get(row, KEY)]
        self.withheld.discard(row)
        self.people.free(row)

    # -- ties held back --------------------------------------------------------------------------

    def hold(self, u: int, v: int) -> int:
        """Hold a tie between two rows of people back."""
        row = self.held.add((min(u, v), max(u, v), self.release))
        self._index_held(row)
        return row

    def unhold(self, row: int) -> None:
        """Hold a tie back no longer."""
        self._unindex_held(row)
        u, v = self.held.get(row, FIRST), self.held.get(row, SECOND)
        del self.held_of[u][v]
        del self.held_of[v][u]
        self.held.free(row)

    def held_places(self, row: int) -> Tie:
        """Return the places of a tie that is held back."""
        return self.place(self.held.get(row, FIRST)), self.place(self.held.get(row, SECOND))

    def _index_held(self, row: int) -> None:
        u, v = self.held.get(row, FIRST), self.held.get(row, SECOND)
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
            self.held.set(row, HELD_SINCE, self.release)

    def _class_pair(self, row: int) -> Tie | None:
        """Return the published classes of the ends, ascending; None while one is withheld."""
        u, v = self.held_places(row)
        if NOBODY in (u, v):
            return None
        return self.class_pair(u, v)
