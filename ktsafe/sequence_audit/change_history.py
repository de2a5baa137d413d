"""All visible changes so far, judged again as candidates become fewer.

k_delta of a change at release i counts the members of CS_all(v) whose D_i is that of v. CS_all only
ever loses members that were there at i, so a change that was covered may lose its cover whenever a
release is added, and has to be judged with the candidates of all releases, whatever i is.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit import figures
from ktsafe.sequence_audit._candidates_core import Rows
from ktsafe.sequence_audit.candidate_sets import CandidateSets
from ktsafe.sequence_audit.copy_on_extend import CopyOnExtend

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

    def figures(self, params: PrivacyParams) -> dict[str, Any]:
        """Summarize all changes."""
        k_delta, sensitive = self.k_delta, self.sensitive
        above = sensitive * params.alpha.denominator > k_delta * params.alpha.numerator
        return {
            "k_delta_all": figures.counts(k_delta, params.k, self.times),
            "alpha_alike": figures.shares(
                sensitive / np.maximum(k_delta, 1), int(self.times[above].sum()), self.times
            ),
        }


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
