"""Rank of a target among the released vertices that resemble it.

Everything an attacker gains by naming the nearest vertex, the r-th nearest, or by counting those
as near as the target's own follows from two numbers per target: how many candidates are nearer
than its own place, and how many are as near (its own place included).

`BLOCK_CELLS` bounds memory and may be tuned. tests/ktsafe/assess/attacks/test_one_hop.py compares
both numbers with a literal count.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common._nearest_core import compare
from ktsafe.graph import AttributedGraph

BLOCK_CELLS = 1 << 23
"""Cells of a dense block of released rows: 32 MB of int32."""
SAME, LACK_WEIGHS_3, ONLY_ADDED, ONLY_MISSING = (1, 1), (3, 1), (1000, 1), (1, 0)
"""Weightings: what a neighbour that is missing weighs, and one too many."""


@dataclasses.dataclass(frozen=True, eq=False)
class Standing:
    """How many candidates are nearer to the knowledge, and as near.

    Compared with the target's own place.

    Both int64, shape (targets,); `tied` counts the own place, so it is at least 1.
    """

    nearer: NDArray[np.int64]
    tied: NDArray[np.int64]

    @property
    def chances(self) -> NDArray[np.float64]:
        """Chance that the nearest candidate is the target; ties are split evenly."""
        return np.where(self.nearer == 0, 1 / self.tied, 0.0)

    @property
    def near(self) -> NDArray[np.int64]:
        """`k_near`: candidates at least as near as the own place."""
        return self.nearer + self.tied

    def best_rank(self, rank_max: int) -> tuple[int, float]:
        """Return the best r up to `rank_max`, and the share it finds.

        The attacker names the r-th nearest.

        Ties are in random order: each of the ranks that the tied share is the target's with the
        same chance.
        """
        gains = np.zeros(rank_max + 1)
        begin, end = np.minimum(self.nearer, rank_max), np.minimum(self.near, rank_max)
        np.add.at(gains, begin, 1 / self.tied)
        np.add.at(gains, end, -1 / self.tied)
        shares = np.cumsum(gains)[:rank_max] / max(len(self.tied), 1)
        best = int(shares.argmax())
        return best + 1, float(shares[best])


def neighbour_counts(
    graph: AttributedGraph,
    labels: NDArray[np.int64],
    n_labels: int,
    weights: NDArray[np.int64] | None = None,
    of: NDArray[np.int64] | None = None,
) -> sparse.csr_matrix:
    """Return how many neighbours of each vertex carry each label.

    Int64, shape (n, n_labels), or a row for each vertex of `of`.

    `weights`, shape (2 m,), counts a neighbour by what `graph.indices` is worth there. Default: 1.
    """
    n = graph.n_vertices
    worth = np.ones(len(graph.indices), dtype=np.int64) if weights is None else weights
    each = sparse.csr_matrix((worth, labels[graph.indices], graph.indptr), shape=(n, n_labels))
    # Copied: duplicates are summed in place.
    counts = each.copy() if of is None else each[of]
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def standings(
    true: sparse.csr_matrix,
    shown: sparse.csr_matrix,
    own: NDArray[np.int64],
    classes: NDArray[np.int64],
    weightings: Sequence[tuple[int, int]],
    n_bands: int = 1,
) -> list[Standing]:
    """Compare the knowledge of each target with all vertices of its class.

    The distance is the sum over features of `missing` times what the released vertex lacks and
    `surplus` times what it has too much.

    Parameters
    ----------
    true:
        Non-negative integers, shape (targets, features): what the attacker knows.
    shown:
        Non-negative integers, shape (released, features).
    own:
        Shape (targets,): the place of each target among the released.
    classes:
        Shape (released,): candidates are the released vertices of the own place's class.
    weightings:
        Pairs (missing, surplus) of non-negative integers.
    n_bands:
        Features are kinds, each with so many bands, ascending. Compared is how many there are in
        each band or above: the earth mover's distance.

    Returns
    -------
    list of Standing
        One per weighting.

    *Complexity*: O(features per row * targets * distinct released rows) per class, and far less
    where most candidates are far; memory is bounded by `BLOCK_CELLS` beside the sparse rows.
    """
    places = _Places.of(shown, classes, n_bands)
    found = [places.compared(true, places.location[own], each) for each in weightings]
    return [Standing(*(sums[:, 0].astype(np.int64) for sums in each[:2])) for each in found]


def nearest_share(
    true: sparse.csr_matrix,
    shown: sparse.csr_matrix,
    own: NDArray[np.int64],
    classes: NDArray[np.int64],
    weighting: tuple[int, int],
    columns: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the mean of `columns` over the nearest candidates of each target.

    Parameters are those of `standings`; `columns` has shape (released, c), the result (targets, c).
    """
    places = _Places.of(shown, classes)
    *_, nearest = places.compared(true, places.location[own], weighting, columns)
    mean: NDArray[np.float64] = nearest[:, 1:] / nearest[:, :1]
    return mean


