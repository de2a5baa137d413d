"""Ids of one place, one after the other: what a hard departure claims, and whether that holds.

Where somebody's id vanishes at once, the place goes on under another one, its *successor*. For the
verdict both are one object, so that every other defect is still found. A claim holds only if

- the former id was in the release before and is not in this one, and the successor is new;
- whoever was behind the former id is behind no id any more, and is no true person;
- nobody is behind the successor;
- no other claim names either id.

A claim that does not hold is a violation, and joins nothing: its ids stay objects of their own. So
is an id that comes back after it had a successor.
"""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter
from collections.abc import Collection, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit.release import AuditedRelease, grown

NONE = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Named:
    """The objects of one release.

    Attributes
    ----------
    objects:
        int64, shape (n,): the object of each vertex, the number of its first id.
    is_new:
        bool, shape (n,): ids that no release showed before.
    removed:
        int64, shape (s,): the objects that go by another id from this release on.
    unconfirmed:
        How many of those had an owner who is erased from the mapping, if they had one; and claims
        of the first release, whose former ids nobody has seen.
    false:
        int64, positions: ids that came back, and successors that are none.
    n_absent:
        Claims that do not hold and whose successor the release does not show.
    """

    objects: NDArray[np.int64]
    is_new: NDArray[np.bool_]
    removed: NDArray[np.int64]
    unconfirmed: int
    false: NDArray[np.int64]
    n_absent: int


class Successions:
    """Which numbers name one object, over the whole history. Numbers persist."""

    def __init__(self) -> None:
        self._object = np.zeros(0, dtype=np.int64)
        self._successor = np.zeros(0, dtype=np.int64)
        # A number may have been given to an id that a copy was tried with, and nobody has seen.
        self._was_shown = np.zeros(0, dtype=np.bool_)
        self._former: AuditedRelease | None = None
        self._numbers = np.zeros(0, dtype=np.int64)

    def copy(self) -> Successions:
        """Return a record that goes on from here by itself."""
        return copy.copy(self)

    def begin_sequence(self) -> None:
        """Forget the release before: no id of a former sequence has a successor in the next."""
        self._former = None

    @property
    def vanished(self) -> NDArray[np.int64]:
        """The numbers of all ids that have a successor."""
        return np.flatnonzero(self._successor != NONE)

    def add(
        self,
        release: AuditedRelease,
        numbers: NDArray[np.int64],
        n_numbers: int,
        people: Collection[Hashable],
    ) -> Named:
        """Take one more release with what it claims.

        Parameters
        ----------
        numbers:
            int64, shape (n,): the number of each id, below `n_numbers`.
        people:
            The true people, as far as they are known.
        """
        first = np.arange(len(self._object), n_numbers)
        object_of = np.concatenate((self._object, first))
        successor_of = grown(self._successor, n_numbers, NONE).copy()
        was_shown = grown(self._was_shown, n_numbers, 0).copy()
        is_new = ~was_shown[numbers]
        was_shown[numbers] = True
        is_back = successor_of[numbers] != NONE
        # Nothing else goes by the number of a successor, since that names the first id's object.
        object_of[numbers[is_back]] = successor_of[numbers[is_back]]
        false, removed, n_absent, unconfirmed = np.flatnonzero(is_back).tolist(), [], 0, 0
        claims = release.successions or ()
        if self._former is None:
            # Nothing to go on from: what is claimed here hides nothing that the auditor has seen.
            unconfirmed, claims = len(claims), ()
        now = {name: i for i, name in enumerate(release.ids)} if claims else {}
        for former, successor in self._holding(release, claims, is_new, now, people):
            if former is None:
                false += [now[successor]] if successor in now else []
                n_absent += successor not in now
                continue
            old, new = int(self._numbers[former]), int(numbers[now[successor]])
            object_of[new], successor_of[old] = object_of[old], new
            removed.append(int(object_of[old]))
            unconfirmed += self._person(former) is None
        self._object, self._successor, self._was_shown = object_of, successor_of, was_shown
        self._former, self._numbers = release, numbers
        return Named(
            object_of[numbers],
            is_new,
            np.array(sorted(removed), dtype=np.int64),
            unconfirmed,
            np.unique(np.array(false, dtype=np.int64)),
            n_absent,
        )

    def _holding(
        self,
        release: AuditedRelease,
        claims: Sequence[tuple[str, str]],
        is_new: NDArray[np.bool_],
        now: dict[str, int],
        people: Collection[Hashable],
    ) -> list[tuple[int | None, str]]:
        """Return for each claim the former id's position in the release before, and the successor.

        The position is None where the claim does not hold.
        """
        if not claims:
            return []
        assert self._former is not None
        before = {name: i for i, name in enumerate(self._former.ids)}
        times = [Counter(names) for names in zip(*claims, strict=True)]
        owners = release.owners
        published = set(owners or ())
        there = set(people)
        found: list[tuple[int | None, str]] = []
        for former, successor in claims:
            place, at = before.get(former), now.get(successor)
            holds = (
                place is not None
                and self._successor[self._numbers[place]] == NONE
                and former not in now
                and at is not None
                and bool(is_new[at])
                and times[0][former] == times[1][successor] == 1
                and owners is not None
                and owners[at] is None
                and self._has_left(place, published, there)
            )
            found.append((place if holds else None, successor))
        return found

    def _has_left(
        self, place: int, published: Collection[Hashable], people: Collection[Hashable]
    ) -> bool:
        """Whether somebody was behind an id of the release before who is gone now."""
        person = self._person(place)
        if person is None:
            assert self._former is not None
            return self._former.lacks_leavers
        return person not in published and person not in people

    def _person(self, place: int) -> Hashable | None:
        owners = None if self._former is None else self._former.owners
        return None if owners is None else owners[place]
