"""Two hops: the attacker also knows the neighbours of a person's neighbours.

A release that is safe for one hop keeps the members of a cohort alike in their neighbours, not in
what is beyond those.
What is beyond is known by quasi-identifiers; `friends_degrees` is the attacker that knows degrees.

Source: the neighbourhoods of Hay et al., "Resisting structural re-identification in anonymized
social networks" (PVLDB 2008), with the paper's attributes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import adjacency
from ktsafe.assess.attacks.common.nearest import SAME, neighbour_counts, standings
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.one_hop import Rows, guess_result, joint_rows
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

UNIT = 256
"""A whole counts 256: shares are whole numbers, so equal distances are exactly equal."""


def two_hops(case: Case, params: PrivacyParams) -> list[Result]:
    """Return how many people are found by their true two-hop neighbourhood.

    Two distances between known and released neighbourhoods, each an L1 of counts:

    - `paths`: of neighbours by tuple, and of the ends of paths of two ties by tuple;
    - `shares`: the same two as shares of a whole, since a release shows more ties or fewer.

    Returns
    -------
    list of Result
        One per distance, see `standing_result`. The promise is 1/k if the release promises
        two hops; else there is none.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.datasets.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 500, rng=rng)
    >>> found = two_hops(Case(graph, *ids_removed(graph, rng)), PrivacyParams(k=10))
    >>> [result.attack for result in found]
    ['two_hops.paths', 'two_hops.shares']
    >>> found[0].value > 0.9
    True
    """
    paths = _path_rows(case)
    rows: dict[str, Rows] = {
        "paths": paths,
        "shares": (_as_shares(paths[0], case.tuples[2]), _as_shares(paths[1], case.tuples[2])),
    }
    results = []
    for name, (known, seen) in rows.items():
        (standing,) = standings(known, seen, case.places, case.tuples[1], [SAME])
        attack = f"two_hops.{name}"
        is_promised = params.n_hops >= 2
        results.append(guess_result(attack, case, params, standing, is_promised=is_promised))
    return results


def _path_rows(case: Case) -> Rows:
    """Return counts of neighbours and of ends of 2-paths, by tuple."""
    true, shown, size = case.tuples
    known, seen = joint_rows(case)
    beyond = _ends_of_paths(case.original, true, size)[case.people]
    return (
        sparse.hstack((known, beyond), format="csr"),
        sparse.hstack((seen, _ends_of_paths(case.released, shown, size)), format="csr"),
    )


def _ends_of_paths(
    graph: AttributedGraph, tuples: NDArray[np.int64], size: int
) -> sparse.csr_matrix:
    """Return the number of 2-paths from each vertex to each tuple.

    Paths back to the vertex do not count.

    *Complexity*: O(sum of degrees * tuples among a vertex's neighbours).
    """
    n = graph.n_vertices
    back = sparse.csr_matrix((graph.degrees, (np.arange(n), tuples)), shape=(n, size))
    ends = (adjacency(graph) @ neighbour_counts(graph, tuples, size) - back).tocsr()
    ends.eliminate_zeros()
    return ends.astype(np.int64)


def _as_shares(rows: sparse.csr_matrix, size: int) -> sparse.csr_matrix:
    """Return each row's two parts of `size` columns as shares in `UNIT`s."""
    parts = []
    for part in (rows[:, :size].tocsr(), rows[:, size:].tocsr()):
        sums = np.repeat(np.asarray(part.sum(axis=1)).reshape(-1), np.diff(part.indptr))
        shares = np.rint(UNIT * part.data / np.maximum(sums, 1)).astype(np.int64)
        share = sparse.csr_matrix((shares, part.indices, part.indptr), shape=part.shape, copy=True)
        share.eliminate_zeros()
        parts.append(share)
    return sparse.hstack(parts, format="csr")
