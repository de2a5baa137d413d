"""Rank of a target among the released vertices that resemble it.

Everything an attacker gains by naming the nearest vertex, the r-th nearest, or by counting those
as near as the target's own follows from two numbers per target: how many candidates are nearer
than its own place, and how many are as near (its own place included).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.graph import AttributedGraph

BLOCK_CELLS = 1 << 23
"""Cells of a dense block of released rows: 32 MB of int32."""
ROW_CELLS = 1 << 15
"""Cells of the scores that are made at a time, if they are of several rows."""
SORT_FROM = 32
"""Places asked about with the same knowledge from which on sorting all scores is quicker."""
SAME, LACK_WEIGHS_3, ONLY_ADDED, ONLY_MISSING = (1, 1), (3, 1), (1000, 1), (1, 0)
"""Weightings: what a neighbour that is missing weighs, and one too many."""
_NONE = np.zeros(0, dtype=np.int64)


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
) -> sparse.csr_matrix:
    """Return how many neighbours of each vertex carry each label.

    Int64, shape (n, n_labels).

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
    compared = _compared(true[questions[rows]], asked, there, of_location, weightings)
    for some, block, scores in compared:
        askers = [by_row[begins[r] : begins[r + 1]] for r in some.tolist()]
        for i, score in enumerate(scores):
            for these, nearer, tied in _below_and_at(
                score, population[block], askers, own_scores[i]
            ):
                counts[0, i, these] += nearer
                counts[1, i, these] += tied
    whole = counts.astype(np.int64)[:, :, question]
    return [Standing(whole[0, i], whole[1, i]) for i in range(len(weightings))]


def _below_and_at(
    scores: NDArray[np.int32],
    weight: NDArray[np.float64],
    askers: Sequence[NDArray[np.int64]],
    marks: NDArray[np.int64],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield askers, and weights of scores below and at each mark.

    Row i of `scores` is asked about by `askers[i]`, positions in `marks`.
    """
    n_askers = np.array([len(these) for these in askers])
    few = np.flatnonzero(n_askers < SORT_FROM)
    row = np.repeat(few, n_askers[few])
    these = np.concatenate([_NONE, *(askers[i] for i in few.tolist())])
    together = max(ROW_CELLS // max(scores.shape[1], 1), 1)
    for begin in range(0, len(row), together):
        part = slice(begin, begin + together)
        asked, mark = scores[row[part]], marks[these[part], None]
        yield these[part], (asked < mark) @ weight, (asked == mark) @ weight
    for i in np.flatnonzero(n_askers >= SORT_FROM).tolist():
        order = np.argsort(scores[i], kind="stable")
        ranked, mark = scores[i][order], marks[askers[i]]
        upto = np.concatenate(([0.0], np.cumsum(weight[order])))
        low, high = (upto[np.searchsorted(ranked, mark, side)] for side in ("left", "right"))
        yield askers[i], low, high - low


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
    for some, block, (scores,) in _compared(
        rows, asked, shown[locations], classes[locations], [weighting]
    ):
        for q, score, nearest in zip(some, scores, scores.min(axis=1), strict=True):
            if nearest <= least[q]:
                total = held[block[score == nearest]].sum(axis=0)
                sums[q] = total + (sums[q] if nearest == least[q] else 0.0)
                least[q] = nearest
    return (sums[:, 1:] / np.maximum(sums[:, :1], 1))[question]


def least_distances(
    true: sparse.csr_matrix,
    shown: sparse.csr_matrix,
    asked: NDArray[np.int64],
    classes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return each true row's L1 distance to its class's nearest shown.

    Parameters are those of `standings`, but `asked`, shape (rows,), is the class of each row. The
    result is -1 where nobody is of the class.
    """
    _, locations = distinct_rows(shown, classes)
    question, questions = distinct_rows(true, asked)
    rows = true[questions]
    far = np.iinfo(np.int64).max
    least = np.full(len(questions), far)
    for some, _, (scores,) in _compared(
        rows, asked[questions], shown[locations], classes[locations], [SAME]
    ):
        least[some] = np.minimum(least[some], scores.min(axis=1))
    return np.where(least == far, -1, least + _row_sums(rows))[question]


def _compared(
    rows: sparse.csr_matrix,
    asked: NDArray[np.int64],
    there: sparse.csr_matrix,
    classes: NDArray[np.int64],
    weightings: Sequence[tuple[int, int]],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.int32]]]]:
    """Yield some rows, locations of their class and, per weighting, the scores.

    Scores, shape (rows, locations), leave out what is the same for all candidates of a row,
    `missing` times its sum: with the overlap of a row and a location, the sum of the lesser counts,
    they are surplus * (location's sum) - (missing + surplus) * overlap.
    """
    by_class = np.argsort(asked, kind="stable")
    cuts = np.flatnonzero(np.diff(asked[by_class])) + 1
    step = max(BLOCK_CELLS // max(rows.shape[1], 1), 1)
    most = max(int(_row_sums(rows).max(initial=0)), int(_row_sums(there).max(initial=0)))
    # Half the bytes are half the time.
    narrow = np.int16 if most < 1 << 15 else np.int32
    for group in np.split(by_class, cuts) if len(by_class) else []:
        members = np.flatnonzero(classes == asked[group[0]])
        known = rows[group]
        for first in range(0, len(members), step):
            block = members[first : first + step]
            features = np.ascontiguousarray(there[block].T.toarray().astype(narrow))
            seen = features.sum(axis=0, dtype=np.int32)
            terms = [(surplus * seen, missing + surplus) for missing, surplus in weightings]
            for begin, overlap in _overlaps(known, features):
                wide = overlap.astype(np.int32)
                some = group[begin : begin + len(wide)]
                yield some, block, [base - factor * wide for base, factor in terms]


def _overlaps(
    known: sparse.csr_matrix, features: NDArray[Any]
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the first of some rows, and sums of lesser counts.

    The sums are of these rows and each column.

    `features` has shape (features, columns). Rows are taken together where there are few columns:
    calls of numpy would take longer than what they compute.
    """
    n_rows, n_columns = known.shape[0], features.shape[1]
    together = max(ROW_CELLS // max(n_columns, 1), 1)
    row = np.repeat(np.arange(n_rows), np.diff(known.indptr))
    order = np.lexsort((known.indices, row // together))
    row, feature = row[order], known.indices[order]
    counts = known.data[order, None].astype(features.dtype)
    # Runs of entries with one feature in rows that are taken together.
    begins = np.flatnonzero(
        (np.diff(feature, prepend=-1) != 0) | (np.diff(row // together, prepend=-1) != 0)
    )
    runs = list(itertools.pairwise([*begins.tolist(), len(row)]))
    cuts = np.searchsorted(row[begins], np.arange(0, n_rows + together, together)).tolist()
    for part, begin in enumerate(range(0, n_rows, together)):
        size = min(together, n_rows - begin)
        overlap = np.zeros((size, n_columns), dtype=features.dtype)
        for first, last in runs[cuts[part] : cuts[part + 1]]:
            lesser = np.minimum(counts[first:last], features[feature[first]])
            if last - first == size:
                overlap += lesser
            else:
                overlap[row[first:last] - begin] += lesser
        yield begin, overlap


def distinct_rows(
    rows: sparse.csr_matrix, labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each (row, label), and one row per group.

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
