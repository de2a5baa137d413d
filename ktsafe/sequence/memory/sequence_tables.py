"""Tables of published vertices, true people, released edges, and hidden ties."""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.column_table import (
    FREE,
    NEVER,
    NOBODY,
    ROWS_AT_ONCE,
    ColumnTable,
    Integers,
    Numbers,
    PairTable,
    Whole,
    ascending,
    distinct,
)

if TYPE_CHECKING:
    from ktsafe.sequence.memory.state import State

Tie = tuple[int, int]

INSERTED, REAL, COUNTERFEIT = range(3)
"""Kinds of place: never anybody's, somebody's, formerly somebody's."""

FALSE, TRUE, RESIDUAL, ENDED = range(4)
"""Of a released edge: inserted, a true tie, a former tie of a person that left the place, a former
tie of two people still there."""


DENSE = 4
"""People are looked up in a table of all keys where keys are at most so many times as many."""


class RowsOfPairs(dict[Tie, Integers]):
    """For two classes, the rows between them, ascending, if any."""

    def __missing__(self, classes: Tie) -> Integers:
        return np.zeros(0, dtype=np.int32)


class PlaceTable(ColumnTable):
    """Places. None is ever reused: a place is an identity.

    Attributes
    ----------
    published:
        The published id.
    cls, sensitive:
        The class and the code of the sensitive value that are shown.
    ever:
        1 if the place was ever published sensitive.
    cohort, owner:
        Its cohort; the row of the person behind it, or `NOBODY`.
    kind:
        `INSERTED`, `REAL` or `COUNTERFEIT`.
    born, left:
        The releases in which it appeared, and in which its owner left it, or `NEVER`.
    value_at:
        The place, of the same cohort, that shows the sensitive value of its owner; for ever, also
        when the owner has left. It is the place itself where values are in place.
    """

    name = "places"
    columns = (
        "published",
        "cls",
        "sensitive",
        "ever",
        "cohort",
        "owner",
        "kind",
        "born",
        "left",
        "value_at",
    )
    reuses = False
    published: Numbers
    cls: Numbers
    sensitive: Numbers
    ever: Numbers
    cohort: Numbers
    owner: Numbers
    kind: Numbers
    born: Numbers
    left: Numbers
    value_at: Numbers

    @property
    def members(self) -> dict[int, Numbers]:
        """For each cohort that is not empty its places, ascending."""
        return self.derived("members", self.stamp("cohort"), lambda: _grouped(self.cohort))

    @property
    def cohorts_of(self) -> dict[int, list[int]]:
        """For each class with cohorts those, ascending."""
        return self.derived("cohorts_of", self.stamp("cohort", "cls"), self._cohorts_of)

    def _cohorts_of(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        labels = np.array(list(self.members), dtype=np.int64)
        first = np.array([places[0] for places in self.members.values()], dtype=np.int64)
        for cls, label in zip(self.cls[first].tolist(), labels.tolist(), strict=True):
            found[cls].append(label)
        return dict(found)

    def owners(self, labels: Iterable[int]) -> Numbers:
        """Return the rows of the people in cohorts, cohort by cohort."""
        places = [self.members[label] for label in labels]
        owners = self.owner[np.concatenate([np.zeros(0, dtype=np.int64), *places])]
        people: Numbers = owners[owners != NOBODY]
        return people


class PersonTable(ColumnTable):
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
    """

    name = "people"
    columns = ("key", "place", "cls", "sensitive", "since")
    key: Numbers
    place: Numbers
    cls: Numbers
    sensitive: Numbers
    since: Numbers

    def rows_of(self, keys: Numbers) -> Numbers:
        """Return the row of each key; -1 if there is none."""
        known, rows = self.derived("keys", self.stamp("key"), self._by_key)
        if not len(known):
            return rows[np.clip(keys, -1, len(rows) - 1)]
        at = np.searchsorted(known, keys)
        return np.where(known[at] == keys, rows[at], NOBODY)

    def _by_key(self) -> tuple[Numbers, Numbers]:
        """Return ascending keys with their rows, then `NOBODY`.

        Of dense keys it is a table of all.
        """
        rows = self.used()
        n_keys = 1 + int(self.key.max(initial=FREE))
        if n_keys <= DENSE * len(rows):
            table = np.full(n_keys + 1, NOBODY)
            table[self.key[rows]] = rows
            return rows[:0], table
        rows = rows[np.argsort(self.key[rows])]
        return np.append(self.key[rows], np.iinfo(np.int64).max), np.append(rows, NOBODY)

    def withheld(self) -> Numbers:
        """Return the rows of people without a place, ascending."""
        return np.flatnonzero((self.key != FREE) & (self.place == NOBODY))

    def differing(self, places: PlaceTable) -> Numbers:
        """Return the rows of people with a place of another class, ascending."""
        rows = np.flatnonzero(self.place != NOBODY)
        differing: Numbers = rows[places.cls[self.place[rows]] != self.cls[rows]]
        return differing


class TableOfState(PairTable):
    """Pairs that say something of the places or people of a state."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._owner = weakref.ref(state)

    def of(self, state: State) -> Self:
        """Return a copy that belongs to another state."""
        twin = self.copy()
        vars(twin).update(_owner=weakref.ref(state))
        return twin

    @property
    def _state(self) -> State:
        """The state that this table belongs to."""
        # Were it held here, a former state would stay until cyclic garbage is collected, and that
        # comes seldom.
        state = self._owner()
        assert state is not None
        return state

    @property
    def between(self) -> RowsOfPairs:
        """The rows of what lies between two published classes."""
        return self.derived("between", self._stamp_of_pairs(), self._between)

    def class_pairs(self, pairs: Numbers) -> Numbers:
        """Return the published classes of the ends of pairs, ascending.

        -1 of withheld people.
        """
        return ascending(self._classes()[pairs])

    def _classes(self) -> Numbers:
        """Return the published class of each number in pairs, -1 for `NOBODY`."""
        return np.append(self._state.places.cls, NOBODY)

    def _stamp_of_pairs(self) -> tuple[int, ...]:
        return self.stamp(self.columns[0]) + self._state.places.stamp("cls")

    def _between(self) -> RowsOfPairs:
        # What is free is nobody's.
        classes, rows = self._classes().astype(np.int32), np.arange(self.n, dtype=np.int32)
        pairs = np.empty((self.n, 2), dtype=np.int32)
        for start in range(0, self.n, ROWS_AT_ONCE):
            here = slice(start, min(start + ROWS_AT_ONCE, self.n))
            one, other = classes[self._rows[:2, here]]
            np.minimum(one, other, out=pairs[here, 0])
            np.maximum(one, other, out=pairs[here, 1])
        return RowsOfPairs(by_classes(pairs, rows))


class ReleasedEdgeTable(TableOfState):
    """The released edges.

    Attributes
    ----------
    low, high:
        The places of its ends, ascending.
    is_true:
        `FALSE`, `TRUE`, `RESIDUAL` or `ENDED`.
    began:
        The release in which a true tie began; of other edges it says nothing.
    """

    name = "edges"
    columns = ("low", "high", "is_true", "began")
    is_true: Numbers
    began: Numbers

    @property
    def n_inserted(self) -> Counter[Tie]:
        """For two classes how many edges between them are no true ties."""
        return self._counted("n_inserted", FALSE, RESIDUAL, ENDED)

    @property
    def n_ended(self) -> Counter[Tie]:
        """For two classes how many edges between them are `ENDED`."""
        return self._counted("n_ended", ENDED)

    def show(self, ends: Numbers, began: Numbers) -> None:
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
        rows = self.add(len(ends), low=low, high=high, is_true=is_true, began=began)
        self._state.current.note_shown(rows, ends)
        self._touch(ends)

    def drop(self, rows: Numbers) -> None:
        """Release edges no longer."""
        ends = self.pairs(rows)
        self.free(rows)
        self._state.current.note_dropped(rows, ends)
        self._touch(ends)

    def label(self, rows: Numbers, what: int) -> None:
        """Note whether edges are true ties; nothing visible happens."""
        classes = self.class_pairs(self.pairs(rows))
        for pair, inside in by_classes(classes, rows):
            self._state.current.note_change(pair, len(inside))
        self.write(rows, is_true=what)

    def _touch(self, ends: Numbers) -> None:
        self._state.current.touched.update(distinct(self._state.places.cohort[ends]).tolist())

    def _counted(self, what: str, *labels: int) -> Counter[Tie]:
        stamps = self._stamp_of_pairs() + self.stamp("is_true")
        is_one = np.zeros(len((FALSE, TRUE, RESIDUAL, ENDED)), dtype=np.bool_)
        is_one[list(labels)] = True
        return self.derived(what, stamps, lambda: _sums(self.between, is_one[self.is_true]))


class HiddenTieTable(TableOfState):
    """True ties that are not released, by rows of people.

    Attributes
    ----------
    first, second:
        The rows of its ends, ascending.
    since, began:
        The releases since which the tie could have been shown, and in which it began.
    """

    name = "held"
    columns = ("first", "second", "since", "began")
    since: Numbers
    began: Numbers

    @property
    def n_young(self) -> Counter[Tie]:
        """For two classes, the number of ties younger than both cohorts."""
        return self.derived("n_young", self._stamp_of_pairs(), self._n_young)

    def hold(self, ties: Numbers, began: int | Numbers) -> None:
        """Hold ties back, between rows of people: shape (x, 2)."""
        first, second = ascending(ties).T
        since = self._state.current.number
        self.add(len(ties), first=first, second=second, since=since, began=began)

    def open(self, people: Numbers) -> None:
        """Note that newly published people's ties can be shown now."""
        rows = self.rows_around(people)
        for classes, inside in by_classes(self.class_pairs(self.pairs(rows)), rows):
            self._state.current.note_opened(classes, len(inside))
            self.write(inside, since=self._state.current.number)

    def _classes(self) -> Numbers:
        """Return each person's published class, -1 of withheld ones and `NOBODY`."""
        classes: Numbers = super()._classes()[np.append(self._state.people.place, NOBODY)]
        return classes

    def _stamp_of_pairs(self) -> tuple[int, ...]:
        return super()._stamp_of_pairs() + self._state.people.stamp("place")

    def _n_young(self) -> Counter[Tie]:
        born = np.append(self._state.places.born, NEVER)
        later = born[self._state.people.place[self._rows[:2, : self.n]]].max(axis=0)
        return _sums(self.between, self.began > later)


class ClearedEdgeTable(TableOfState):
    """What a pair of classes showed before it was cleared.

    Attributes
    ----------
    low, high:
        The places of its ends, ascending.
    was_true:
        1 if it was a true tie when it was shown last, or had been one of a departed person.
    """

    name = "former"
    columns = ("low", "high", "was_true")
    was_true: Numbers

    def remember(self, ends: Numbers, were_true: NDArray[np.bool_]) -> None:
        """Note what a pair of classes shows before it is hidden."""
        low, high = ascending(ends).T
        self.add(len(ends), low=low, high=high, was_true=were_true.astype(np.int64))

    def forget_places(self, gone: Numbers) -> None:
        """Remember no longer the edges of places that vanish."""
        self.free(self.rows_around(gone))


def by_classes(classes: Integers, rows: NDArray[Whole]) -> Iterator[tuple[Tie, NDArray[Whole]]]:
    """Yield the rows of each pair of classes, given for each row.

    Shape (x, 2); none for -1.
    """
    is_named = classes[:, 0] >= 0
    classes, rows = classes[is_named], rows[is_named]
    if not len(rows):
        return
    width = int(classes.max()) + 1
    # Small numbers are sorted in a tenth of the time.
    kind = np.uint16 if width**2 < 2**16 else np.int64
    first, second = (classes[:, side].astype(kind) for side in (0, 1))
    keys = first * np.array(width, dtype=kind) + second
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
    pairs = map(tuple, classes[order[starts]].tolist())
    yield from zip(pairs, np.split(rows[order], starts[1:]), strict=True)


def _grouped(groups: Numbers) -> dict[int, Numbers]:
    """Return each group's positions; groups are at least 0, ascending."""
    order = np.argsort(groups, kind="stable")
    order = order[np.searchsorted(groups[order], 0) :]
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    parts = np.split(order, starts[1:])
    return dict(zip(groups[order[starts]].tolist(), parts, strict=False))


def _sums(between: RowsOfPairs, flags: NDArray[np.bool_]) -> Counter[Tie]:
    """Return for each pair of classes its number of flagged rows."""
    lengths = np.array([len(rows) for rows in between.values()], dtype=np.int64)
    if not len(lengths):
        return Counter()
    starts = np.cumsum(lengths) - lengths
    rows = np.concatenate(list(between.values()))
    sums = np.add.reduceat(flags[rows].astype(np.int64), starts)
    return Counter(dict(zip(between, sums.tolist(), strict=True)))
