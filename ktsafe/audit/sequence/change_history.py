"""Visible changes of edges and values, judged again as candidates become fewer.

k_delta of a change at release i counts the members of CS_all(v) whose D_i is that of v. CS_all only
ever loses members that were there at i, so a change that was covered may lose its cover whenever a
release is added, and has to be judged with the candidates of all releases, whatever i is.

`MERGE_FROM` is for memory and may be tuned. No change may be forgotten that could lose its cover:
tests/ktsafe/audit/sequence/test_auditor.py judges former changes anew with each release.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.audited_release import AuditedRelease, CopyOnExtend, Numbering, grown
from ktsafe.audit.sequence.candidate_sets import CandidateSets
from ktsafe.audit.sequence.figures import ObjectCounts, Shares, ValueFigures, counts, shares
from ktsafe.audit.sequence.profiles import Structure, edge_ends
from ktsafe.graph import MISSING
from ktsafe.params import PrivacyParams

UNKNOWN = np.iinfo(np.int64).max

MERGE_FROM = 4096
"""Rows from which those that will be judged alike for ever become one."""


class ChangeHistory(CopyOnExtend):
    """Every visible change, and its remaining candidates that changed alike.

    A row is judged again only where its vertex has other candidates than before, or one of them
    has turned sensitive, and with it all rows of the same D_i.

    Attributes
    ----------
    vertices, label:
        int64, shape (c,): the changed vertex, and a number for its release and D_i together.
    times:
        int64, shape (c,): for how many changes the row stands, see `merge`.
    k_delta, sensitive:
        int64, shape (c,): candidates that changed alike, and those of them ever shown sensitive.
    """

    def __init__(self) -> None:
        self.vertices, self.label, self.k_delta, self.sensitive = np.zeros((4, 0), dtype=np.int64)
        self.times = np.zeros(0, dtype=np.int64)
        self._judged_by = np.zeros((0, 2), dtype=np.int64)
        self._n_labels = 0
        self._n_merged = 0

    def add(self, vertices: NDArray[np.int64], label: NDArray[np.int64]) -> None:
        """Add the changes of the next release.

        Labels are its own, equal iff D_i are.
        """
        n = len(vertices)
        self.vertices = np.concatenate((self.vertices, vertices))
        self.label = np.concatenate((self.label, self._n_labels + label))
        self.times = np.concatenate((self.times, np.ones(n, dtype=np.int64)))
        self.k_delta = np.concatenate((self.k_delta, np.full(n, UNKNOWN)))
        self.sensitive = np.concatenate((self.sensitive, np.zeros(n, dtype=np.int64)))
        unjudged = np.full((n, 2), -1, dtype=np.int64)
        self._judged_by = np.concatenate((self._judged_by, unjudged))
        self._n_labels += int(label.max(initial=-1)) + 1

    def judge(self, candidates: CandidateSets, k: int) -> NDArray[np.int64]:
        """Judge with the candidates of all releases so far.

        Return vertices that lost cover now.

        Returns
        -------
        ndarray
            int64: the vertices, ascending, some former change of which had k candidates alike
            when it was last judged, and has fewer now.
        """
        if not len(self.vertices):
            return self.vertices
        known = candidates.known
        sensitive = known[candidates.ever_sensitive[known]]
        by_atom = np.column_stack(
            [candidates.over_candidates(candidates.per_atom(x)) for x in (known, sensitive)]
        )
        judged_by = by_atom[candidates.atom_of[self.vertices]]
        is_stale = np.zeros(self._n_labels, dtype=np.bool_)
        is_stale[self.label[(judged_by != self._judged_by).any(axis=1)]] = True
        rows = np.flatnonzero(is_stale[self.label])
        vertices = self.vertices[rows]
        weights = np.column_stack((np.ones(len(rows)), candidates.ever_sensitive[vertices]))
        counted = alike(candidates, vertices, self.label[rows], weights.astype(np.int64))
        before = self.k_delta[rows]
        self.k_delta, self.sensitive = self.k_delta.copy(), self.sensitive.copy()
        self.k_delta[rows], self.sensitive[rows] = counted.T
        self._judged_by = judged_by
        is_lost = (before >= k) & (before != UNKNOWN) & (counted[:, 0] < k)
        lost: NDArray[np.int64] = np.unique(vertices[is_lost])
        if len(self.vertices) > max(2 * self._n_merged, MERGE_FROM):
            self.merge(candidates)
        return lost

    def merge(self, candidates: CandidateSets) -> None:
        """Merge rows of changes that are judged alike for ever.

        Candidates never leave their component (objects linked by candidate sets, of candidates of
        theirs, and so on), and components only split. So two labels whose vertices in a component
        are the same ones have the same k_delta there, now and after any release.
        """
        component = _components(candidates.pairs)[candidates.atom_of[self.vertices]]
        order = np.lexsort((self.vertices, component, self.label))
        parts = self.label[order] * (candidates.n_atoms + 1) + component[order]
        begin = np.flatnonzero(np.diff(parts, prepend=-1))
        cuts = [*begin.tolist(), len(order)]
        raw = self.vertices[order].tobytes()
        numbers: dict[bytes, int] = {}
        part = [
            numbers.setdefault(raw[8 * a : 8 * b], len(numbers))
            for a, b in itertools.pairwise(cuts)
        ]
        label = np.repeat(np.array(part, dtype=np.int64), np.diff(cuts))
        # Equal parts are equal row by row: one row of each vertex and part stays.
        again = np.lexsort((self.vertices[order], label))
        rows, label = order[again], label[again]
        vertices, times = self.vertices[rows], self.times[rows]
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = (label[1:] != label[:-1]) | (vertices[1:] != vertices[:-1])
        first = np.flatnonzero(is_first)
        self.times = np.add.reduceat(times, first) if len(first) else times
        self.label, self._n_labels = label[first], len(numbers)
        rows = rows[first]
        self.vertices, self._judged_by = self.vertices[rows], self._judged_by[rows]
        self.k_delta, self.sensitive = self.k_delta[rows], self.sensitive[rows]
        self._n_merged = len(rows)

    def figures(self, params: PrivacyParams) -> tuple[ObjectCounts, Shares]:
        """Summarize the candidates that changed alike, and how sensitive they are."""
        k_delta, sensitive = self.k_delta, self.sensitive
        above = sensitive * params.alpha.denominator > k_delta * params.alpha.numerator
        part = sensitive / np.maximum(k_delta, 1)
        return (
            counts(k_delta, params.k, self.times),
            shares(part, int(self.times[above].sum()), self.times),
        )


def _components(pairs: Rows) -> NDArray[np.int64]:
    """Return each atom's least atom in a chain of similar ones."""
    found = np.arange(len(pairs.pointer) - 1)
    while len(found):
        least = np.minimum.reduceat(found[pairs.member], pairs.pointer[:-1])
        least = np.minimum(least, least[least])
        if np.array_equal(least, found):
            break
        found = least
    return found


