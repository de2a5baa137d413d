"""Whether the release holds the truth, apart from declared omissions.

Every true person is published, every true tie between two published people is shown, and every
published quasi-identifier is the true one; what is missing must be declared, and a tie may be
missing no longer than the declared lag. A suppressed value ("-") is no fault.

Figures may be added. What is excused must stay declared beforehand, in `Declared`: a wider excuse
would let a release omit people unseen (tests/ktsafe/audit/sequence/test_breaking.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import _profiles_core as core
from ktsafe.audit.sequence.audited_release import AuditedRelease, CopyOnExtend, Numbering
from ktsafe.audit.sequence.continuity import EdgeAges, Owned, Ownership
from ktsafe.audit.sequence.figures import ContainmentFigures, Persistence
from ktsafe.audit.sequence.profiles import Structure, edge_ends, edge_keys
from ktsafe.audit.sequence.windows import Violations
from ktsafe.errors import InvalidGraph
from ktsafe.graph import MISSING
from ktsafe.verify import CheckedTies


@dataclasses.dataclass(frozen=True, slots=True)
class Declared:
    """What a release is said to hold back.

    Attributes
    ----------
    withheld:
        True people that are not published yet.
    held_ties:
        True ties between published people that are not shown (held back, or deleted).
    held_changes:
        Published people whose former quasi-identifiers are still shown.
    lag_max:
        Greatest number of releases that a tie may be missing from; None means any.
    """

    withheld: int = 0
    held_ties: int = 0
    held_changes: int = 0
    lag_max: int | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class TrueGraph:
    """The true graph at a release's nominal time.

    Attributes
    ----------
    people:
        All existing people; integers as an array, or whatever can be looked up.
    values:
        For each quasi-identifier, as published in the release, its text by person.
    sensitive_texts:
        The sensitive attribute's text by person.
    edges:
        Integers, shape (m, 2): positions in `people`, each undirected edge once.
    left_since:
        The people that have left since. The mapping may lack them; they need not be found.
    """

    people: Sequence[Hashable] | NDArray[np.int64]
    values: Sequence[Sequence[str]]
    sensitive_texts: Sequence[str]
    edges: NDArray[np.integer[Any]]
    declared: Declared = Declared()
    left_since: AbstractSet[Hashable] = frozenset()


@dataclasses.dataclass(frozen=True, eq=False)
class Contained:
    """What of the truth a release shows.

    Attributes
    ----------
    is_true:
        bool, shape (m,): whether each released edge is a true tie, in the order of their keys.
    overdue, unknown_owner, differing:
        int64, positions of released vertices: ends of ties missing for too long; vertices mapped
        to a person that does not exist; vertices with another quasi-identifier than declared.
    missing_ties:
        int64, shape (., 2): positions of the ends of true ties that are not shown.
    sensitive_differs:
        int64, positions: vertices that show another sensitive value than the true one of the
        person whose value stands there, or "-".
    """

    is_true: NDArray[np.bool_]
    figures: ContainmentFigures
    overdue: NDArray[np.int64]
    unknown_owner: NDArray[np.int64]
    differing: NDArray[np.int64]
    missing_ties: NDArray[np.int64]
    sensitive_differs: NDArray[np.int64]


class Containment(CopyOnExtend):
    """Follows missing people and ties from release to release.

    People are numbers that persist.
    """

    def __init__(self) -> None:
        self._missing = np.zeros(0, dtype=np.int64)
        self._ages = np.zeros(0, dtype=np.int64)
        self._waiting = np.zeros(0, dtype=np.int64)
        self._waits = np.zeros(0, dtype=np.int64)

    def add(
        self,
        release: AuditedRelease,
        structure: Structure,
        owner: NDArray[np.int64],
        truth: TrueGraph,
        people: NDArray[np.int64],
    ) -> Contained:
        """Compare one more release with the truth.

        Parameters
        ----------
        structure:
            What the release looks like.
        owner:
            int64, shape (n,): number of the person behind each vertex, -1 without one.
        people:
            int64: the numbers of the true people.
        """
        n = len(owner)
        place = np.full(1 + max(owner.max(initial=-1), people.max(initial=-1)), -1, dtype=np.int64)
        owned = np.flatnonzero(owner >= 0)[::-1]
        place[owner[owned]] = owned
        position = place[people]
        is_published = position >= 0
        is_erased = np.zeros(len(people), dtype=np.bool_)
        if truth.left_since:
            is_erased[:] = [person in truth.left_since for person in truth.people]
        is_withheld = ~is_published & ~is_erased
        withheld, waits = _aged(np.sort(people[is_withheld]), self._waiting, self._waits)
        ties, shown = np.asarray(truth.edges, dtype=np.int32).reshape(-1, 2), release.ties
        first = np.where(owner >= 0, place[owner], np.arange(n))
        if (first != np.arange(n)).any():
            # Only a release that is broken anyway shows a person twice.
            shown = CheckedTies(n, first[shown.edges].astype(np.int32))
        is_shown, is_true = core.shared_ties(*shown.adjacency, shown.edges, ties, position)
        inserted = edge_keys(structure.vertices, release.ties.edges[~is_true])
        inserted.sort(kind="stable")  # Mostly in order already.
        is_true = np.ones(len(structure.edges), dtype=np.bool_)
        is_true[np.searchsorted(structure.edges, inserted)] = False
        ties = ties[~is_shown]
        # The others have an end that is withheld.
        missing = np.sort(edge_keys(people, ties[is_published[ties].all(axis=1)]))
        missing, ages = _aged(missing, self._missing, self._ages)
        ends = place[edge_ends(missing)]
        lag_max = truth.declared.lag_max
        late = ages > lag_max if lag_max is not None else np.zeros(len(ages), dtype=np.bool_)
        differing = _differing(release, truth, position, is_published)
        sensitive_differs = _sensitive(release, truth, position, is_published)
        self._missing, self._ages, self._waiting, self._waits = missing, ages, withheld, waits
        return Contained(
            is_true=is_true,
            figures=ContainmentFigures(
                withheld_people=len(withheld),
                withheld_releases_max=int(waits.max(initial=0)),
                withheld_releases_median=_median(waits),
                missing_ties=len(missing),
                missing_releases_max=int(ages.max(initial=0)),
                held_changes=len(differing),
            ),
            overdue=np.unique(ends[late]),
            unknown_owner=owned[::-1][~np.isin(owner[owned[::-1]], people, kind="table")],
            differing=differing,
            missing_ties=ends,
            sensitive_differs=sensitive_differs,
        )


class TruthComparison(CopyOnExtend):
    """Compares releases with the true graph, where given, in order."""

    def __init__(self) -> None:
        self._ages = EdgeAges()
        self._containment = Containment()

    def begin_sequence(self) -> None:
        """Begin a new sequence, with edges that are all new."""
        self._ages = EdgeAges()

    @property
    def edges(self) -> NDArray[np.int64]:
        """The edges of the last release, by their keys, ascending."""
        return self._ages.keys

    def judge(
        self,
        release: AuditedRelease,
        structure: Structure,
        owned: Owned,
        truth: TrueGraph | None,
        ownership: Ownership,
        found: Violations,
    ) -> tuple[ContainmentFigures, Persistence, int] | None:
        """Compare with the true graph; count the true edges."""
        if truth is None or release.owners is None:
            self._ages.add(structure.edges, None, (structure.gained, structure.lost))
            return None
        if len(truth.values) != len(release.categories):
            raise InvalidGraph("The true graph has other attributes than the release.")
        people = ownership.numbers_of(truth.people)
        contained = self._containment.add(release, structure, owned.owner, truth, people)
        declared = truth.declared
        found.add("owner_unknown", contained.unknown_owner)
        found.add("tie_overdue", contained.overdue)
        found.add("sensitive_differs", contained.sensitive_differs)
        if contained.figures.withheld_people > declared.withheld:
            found.whole("person_missing")
        if len(contained.missing_ties) > declared.held_ties:
            found.add("tie_missing", np.unique(contained.missing_ties))
        if len(contained.differing) > declared.held_changes:
            found.add("attribute_differs", contained.differing)
        n_true = int(np.count_nonzero(contained.is_true))
        changed = structure.gained, structure.lost
        ages = self._ages.add(structure.edges, contained.is_true, changed)
        return contained.figures, ages, n_true


def _aged(
    keys: NDArray[np.int64], before: NDArray[np.int64], ages: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ascending keys, and their releases without a gap."""
    there = np.searchsorted(before, keys)
    was_there = np.append(before, -1)[there] == keys
    return keys, 1 + np.where(was_there, np.append(ages, 0)[there], 0)


