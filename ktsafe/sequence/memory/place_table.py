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
        used = used[np.argsort(self.cohort[used], kind="stable")]
        labels, starts = np.unique(self.cohort[used], return_index=True)
        for label, part in zip(labels.tolist(), np.split(used, starts[1:]), strict=False):
            self._note_cohort(label, part.tolist())

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

    def form_cohort(self, places: Iterable[int]) -> None:
        """Make a cohort of places of one class that have none."""
        members = sorted(places)
        for place in members:
            self.cohort[place] = self.n_cohorts
        self._note_cohort(self.n_cohorts, members)
        self._current.touched.add(self.n_cohorts)
        self.n_cohorts += 1

    def move_cohort(self, label: int, cls: int) -> None:
        """Change the published class of a cohort."""
        self.cohorts_of[self.cls[self.members[label][0]]].discard(label)
        for place in self.members[label]:
            self.cls[place] = cls
        self.cohorts_of[cls].add(label)
        self._current.touched.add(label)

    def remove_cohort(self, label: int) -> list[int]:
        """Remove a cohort and its places; return their published ids."""
        gone = self.members.pop(label)
        del self.n_ever[label]
        self.cohorts_of[self.cls[gone[0]]].discard(label)
        self._current.touched.discard(label)
        published: list[int] = self.published[gone].tolist()
        for place in gone:
            self.free(place)
        return published

    def _note_cohort(self, label: int, members: list[int]) -> None:
        self.members[label] = members
        self.n_ever[label] = int(self.ever[members].sum())
        self.cohorts_of[self.cls[members[0]]].add(label)
