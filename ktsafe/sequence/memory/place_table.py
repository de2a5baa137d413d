"""Who is published: places, and the cohorts they form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.current import Current, Tie
from ktsafe.sequence.memory.paged_table import FREE, NEVER, NOBODY, Column, PagedTable

INSERTED, REAL, COUNTERFEIT = range(3)
"""Kinds of place: never anybody's, somebody's, formerly somebody's."""


class PlaceTable(PagedTable):
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
    members, n_ever:
        For each cohort that is not empty its places, ascending, and how many of them were ever
        published sensitive.
    cohorts_of:
        For each class its cohorts.
    n_cohorts:
        How many cohorts there ever were; the next one's label. Remembered, as the table is.
    """

    name = "places"
    reuses = False
    published: Column
    cls: Column
    sensitive: Column
    ever: Column
    cohort: Column
    owner: Column
    kind: Column
    born: Column
    left: Column

    def __init__(self, current: Current) -> None:
        super().__init__()
        self._current = current
        self.n_cohorts = 0
        self.index()

    def index(self) -> None:
        """Derive the cohorts."""
        self.members: dict[int, list[int]] = {}
        self.n_ever: dict[int, int] = {}
        self.cohorts_of: defaultdict[int, set[int]] = defaultdict(set)
        used = self.used()
        self._note_cohorts(used[np.argsort(self.cohort[used], kind="stable")])

    def class_pair(self, u: int, v: int) -> Tie:
        """Return the published classes of two places, ascending."""
        a, b = self.cls[u], self.cls[v]
        return (a, b) if a <= b else (b, a)

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
        return self.add_many(
            len(published),
            published=published,
            cls=classes,
            sensitive=sensitive,
            ever=ever.astype(np.int64),
            cohort=FREE,
            owner=NOBODY,
            kind=INSERTED,
            born=self._current.number,
            left=NEVER,
        )

    def publish_sensitive(self, place: int, code: int, *, is_sensitive: bool) -> None:
        """Change the published sensitive value of a place."""
        self.sensitive[place] = code
        if is_sensitive and not self.ever[place]:
            self.ever[place] = 1
            self.n_ever[self.cohort[place]] += 1
        self._current.touched.add(self.cohort[place])

    def owners(self, label: int) -> list[int]:
        """Return the rows of the people in a cohort."""
        owners = self.owner[self.members[label]]
        people: list[int] = owners[owners != NOBODY].tolist()
        return people

    def deserted(self, labels: Iterable[int]) -> list[int]:
        """Return which of the given cohorts are there and have no people."""
        there = [label for label in labels if label in self.members]
        sizes = [len(self.members[label]) for label in there]
        places = [place for label in there for place in self.members[label]]
        owned = np.append(0, np.cumsum(self.owner[places] != NOBODY))
        ends = np.cumsum(sizes, dtype=np.int64)
        is_deserted = owned[ends] == owned[ends - np.array(sizes, dtype=np.int64)]
        return [label for label, bare in zip(there, is_deserted.tolist(), strict=True) if bare]

    def form_cohort(self, places: Iterable[int]) -> None:
        """Make a cohort of places of one class that have none."""
        members = np.array(sorted(places), dtype=np.int64)
        self.form_cohorts(members, np.zeros(len(members), dtype=np.int64))

    def form_cohorts(self, places: NDArray[np.int64], cohort: NDArray[np.int64]) -> None:
        """Make cohorts of places that have none; the cohorts' numbers begin at 0."""
        order = np.lexsort((places, cohort))
        n_new = int(cohort.max()) + 1
        self.cohort[places] = self.n_cohorts + cohort
        self._note_cohorts(places[order])
        self._current.touched.update(range(self.n_cohorts, self.n_cohorts + n_new))
        self.n_cohorts += n_new

    def move_cohort(self, label: int, cls: int) -> None:
        """Change the published class of a cohort."""
        self.cohorts_of[self.cls[self.members[label][0]]].discard(label)
        self.cls[self.members[label]] = cls
        self.cohorts_of[cls].add(label)
        self._current.touched.add(label)

    def remove_cohort(self, label: int) -> list[int]:
        """Remove a cohort and its places; return their published ids."""
        gone = self.members.pop(label)
        del self.n_ever[label]
        self.cohorts_of[self.cls[gone[0]]].discard(label)
        self._current.touched.discard(label)
        published: list[int] = self.published[gone].tolist()
        self.free_many(np.array(gone, dtype=np.int64))
        return published

    def _note_cohorts(self, places: NDArray[np.int64]) -> None:
        """Note cohorts with all their places, cohort by cohort."""
        cohort, members = self.cohort[places], places.tolist()
        starts = np.flatnonzero(np.diff(cohort, prepend=-1))
        ever = np.append(0, np.cumsum(self.ever[places]))
        ends = [*starts[1:].tolist(), len(members)]
        n_ever = (ever[ends] - ever[starts]).tolist() if len(starts) else []
        about = (cohort[starts].tolist(), self.cls[places[starts]].tolist(), n_ever)
        for start, end, label, cls, n in zip(starts.tolist(), ends, *about, strict=False):
            self.members[label] = members[start:end]
            self.n_ever[label] = n
            self.cohorts_of[cls].add(label)