def least_distances(
    true: sparse.csr_matrix,
    shown: sparse.csr_matrix,
    asked: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_bands: int = 1,
) -> NDArray[np.int64]:
    """Return each true row's L1 distance to its class's nearest shown.

    Parameters are those of `standings`, but `asked`, shape (rows,), is the class of each row. The
    result is -1 where nobody is of the class.
    """
    places = _Places.of(shown, classes, n_bands)
    first = np.searchsorted(places.classes, asked)
    is_there = places.classes[np.minimum(first, len(places.classes) - 1)] == asked
    least = np.full(len(asked), -1, dtype=np.int64)
    least[is_there] = places.compared(true[is_there], first[is_there], SAME)[2]
    return least


@dataclasses.dataclass(frozen=True, eq=False)
class _Places:
    """Distinct released rows by class, ascending.

    Attributes
    ----------
    rows, classes:
        Each one's counts, and class.
    location:
        The number of each released vertex's row.
    n_bands:
        As of `standings`.
    """

    rows: sparse.csr_matrix
    classes: NDArray[np.int64]
    location: NDArray[np.int64]
    n_bands: int

    @classmethod
    def of(cls, shown: sparse.csr_matrix, classes: NDArray[np.int64], n_bands: int = 1) -> _Places:
        """Return the distinct rows of vertices with counts and classes."""
        location, one_of = distinct_rows(shown, classes)
        return cls(shown[one_of], classes[one_of], location, n_bands)

    def compared(
        self,
        true: sparse.csr_matrix,
        near: NDArray[np.int64],
        weighting: tuple[int, int],
        columns: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64], NDArray[Any]]:
        """Compare true rows with their class, as far as rows near them.

        Returns the `found` of `compare`. What is added up is how many vertices each row has, and
        their `columns`.
        """
        size = len(self.classes)
        weights = [None, *([] if columns is None else columns.T)]
        of_rows = [np.bincount(self.location, each, size) for each in weights]
        held = np.column_stack(of_rows).astype(np.float64)  # One kind: compiled once.
        order = np.argsort(self.classes[near], kind="stable")
        known, own, asked = true[order], self.rows[near[order]], self.classes[near[order]]
        nearer, tied, nearest = np.zeros((3, len(near), held.shape[1]))
        found = nearer, tied, np.full(len(near), np.iinfo(np.int64).max), nearest
        step = max(BLOCK_CELLS // max(true.shape[1], 1), 1)
        for number in np.unique(asked):
            parts = (_parts(each, number, step) for each in (asked, self.classes))
            for ours, theirs in itertools.product(*parts):
                rows, shown = known[ours], self.rows[theirs]
                counts = _dense(rows), _dense(own[ours]), _dense(shown)
                kinds = self._by_kind(rows), np.ascontiguousarray(self._by_kind(shown).T)
                some = tuple(each[ours] for each in found)
                compare(*counts, *kinds, held[theirs], self.n_bands, weighting, some)
        back = np.argsort(order)
        return nearer[back], tied[back], found[2][back], nearest[back]

    def _by_kind(self, rows: sparse.csr_matrix) -> NDArray[np.int32]:
        """Return the sums of each kind's numbers in each band or above."""
        n_kinds = rows.shape[1] // self.n_bands
        bands = np.arange(rows.shape[1]) % self.n_bands + 1
        kinds = np.repeat(np.arange(n_kinds), self.n_bands)
        return _dense(rows @ sparse.csr_matrix((bands, (np.arange(len(kinds)), kinds))))


def _parts(ascending: NDArray[np.int64], number: int, step: int) -> list[slice]:
    """Return where a number is, in parts of at most so many."""
    first, last = np.searchsorted(ascending, [number, number + 1]).tolist()
    return [slice(begin, min(begin + step, last)) for begin in range(first, last, step)]


def _dense(rows: sparse.csr_matrix) -> NDArray[np.int32]:
    dense: NDArray[np.int32] = rows.astype(np.int32).toarray()
    return dense


def distinct_rows(
    rows: sparse.csr_matrix, labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each (row, label), and one row per group.

    Groups are in the order of their labels.

    Rows are compared by two sums of 64 random bits per feature: two different rows share them but
    for one pair in 2**128.
    """
    bits = np.random.default_rng(0)  # a hash function, drawn once; nothing else depends on it
    keys = []
    for _ in range(2):
        words = bits.integers(0, 2**64, rows.shape[1], dtype=np.uint64)
        sums = np.zeros(rows.nnz + 1, dtype=np.uint64)
        np.cumsum(words[rows.indices] * rows.data.astype(np.uint64), out=sums[1:])
        keys.append(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
    keys.append(labels)
    order = np.lexsort(keys)
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(fresh) - 1
    return group, order[fresh]
