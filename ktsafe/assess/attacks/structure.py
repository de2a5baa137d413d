"""Structure alone: how many are alike by what ANO-NET measures, and who is found by it.

Three measures of the ties around a person, without attributes:

- `count`: how many friends, and how many ties among them;
- `degrees`: how many ties each friend has to the person and to other friends;
- `h2`: how many ties each friend has at all.

Source: de Jong, van der Loo and Takes, "A systematic comparison of measures for k-anonymity in
networks" (arXiv 2407.02290), and their ANO-NET; H2 is from Hay et al. (PVLDB 2008).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import both_ways, common_neighbours
from ktsafe.assess.attacks.common.nearest import SAME, distinct_rows, standings
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.friends.friends_degrees import (
    NARROW,
    bands,
    begins_of_bands,
    from_each_on,
)
from ktsafe.assess.attacks.one_hop import guess_result
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

NAME = "structure"


class Alike(NamedTuple):
    """Shares of vertices that at least one other, or k - 1 others, are equal to."""

    two: float
    k: float


def structure(case: Case, params: PrivacyParams) -> list[Result]:
    """Return how many are alike by structure, and the share named by it.

    The attacker knows the measure of a person in the truth, and the published quasi-identifiers of
    the person alone. It names the vertex with the nearest measure: L1 of the two counts, or of the
    numbers of friends in each narrow band of degrees or above (`friends_degrees`).

    Returns
    -------
    list of Result
        `structure.count`, `structure.degrees`, `structure.h2`; nothing is promised. `figures`
        beside those of `standing_result`: `true_2`, `true_k`, `shown_2`, `shown_k`, the shares of
        all vertices in classes of at least 2 and of at least k, of the truth and of the release.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.datasets import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> *_, h2 = structure(Case(graph, *ids_removed(graph, rng)), PrivacyParams(k=10))
    >>> h2.attack, h2.value > 0.9, h2.figures["true_2"] < 0.1
    ('structure.h2', True, True)
    """
    graphs = (case.original, case.released)
    within = [both_ways(graph, common_neighbours(graph).astype(np.int64)) for graph in graphs]
    beyond = [graph.degrees[graph.indices].astype(np.int64) for graph in graphs]
    counts = [_counts(graph, ties) for graph, ties in zip(graphs, within, strict=True)]
    measures = {"count": (counts, counts)}
    for name, of_friends in (("degrees", [ties + 1 for ties in within]), ("h2", beyond)):
        begins = begins_of_bands(max(int(each.max(initial=0)) for each in of_friends), NARROW)
        exact, banded = [], []
        for graph, each in zip(graphs, of_friends, strict=True):
            exact.append(_histograms(graph, each, int(each.max(initial=0)) + 1))
            rows = _histograms(graph, bands(each, begins), len(begins))
            banded.append(from_each_on(rows, len(begins)))
        measures[name] = exact, banded
    results = []
    for name, (exact, (known, seen)) in measures.items():
        (found,) = standings(known[case.people], seen, case.places, case.tuples[1], [SAME])
        result = guess_result(f"{NAME}.{name}", case, params, found, is_promised=False)
        true, shown = (_alike(rows, params.k) for rows in exact)
        result.figures.update(true_2=true.two, true_k=true.k, shown_2=shown.two, shown_k=shown.k)
        results.append(result)
    return results


def _counts(graph: AttributedGraph, within: NDArray[np.int64]) -> sparse.csr_matrix:
    """Return friends and ties among them of each vertex, shape (n, 2)."""
    upto = np.concatenate(([0], np.cumsum(within)))
    among = (upto[graph.indptr[1:]] - upto[graph.indptr[:-1]]) // 2
    return sparse.csr_matrix(np.column_stack((graph.degrees, among)).astype(np.int64))


def _histograms(
    graph: AttributedGraph, of_friend: NDArray[np.int64], size: int
) -> sparse.csr_matrix:
    """Return how often each number is among a vertex's friends, shape (n, size).

    `of_friend` is a number for each of `graph.indices`.
    """
    ones = np.ones(len(of_friend), dtype=np.int64)
    rows = sparse.csr_matrix(
        (ones, of_friend, graph.indptr), shape=(graph.n_vertices, size), copy=True
    )
    rows.sum_duplicates()
    return rows


def _alike(rows: sparse.csr_matrix, k: int) -> Alike:
    """Return the shares of rows that are equal to others."""
    group, _ = distinct_rows(rows, np.zeros(rows.shape[0], dtype=np.int64))
    if not len(group):
        return Alike(0.0, 0.0)
    sizes = np.bincount(group)[group]
    return Alike(float((sizes >= 2).mean()), float((sizes >= k).mean()))