def _median(values: NDArray[np.int64]) -> int:
    """Return the lower median, 0 of nothing."""
    return int(np.quantile(values, 0.5, method="lower")) if len(values) else 0


def _differing(
    release: AuditedRelease,
    truth: TrueGraph,
    position: NDArray[np.int64],
    is_published: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return vertices with other quasi-identifiers that are not suppressed."""
    differs = np.zeros(len(release.ids), dtype=np.bool_)
    there = position[is_published]
    for j, texts in enumerate(release.categories):
        numbering = Numbering(texts)
        true = numbering.of(truth.values[j])[is_published]
        shown = numbering.of(texts)[release.codes[there, j]]
        hidden = shown == numbering.of([MISSING])[0]
        differs[there] |= ~hidden & (true != shown)
    return np.flatnonzero(differs)


def _sensitive(
    release: AuditedRelease,
    truth: TrueGraph,
    position: NDArray[np.int64],
    is_published: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return vertices with wrong sensitive values that are not masked."""
    if release.sensitive_texts is None:
        return np.zeros(0, dtype=np.int64)
    numbering = Numbering([MISSING])
    true = numbering.of(truth.sensitive_texts)[is_published]
    there = position[is_published]
    if release.value_at is not None:
        there = release.value_at[there]
    shown = numbering.of(release.sensitive_texts)[there]
    differing: NDArray[np.int64] = there[(shown != 0) & (shown != true)]
    return differing
