"""The person of each published id over the whole history.

Never two people, never a late one.

Two views of a history result. *Published*: objects are the published ids of one sequence.
*Linked*: objects are people, also where their id changes, as for an attacker that follows a person
over a rebase or a rebirth. An inserted vertex, or a place whose owner has left for good, is an
object of its own while its id lasts. A place whose owner was published elsewhere since is nobody.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit.audited_release import Numbering, grown
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend

NOBODY = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Owned:
    """One release's vertices with their owners.

    Attributes
    ----------
    owner:
        int64, shape (n,): number of the person behind each vertex, `NOBODY` without one.
    linked:
        int64, shape (n,): the linked object of each vertex, `NOBODY` for a place left behind.
    reassigned, doubled:
        int64, positions: vertices whose id had another owner, or none, before; and vertices whose
        owner is behind another vertex of the release too.
    is_new:
        bool, shape (n,): vertices that no release showed before.
    """

    owner: NDArray[np.int64]
    linked: NDArray[np.int64]
    reassigned: NDArray[np.int64]
    doubled: NDArray[np.int64]
    is_new: NDArray[np.bool_]


class Ownership(CopyOnExtend):
    """The owners of all published ids; vertices are persistent numbers.

    Attributes
    ----------
    is_known:
        Whether every release came with its owners.
    has_left:
        bool, by vertex number: whether the owner that it had is known to have left it.
    """

    def __init__(self) -> None:
        self.is_known = True
        # Shared by copies: a number, once given, means the same for ever.
        self._people = Numbering()
        self._last_owner = np.zeros(0, dtype=np.int64)
        self._was_seen = np.zeros(0, dtype=np.bool_)
        self.has_left = np.zeros(0, dtype=np.bool_)
        # By person: the number that names the object, and the place held last.
        self._first_vertex = np.zeros(0, dtype=np.int64)
        self._last_vertex = np.zeros(0, dtype=np.int64)

    def numbers_of(self, people: Iterable[Hashable] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of people, whether or not they were published."""
        return self._people.of(people)

    def add(
        self,
        vertices: NDArray[np.int64],
        n_numbers: int,
        owners: Sequence[Hashable | None] | NDArray[np.int64] | None,
        is_vacated: NDArray[np.bool_],
    ) -> Owned:
        """Take the owners of one more release.

        None altogether means that nothing is known.

        Parameters
        ----------
        owners:
            As an `AuditedRelease` has them.
        is_vacated:
            bool, shape (n,), or one for all: whose owner is said to have left since the release
            before.
        """
        owner = np.full(len(vertices), NOBODY, dtype=np.int64)
        self.is_known &= owners is not None
        if owners is not None:
            if isinstance(owners, np.ndarray):
                has_one = owners >= 0
                people: Iterable[Hashable] = owners[has_one]
            else:
                has_one = np.array([x is not None for x in owners], dtype=np.bool_)
                people = [x for x in owners if x is not None]
            owner[has_one] = self._people.of(people)
        last = grown(self._last_owner, n_numbers, NOBODY).copy()
        seen = grown(self._was_seen, n_numbers, 0).copy()
        owned = owner >= 0
        is_new = ~seen[vertices]
        reassigned = np.flatnonzero(owned & ~is_new & (last[vertices] != owner))
        times = np.bincount(owner[owned], minlength=1)
        doubled = np.flatnonzero(owned & (times[owner] > 1))
        left = grown(self.has_left, n_numbers, 0).copy()
        had_one = last[vertices] != NOBODY
        left[vertices] = ~owned & (left[vertices] | had_one | is_vacated)
        self.has_left = left
        last[vertices[owned]] = owner[owned]
        seen[vertices] = True
        first = grown(self._first_vertex, len(self._people), NOBODY).copy()
        newcomers = vertices[owned][first[owner[owned]] < 0]
        first[last[newcomers]] = newcomers
        place = grown(self._last_vertex, len(self._people), NOBODY).copy()
        place[owner[owned]] = vertices[owned]
        self._last_owner, self._was_seen = last, seen
        self._first_vertex, self._last_vertex = first, place
        return Owned(owner, self._linked(vertices, owner), reassigned, doubled, is_new)

    def _linked(self, vertices: NDArray[np.int64], owner: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the linked object of each vertex.

        The first number of the person behind it.
        """
        behind = np.where(owner >= 0, owner, self._last_owner[vertices])
        linked = vertices.copy()
        known = behind >= 0
        person = behind[known]
        is_elsewhere = (owner[known] < 0) & (self._last_vertex[person] != vertices[known])
        linked[known] = np.where(is_elsewhere, NOBODY, self._first_vertex[person])
        # Only a history that is broken anyway names one object twice.
        order = np.argsort(linked, kind="stable")
        is_repeated = np.zeros(len(linked), dtype=np.bool_)
        is_repeated[order[1:]] = linked[order[1:]] == linked[order[:-1]]
        linked[is_repeated] = NOBODY
        return linked
