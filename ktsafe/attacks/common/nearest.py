"""Where a target stands among the released vertices that resemble it: how many are nearer.

Everything an attacker gains by naming the nearest vertex, the r-th nearest, or by counting those
as near as the target's own follows from two numbers per target: how many candidates are nearer
than its own place, and how many are as near (its own place included).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.graph import AttributedGraph

BLOCK_CELLS = 1 << 23
"""Cells of a dense block of released rows: 32 MB of int32."""


SORT_FROM = 32
"""Places asked about with the same knowledge from which on sorting all scores is quicker."""


@dataclasses.dataclass(frozen=True, eq=False)
class Standing:
    """How many candidates are nearer to a target's knowledge than its own place, and as near.

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
        """Return the best r of 1..`rank_max` and the share found by naming the r-th nearest.

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
) -> sparse.csr_matrix:
    """Return how many neighbours of each vertex carry each label: int64, shape (n, n_labels).

    `weights`, shape (2 m,), counts a neighbour by what `graph.indices` is worth there. Default: 1.
    """
    n = graph.n_vertices
    worth = np.ones(len(graph.indices), dtype=np.int64) if weights is None else weights
    # Copied: duplicates are summed in place.
    counts = sparse.csr_matrix(
        (worth, labels[graph.indices], graph.indptr), shape=(n, n_labels), copy=True
    )
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def standings(
    true: sparse.csr_matrix,
    shown: sparse.csr_matrix,
    own: NDArray[np.int64],
    classes: NDArray[np.int64],
    weightings: Sequence[tuple[int, int]],
) -> list[Standing]:
    """Compare what is known of each target with every released vertex of its class.

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

    Returns
    -------
    list of Standing
        One per weighting.

    *Complexity*: O(features per row * distinct known rows * distinct released rows) per class,
    vectorised over released rows; memory is bounded by `BLOCK_CELLS` beside the sparse rows.
    """
    location, locations = distinct_rows(shown, classes)
    population = np.bincount(location, minlength=len(locations)).astype(np.float64)
    place = location[own]
    question, questions = distinct_rows(true, place)
    at, there, of_location = place[questions], shown[locations], classes[locations]
    overlap = np.asarray(true[questions].minimum(there[at]).sum(axis=1)).reshape(-1)
    seen = _row_sums(there)
    own_scores = np.array([s * seen[at] - (m + s) * overlap for m, s in weightings])
    # Questions with the same knowledge and class, but different own places, are answered together.
    row, rows = distinct_rows(true[questions], of_location[at])
    by_row = np.argsort(row, kind="stable")
    begins = np.searchsorted(row[by_row], np.arange(len(rows) + 1))
    counts = np.zeros((2, len(weightings), len(questions)))
    asked = of_location[at][rows]
    for r, block, scores in _compared(true[questions[rows]], asked, there, of_location, weightings):
        these = by_row[begins[r] : begins[r + 1]]
        for i, score in enumerate(scores):
            nearer, tied = _below_and_at(score, population[block], own_scores[i, these])
            counts[0, i, these] += nearer
            counts[1, i, these] += tied
    whole = counts.astype(np.int64)[:, :, question]
    return [Standing(whole[0, i], whole[1, i]) for i in range(len(weightings))]


def _below_and_at(
    scores: NDArray[np.int32], weight: NDArray[np.float64], marks: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, for each mark, the weight of the scores that are less, and of those that equal it."""
    if len(marks) < SORT_FROM:
        less = [weight @ (scores < mark) for mark in marks.tolist()]
        equal = [weight @ (scores == mark) for mark in marks.tolist()]
        return np.array(less), np.array(equal)
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    upto = np.concatenate(([0.0], np.cumsum(weight[order])))
    low, high = (upto[np.searchsorted(ranked, marks, side)] for side in ("left", "right"))
    return low, high - low


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
    location, locations = distinct_rows(shown, classes)
    size = len(locations)
    held = np.column_stack(
        [np.bincount(location, minlength=size)]
        + [np.bincount(location, weights=column, minlength=size) for column in columns.T]
    )
    question, questions = distinct_rows(true, classes[own])
    least = np.full(len(questions), np.iinfo(np.int64).max)
    sums = np.zeros((len(questions), held.shape[1]))
    rows, asked = true[questions], classes[own][questions]
    for q, block, (score,) in _compared(
        rows, asked, shown[locations], classes[locations], [weighting]
    ):
        nearest = score.min()
        if nearest <= least[q]:
            total = held[block[score == nearest]].sum(axis=0)
            sums[q] = total + (sums[q] if nearest == least[q] else 0.0)
            least[q] = nearest
    return (sums[:, 1:] / np.maximum(sums[:, :1], 1))[question]


def _compared(
    rows: sparse.csr_matrix,
    asked: NDArray[np.int64],
    there: sparse.csr_matrix,
    classes: NDArray[np.int64],
    weightings: Sequence[tuple[int, int]],
) -> Iterator[tuple[int, NDArray[np.int64], list[NDArray[np.int32]]]]:
    """Yield each row with a block of the locations of its class and, per weighting, their scores.

    Scores leave out what is the same for all candidates of a row, `missing` times its sum: with
    the overlap of a row and a location, the sum of the lesser counts, they are
    surplus * (location's sum) - (missing + surplus) * overlap.
    """
    by_class = np.argsort(asked, kind="stable")
    cuts = np.flatnonzero(np.diff(asked[by_class])) + 1
    step = max(BLOCK_CELLS // max(rows.shape[1], 1), 1)
    most = max(int(_row_sums(rows).max(initial=0)), int(_row_sums(there).max(initial=0)))
    # Half the bytes are half the time.
    narrow = np.int16 if most < 1 << 15 else np.int32
    for group in np.split(by_class, cuts) if len(by_class) else []:
        members = np.flatnonzero(classes == asked[group[0]])
        for first in range(0, len(members), step):
            block = members[first : first + step]
            features = np.ascontiguousarray(there[block].T.toarray().astype(narrow))
            seen = features.sum(axis=0, dtype=np.int32)
            overlap, least = np.empty_like(features[0]), np.empty_like(features[0])
            terms = [(surplus * seen, missing + surplus) for missing, surplus in weightings]
            for q in group.tolist():
                overlap[:] = 0
                begin, end = rows.indptr[q], rows.indptr[q + 1]
                counts = rows.data[begin:end].astype(narrow)
                for f, count in zip(rows.indices[begin:end].tolist(), counts, strict=True):
                    np.minimum(features[f], count, out=least)
                    np.add(overlap, least, out=overlap)
                wide = overlap.astype(np.int32)
                yield q, block, [base - factor * wide for base, factor in terms]


def distinct_rows(
    rows: sparse.csr_matrix, labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of equal (row, label) of each row, and one row of each group.

    Rows are compared by two sums of 64 random bits per feature: two different rows share them but
    for one pair in 2**128.
    """
    bits = np.random.default_rng(0)  # a hash function, drawn once; nothing else depends on it
    keys = [labels.astype(np.uint64)]
    for _ in range(2):
        words = bits.integers(0, 2**64, rows.shape[1], dtype=np.uint64)
        sums = np.zeros(rows.nnz + 1, dtype=np.uint64)
        np.cumsum(words[rows.indices] * rows.data.astype(np.uint64), out=sums[1:])
        keys.append(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
    order = np.lexsort(keys)
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(fresh) - 1
    return group, order[fresh]


def _row_sums(rows: sparse.csr_matrix) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = np.asarray(rows.sum(axis=1), dtype=np.int64).reshape(-1)
    return sums