def alike(
    candidates: CandidateSets,
    vertices: NDArray[np.int64],
    label: NDArray[np.int64],
    weights: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Sum weights over the candidates of each vertex with its label.

    Parameters
    ----------
    vertices, label:
        int64, shape (c,): no vertex has a label twice.
    weights:
        int64, shape (c, w).

    Returns
    -------
    ndarray
        int64, shape (c, w).
    """
    n_labels = int(label.max(initial=-1)) + 1
    atom = candidates.atom_of[vertices]
    keys, first, group = np.unique(atom * n_labels + label, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    pairs = candidates.pairs
    row = atom[first]
    lengths = pairs.pointer[row + 1] - pairs.pointer[row]
    of_key = np.repeat(np.arange(len(keys)), lengths)
    offset = np.arange(len(of_key)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    wanted = pairs.member[pairs.pointer[row][of_key] + offset] * n_labels + label[first][of_key]
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    is_hit = keys[place] == wanted
    sums = np.zeros((len(keys), weights.shape[1]), dtype=np.int64)
    per_key = sums.copy()
    np.add.at(per_key, group, weights)
    np.add.at(sums, of_key[is_hit], per_key[place[is_hit]])
    return sums[group]


# The change attack: the candidates of v that visibly changed like v.
#
# D_i(v) is the pair of multisets of quasi-identifiers of the neighbours that v gains and loses
# between releases i-1 and i, as published ids show. k_delta(v) counts the members of CS_all(v), all
# releases so far, with the same D_i. It is defined for vertices present in both releases whose D_i
# is not empty. Here it is counted for the last release; `change_history` keeps the former ones.


@dataclasses.dataclass(frozen=True, eq=False)
class VisibleChanges:
    """The vertices that visibly changed at a release.

    Attributes
    ----------
    vertices:
        int64, shape (c,): vertex numbers, ascending.
    label:
        int64, shape (c,): equal iff D_i are.
    k_delta:
        int64, shape (c,): candidates with the same change.
    """

    vertices: NDArray[np.int64]
    label: NDArray[np.int64]
    k_delta: NDArray[np.int64]


def visible_changes(structure: Structure, candidates: CandidateSets) -> VisibleChanges:
    """Count for each visibly changed vertex the candidates that changed alike.

    Parameters
    ----------
    candidates:
        With this release added, over the same vertex numbers.
    """
    changed, label = _labels(structure)
    (k_delta,) = alike(candidates, changed, label, np.ones((len(changed), 1), dtype=np.int64)).T
    return VisibleChanges(changed, label, k_delta)


def _labels(structure: Structure) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the changed vertices and a number for each one's D_i.

    Equal numbers iff equal D_i.
    """
    now, before = structure.tuple_now, structure.tuple_before
    stays = (now >= 0) & (before >= 0)
    rows = []
    for sign, keys, tuples in ((0, structure.gained, now), (1, structure.lost, before)):
        ends = edge_ends(keys[stays[keys >> 32] | stays[keys & 0xFFFFFFFF]])
        both = np.concatenate((ends, ends[:, ::-1]))
        both = both[stays[both[:, 0]]]
        rows.append((both[:, 0] << 32) | (2 * tuples[both[:, 1]] + sign))
    ordered = np.sort(np.concatenate(rows))
    vertex, value = ordered >> 32, ordered & 0xFFFFFFFF
    begin = np.flatnonzero(np.diff(vertex, prepend=-1))
    changed = vertex[begin]
    cuts = [*(8 * begin).tolist(), 8 * len(value)]
    raw = value.tobytes()
    numbers: dict[bytes, int] = {}
    label = [
        numbers.setdefault(raw[cuts[i] : cuts[i + 1]], len(numbers)) for i in range(len(changed))
    ]
    return changed, np.array(label, dtype=np.int64)


# Changed values: equally changed candidates, and revealed departures.
#
# A release shows one value of the sensitive attribute for every vertex. (Whose quasi-identifiers
# change alone has no candidates, which the candidate sets find by themselves.) Where members of a
# cohort exchange values it is not that of the vertex's own owner. k_value(v) at a
# release counts the members of CS_all(v) that show the same value before and the same one after as
# v does; like k_delta it is judged anew whenever candidates become fewer.
#
# A person's own update is shown when it happens, so k_value is a figure. But nothing may change
# because an owner left. So a vertex that shows the value of somebody who left may change it only
#
# - with at least k candidates that change alike, now and as later releases leave them, or
# - to the missing value, in the same release as a candidate that shows the value of somebody who is
# not known to have left: that is the company which a hidden value keeps.

NEVER_SHOWN = -1


@dataclasses.dataclass(frozen=True, eq=False)
class ValueChanges:
    """What changed at one release.

    Attributes
    ----------
    k_value:
        int64: for each vertex that shows another value than before, the candidates that changed
        alike.
    telling:
        int64: the vertices, ascending, that show a leaver's value and whose change is not covered.
    uncovered:
        int64: those, ascending, whose change at a former release was covered until now.
    """

    k_value: NDArray[np.int64]
    telling: NDArray[np.int64]
    uncovered: NDArray[np.int64]


class ValueHistory(CopyOnExtend):
    """The value that each vertex showed last, and every change of one."""

    def __init__(self) -> None:
        self._history = ChangeHistory()
        # Shared by copies: a number, once given, means the same for ever.
        self._texts = Numbering([MISSING])
        self._value = np.zeros(0, dtype=np.int64)
        self._changed_after = np.zeros(0, dtype=np.bool_)
        self._has_texts: bool | None = None

    def add(
        self,
        release: AuditedRelease,
        vertices: NDArray[np.int64],
        has_left: NDArray[np.bool_],
        candidates: CandidateSets,
        k: int,
    ) -> ValueChanges:
        """Take the values of one more release.

        Parameters
        ----------
        vertices:
            int64, shape (n,): the number of each of the release's vertices.
        has_left:
            bool, by vertex number: whether the person whose value it shows is known to have left.
        candidates:
            With this release added.
        """
        before = grown(self._value, len(has_left), NEVER_SHOWN)
        if self._has_texts not in (None, release.sensitive_texts is not None):
            before = np.full_like(before, NEVER_SHOWN)
        self._has_texts = release.sensitive_texts is not None
        now = self._texts.of(_shown(release))
        is_changed = (before[vertices] != NEVER_SHOWN) & (before[vertices] != now)
        changed = vertices[is_changed]
        after = before.copy()
        after[vertices] = now
        self._value = after
        order = np.argsort(changed)
        changed = changed[order]
        pairs = np.column_stack((before[changed], after[changed]))
        label = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        ones = np.ones((len(changed), 1), dtype=np.int64)
        k_value = alike(candidates, changed, label, ones)[:, 0]
        in_company = _in_company(changed, after[changed] == 0, has_left, candidates)
        is_free = has_left[changed] & ~in_company
        held = grown(self._changed_after, len(has_left), 0).copy()
        held[changed[is_free]] = True
        self._changed_after = held
        self._history.add(changed, label)
        lost = self._history.judge(candidates, k)
        return ValueChanges(k_value, changed[is_free & (k_value < k)], lost[held[lost]])

    def figures(self, found: ValueChanges, params: PrivacyParams) -> ValueFigures:
        """Summarize the changes of the last release, and all of them."""
        k = params.k
        return ValueFigures(counts(found.k_value, k), counts(self._history.k_delta, k))


def _shown(release: AuditedRelease) -> Sequence[str | bool]:
    """Return what each vertex shows.

    Its value, or if that is not given whether it is sensitive.
    """
    if release.sensitive_texts is not None:
        return release.sensitive_texts
    flags: list[bool] = release.is_sensitive.tolist()
    return flags


def _in_company(
    changed: NDArray[np.int64],
    is_missing: NDArray[np.bool_],
    has_left: NDArray[np.bool_],
    candidates: CandidateSets,
) -> NDArray[np.bool_]:
    """Return vertices that lost their value in company.

    A candidate that lost it shows a person that may be there.
    """
    hiding = changed[is_missing & ~has_left[changed]]
    by_atom = candidates.over_candidates(candidates.per_atom(hiding))
    found: NDArray[np.bool_] = is_missing & (by_atom[candidates.atom_of[changed]] > 0)
    return found
