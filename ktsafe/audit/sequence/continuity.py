"""Owners of published ids over a history, and the age of edges.

An id never has two owners, and never a late one.

Two views of a history result. *Published*: objects are the published ids of one sequence.
*Linked*: objects are people, also where their id changes, as for an attacker that follows a person
over a rebase or a rebirth. An inserted vertex, or a place whose owner has left for good, is an
object of its own while its id lasts. A place whose owner was published elsewhere since is nobody.

`GONE_MAX` bounds memory and may be tuned; ages are figures only. The two views and the one owner of
an id are the promise (tests/ktsafe/audit/sequence/test_breaking.py, test_values.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence._profiles_core import difference
from ktsafe.audit.sequence.audited_release import AuditedRelease, CopyOnExtend, Numbering, grown
from ktsafe.audit.sequence.figures import Persistence
from ktsafe.audit.sequence.profiles import among, runs
from ktsafe.audit.sequence.windows import Violations
from ktsafe.params import PrivacyParams

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


# Whether ties give themselves away by how long they last.
#
# True ties and inserted ones should not differ in age or survival. Both are compared by the area
# under the ROC curve: the chance that a random true tie is older (survives better) than a random
# inserted one, ties counting half. 0.5 tells nothing; 0 and 1 tell all.

Whole = TypeVar("Whole", bound=np.signedinteger[Any])

GONE_MAX = 100
"""After so many releases without it a tie is forgotten: it counts as new if it comes back."""


class EdgeAges(CopyOnExtend):
    """Ages of the published ties, carried from release to release.

    An age is the number of releases that show the tie, this one included, whether or not there were
    gaps: a tie that comes back again and again tells as much as one that stays. Only a gap of more
    than `GONE_MAX` releases begins it anew, so memory does not grow with the releases.

    Attributes
    ----------
    keys:
        The ties of the last release, as they were given.
    """

    NOT_SAVED = frozenset({"keys"})

    def __init__(self) -> None:
        self._release = 0
        self.keys = np.zeros(0, dtype=np.int64)
        self.ever = np.zeros(0, dtype=np.int64)
        self._ages = np.zeros(0, dtype=np.int32)
        self._last = np.zeros(0, dtype=np.int32)
        self._is_true: NDArray[np.bool_] | None = None
        self._survival = np.zeros((2, 2), dtype=np.int64)

    def add(
        self,
        keys: NDArray[np.int64],
        is_true: NDArray[np.bool_] | None,
        changed: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Persistence:
        """Take the ties of one more release.

        Parameters
        ----------
        keys:
            int64, shape (m,), ascending: a number for each tie.
        is_true:
            bool, shape (m,): whether it was a true tie at this release; None if nobody says.
        changed:
            The ties that were gained and lost since the release before, if that is known.
        """
        gained, lost = difference(keys, self.keys) if changed is None else changed
        if self._is_true is not None:
            was_true = self._is_true[np.searchsorted(self.keys, lost)]
            gone, shown = (
                np.array([np.count_nonzero(~flags), np.count_nonzero(flags)])
                for flags in (was_true, self._is_true)
            )
            self._survival = self._survival + np.column_stack((gone, shown - gone))
        new = gained[~among(gained, self.ever)] if len(self.ever) else gained
        is_new = np.zeros(len(self.ever) + len(new), dtype=np.bool_)
        for here in runs(len(new)):
            place = np.searchsorted(self.ever, new[here])
            is_new[place + np.arange(here.start, here.start + len(place))] = True
        # Whatever is shown was shown once: as many are the same ones.
        ever = _mixed(is_new, new, self.ever) if len(is_new) > len(keys) else keys
        ages, last = _mixed(is_new, 0, self._ages), _mixed(is_new, -1, self._last)
        # Keys and what was ever shown both ascend, so a flag for each says which are shown now.
        is_now = last == self._release - 1
        is_now[np.searchsorted(ever, lost)] = False
        for here in runs(len(gained)):
            is_now[np.searchsorted(ever, gained[here])] = True
        ages[is_now] += 1
        last[is_now] = self._release
        shown = ages[is_now]
        is_kept = self._release - last < GONE_MAX
        if not is_kept.all():
            ever, ages, last = ever[is_kept], ages[is_kept], last[is_kept]
        self.ever, self._ages, self._last = ever, ages, last
        self.keys, self._is_true = keys, is_true
        self._release += 1
        age = None if is_true is None else _auc(shown[is_true], shown[~is_true])
        return Persistence(age, _survival_auc(self._survival))

    def resume(self) -> None:
        """Find the ties of the last release among all."""
        self.keys = self.ever[self._last == self._release - 1]


def _mixed(
    is_new: NDArray[np.bool_], new: NDArray[Whole] | int, old: NDArray[Whole]
) -> NDArray[Whole]:
    """Return new and old entries, each in its order, in their places."""
    mixed = np.empty(len(is_new), dtype=old.dtype)
    mixed[is_new], mixed[~is_new] = new, old
    return mixed


def _auc(positive: NDArray[np.int32], negative: NDArray[np.int32]) -> float | None:
    """Return the chance that positives exceed negatives, ties half."""
    if not len(positive) or not len(negative):
        return None
    top = int(max(positive.max(), negative.max())) + 1
    more, less = np.bincount(positive, minlength=top), np.bincount(negative, minlength=top)
    below = np.cumsum(less) - less
    wins = int(more @ (2 * below + less))
    area: float = wins / (2 * len(positive) * len(negative))
    return area


def _survival_auc(table: NDArray[np.int64]) -> float | None:
    """Return the area for rows (inserted, true) and columns (gone, survived)."""
    (gone_inserted, kept_inserted), (gone_true, kept_true) = table.tolist()
    inserted, true = gone_inserted + kept_inserted, gone_true + kept_true
    if not inserted or not true:
        return None
    half = kept_true * inserted - kept_inserted * true
    area: float = 0.5 + half / (2 * inserted * true)
    return area


# The constants from one release of a sequence to the next.


class Continuity(CopyOnExtend):
    """Follows the heads of releases.

    Parameters
    ----------
    keeps_ids:
        Whether all ids of releases are kept. Without them ids have to ascend, as those of a service
        do: one that does not counts as repeated.

    Attributes
    ----------
    sequence_ids:
        Of the sequences so far, the current one last.
    params:
        Of the current sequence.
    """

    def __init__(self, *, keeps_ids: bool = True) -> None:
        self.sequence_ids: tuple[str, ...] = ()
        self.params = PrivacyParams()
        # All of them; or how many there were, and the greatest.
        self._release_ids: frozenset[str] | tuple[int, str] = frozenset() if keeps_ids else (0, "")
        self._schema = b""

    @property
    def n_releases(self) -> int:
        """How many releases with ids of their own there were."""
        ids = self._release_ids
        return len(ids) if isinstance(ids, frozenset) else ids[0]

    def enter(self, release: AuditedRelease, found: Violations) -> bool:
        """Check the head of the next release.

        Return whether it begins a new sequence.
        """
        if not self._is_new(release.release_id):
            found.whole("release_repeated")
        if release.unmatched:
            found.whole("mapping_incomplete", release.unmatched)
        schema = msgspec.json.encode(release.schema, order="sorted")
        if self.sequence_ids[-1:] == (release.sequence_id,):
            if release.params != self.params:
                found.whole("params_changed")
            if schema != self._schema:
                found.whole("schema_changed")
            return False
        if release.sequence_id in self.sequence_ids:
            found.whole("sequence_reopened")
        self.sequence_ids = (*self.sequence_ids, release.sequence_id)
        self.params, self._schema = release.params, schema
        return True

    def _is_new(self, release_id: str) -> bool:
        """Note the id of a release; return whether it was never used."""
        ids = self._release_ids
        if isinstance(ids, frozenset):
            self._release_ids = ids | {release_id}
            return release_id not in ids
        number, last = ids
        if release_id <= last:
            return False
        self._release_ids = (number + 1, release_id)
        return True
