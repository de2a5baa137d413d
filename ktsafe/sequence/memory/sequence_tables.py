"""Tables of published vertices, true people, released edges, and hidden ties.

Columns, their order, and numbers such as `INSERTED` or `TRUE` are the layout of states: another one
needs `lab/convert`. What is derived of columns may be computed otherwise
(tests/ktsafe/sequence/test_tables.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.column_table import (
    FREE,
    NOBODY,
    ColumnTable,
    Integers,
    Numbers,
    PairTable,
    TableColumn,
    Whole,
)

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
    reuses = False
    published = TableColumn()
    cls = TableColumn()
    sensitive = TableColumn()
    ever = TableColumn()
    cohort = TableColumn()
    owner = TableColumn()
    kind = TableColumn()
    born = TableColumn()
    left = TableColumn()
    value_at = TableColumn()

    @property
    def members(self) -> dict[int, Numbers]:
        """For each cohort that is not empty its places, ascending."""
        return self.derived("members", self.version("cohort"), lambda: _grouped(self.cohort))

    @property
    def cohorts_of(self) -> dict[int, list[int]]:
        """For each class with cohorts those, ascending."""
        return self.derived("cohorts_of", self.version("cohort", "cls"), self._cohorts_of)

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
    key = TableColumn()
    place = TableColumn()
    cls = TableColumn()
    sensitive = TableColumn()
    since = TableColumn()

    def rows_of(self, keys: Numbers) -> Numbers:
        """Return the row of each key; -1 if there is none."""
        known, rows = self.derived("keys", self.version("key"), self._by_key)
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


class ReleasedEdgeTable(PairTable):
    """The released edges, by the places of their ends.

    Attributes
    ----------
    is_true:
        `FALSE`, `TRUE`, `RESIDUAL` or `ENDED`.
    began:
        The release in which a true tie began; of other edges it says nothing.
    """

    name = "edges"
    is_true = TableColumn()
    began = TableColumn()


class HiddenTieTable(PairTable):
    """True ties that are not released, by the rows of their people.

    Attributes
    ----------
    since, began:
        The releases since which the tie could have been shown, and in which it began.
    """

    name = "held"
    since = TableColumn()
    began = TableColumn()


class ClearedEdgeTable(PairTable):
    """What pairs of classes showed before they were cleared, by places.

    Attributes
    ----------
    was_true:
        1 if it was a true tie when it was shown last, or had been one of a departed person.
    """

    name = "former"
    was_true = TableColumn()


def by_classes(classes: Integers, rows: NDArray[Whole]) -> Iterator[tuple[Tie, NDArray[Whole]]]:
    """Yield the rows of each pair of classes, given for each row.

    Shape (x, 2); none for -1.
    """
    if not len(rows):
        return
    width = int(classes.max()) + 1
    # Small numbers are sorted in a tenth of the time; there -1 becomes the greatest.
    kind = np.uint16 if width**2 < 2**16 else np.int64
    first, second = (classes[:, side].astype(kind) for side in (0, 1))
    keys = first * np.array(width, dtype=kind) + second
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.append(0, 1 + np.flatnonzero(keys[1:] != keys[:-1]))
    pairs = map(tuple, classes[order[starts]].tolist())
    for pair, inside in zip(pairs, np.split(rows[order], starts[1:]), strict=True):
        if pair[0] >= 0:
            yield pair, inside


def _grouped(groups: Numbers) -> dict[int, Numbers]:
    """Return each group's positions; groups are at least 0, ascending."""
    order = np.argsort(groups, kind="stable")
    order = order[np.searchsorted(groups[order], 0) :]
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    parts = np.split(order, starts[1:])
    return dict(zip(groups[order[starts]].tolist(), parts, strict=False))


def sums(between: RowsOfPairs, flags: NDArray[np.bool_]) -> Counter[Tie]:
    """Return for each pair of classes its number of flagged rows."""
    lengths = np.array([len(rows) for rows in between.values()], dtype=np.int64)
    if not len(lengths):
        return Counter()
    starts = np.cumsum(lengths) - lengths
    rows = np.concatenate(list(between.values()))
    sums = np.add.reduceat(flags[rows], starts, dtype=np.int64)
    return Counter(dict(zip(between, sums.tolist(), strict=True)))
