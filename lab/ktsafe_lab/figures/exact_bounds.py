"""Certified lower bounds of the edge cost of releases in exact cohorts.

`degree_bound` holds for *any* cohorts of at least k members. In a release all members of a cohort
have equally many neighbours of each class. So for every two classes the counts of one class's
members fall into groups of k that become equal, and each unit by which a count changes is half
an edge. What the counts of one column cost at least is found by a dynamic program over them in
order; columns are bounded apart, as if each had cohorts of its own.

`cohort_bound` holds for *given* cohorts. It is the linear program of each pair of classes
(`ktsafe.anonymization.pair_program`), with parts of ties and parts of degrees. The solver is
not trusted: its prices are rounded to whole millionths and cut down until they are feasible, and
any feasible prices y >= 0 of vertices prove

    cost >= ties - sum over ties (u, v) of max(0, 2 - y[u] - y[v])
    where the mean of y over a cohort of a is at most 1/2 + lean, of b at most 1/2 - lean.

Source: weak duality; the groups of k in order are those of Liu and Terzi (2008) for degrees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from ktsafe.anonymization.kt_tree import Cohorts, neighbour_counts
from ktsafe.anonymization.pair_edges import pairs_between
from ktsafe.anonymization.pair_program import Pair
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

SCALE = 1_000_000
"""Prices are whole multiples of its inverse."""


def degree_bound(graph: AttributedGraph, params: PrivacyParams) -> int:
    """Return a lower bound of the edge cost, whatever the cohorts are.

    Inserted vertices are not considered: it bounds releases of these vertices alone.

    Parameters
    ----------
    graph:
        The true graph, without withheld people.
    params:
        k is used.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> 0 < degree_bound(graph, PrivacyParams(k=5)) < graph.n_edges
    True
    """
    counts = neighbour_counts(graph)
    ends = 0
    for c in range(counts.shape[1]):
        block = counts[np.flatnonzero(graph.qi_classes == c)]
        columns = np.unique(block.indices)
        ends += int(grouping_cost(block[:, columns].toarray(), params.k).sum())
    return -(-ends // 2)


def grouping_cost(counts: NDArray[np.int32], k: int) -> NDArray[np.int64]:
    """Return columns' least L1 changes to equal groups of k.

    Parameters
    ----------
    counts:
        int32, shape (n, c).
    k:
        Least size of a group; if there are fewer rows, all are one group.

    Returns
    -------
    int64, shape (c,)
    """
    n, width = counts.shape
    total = np.zeros((n + 1, width), dtype=np.int64)
    np.cumsum(np.sort(counts, axis=0), axis=0, out=total[1:])

    def group(i: int, j: int) -> NDArray[np.int64]:
        half = (j - i) // 2
        change: NDArray[np.int64] = total[j] - total[j - half] - total[i + half] + total[i]
        return change

    if n < 2 * k:
        return group(0, n)
    never = np.iinfo(np.int64).max // 4
    best = np.full((n + 1, width), never, dtype=np.int64)
    best[0] = 0
    for j in range(k, n + 1):
        # A group of 2 k or more is two groups that together cost no more.
        for i in range(max(0, j - 2 * k + 1), j - k + 1):
            np.minimum(best[j], best[i] + group(i, j), out=best[j])
    return best[n]


def cohort_bound(graph: AttributedGraph, cohorts: Cohorts) -> int:
    """Return a lower bound of the edge cost by given cohorts.

    It solves a linear program for each pair of classes: seconds for pairs of thousands of ties.
    """
    return sum(
        len(each.pair.edges) - gain_bound(each.pair)
        for each in pairs_between(graph.edges, graph.qi_classes, cohorts)
    )


def gain_bound(pair: Pair) -> int:
    """Return an upper bound of the objective of a pair.

    Gains are 2, and the price is 1.
    """
    assert (pair.gain == 2).all(), "The bound is that of a single release."
    assert pair.price == 1, "The bound is that of a single release."
    prices, lean, at, cohort = _solved(pair)
    sizes, signs = pair.sizes, pair.signs
    # Prices of a cohort may sum up to its size times a half, more or less by the lean.
    y = np.maximum(np.floor(np.maximum(prices, 0) * SCALE), 0).astype(np.int64)
    leaning = 0 if pair.is_one else int(np.clip(round(lean * SCALE), -SCALE // 2, SCALE // 2))
    most = sizes * (SCALE // 2 + signs * leaning)
    sums = np.bincount(cohort, y, minlength=len(sizes)).astype(np.int64)
    over = sums > most
    factor = np.where(over, most, 1), np.where(over, np.maximum(sums, 1), 1)
    y = y * factor[0][cohort] // factor[1][cohort]
    assert (np.bincount(cohort, y, minlength=len(sizes)) <= most).all(), "Prices are feasible."
    gains = np.maximum(2 * SCALE - y[at[:, 0]] - y[at[:, 1]], 0)
    # The objective is a whole number.
    return int(gains.sum()) // SCALE


def _solved(
    pair: Pair,
) -> tuple[NDArray[np.float64], float, NDArray[np.int64], NDArray[np.int64]]:
    """Return the solver's prices, lean, ties' ends, and cohorts."""
    m, sizes, signs = len(pair.edges), pair.sizes, pair.signs
    vertices, at = np.unique(pair.edges, return_inverse=True)
    at = at.reshape(-1, 2)
    cohort = pair.cohort[vertices].astype(np.int64)
    n, p = len(vertices), len(sizes)
    within = coo_array(
        (
            np.concatenate((np.ones(2 * m), -np.ones(n))),
            (
                np.concatenate((at.T.reshape(-1), np.arange(n))),
                np.concatenate((np.tile(np.arange(m), 2), m + cohort)),
            ),
        ),
        shape=(n, m + p),
    ).tocsr()
    balance = None if pair.is_one else np.concatenate((np.zeros(m), signs * sizes))[None, :]
    result = linprog(
        np.concatenate((-pair.gain, pair.price * sizes / 2)),
        A_ub=within,
        b_ub=np.zeros(n),
        A_eq=balance,
        b_eq=None if pair.is_one else np.zeros(1),
        bounds=np.column_stack((np.zeros(m + p), np.append(np.ones(m), np.full(p, np.inf)))),
        method="highs",
    )
    if result.status != 0:
        return np.full(n, 0.5), 0.0, at, cohort
    lean = 0.0 if pair.is_one else -float(result.eqlin.marginals[0])
    return -result.ineqlin.marginals, lean, at, cohort
