"""Attackers with a person's neighbourhood: true neighbours, two hops, counts of friends.

The attacker knows the quasi-identifier tuples of all true neighbours and the person's published
tuple, ranks the released vertices of that tuple by how far their released neighbours are from what
is known, and names the nearest.

Source: the degree and neighbourhood attacks of Liu and Terzi, "Towards identity anonymization on
graphs" (SIGMOD 2008), and Zhou and Pei, "Preserving privacy in social networks against
neighborhood attacks" (ICDE 2008), with the paper's attributes.

Shares that are known and weights may be added, as names in audits. Distances stay whole numbers, so
that equal ones are equal; the naive attackers are in tests/ktsafe/assess/attacks/naive.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.logistic import right_of_highest, sensitive_without
from ktsafe.assess.attacks.common.nearest import (
    LACK_WEIGHS_3,
    ONLY_ADDED,
    SAME,
    Standing,
    distinct_rows,
    nearest_share,
    neighbour_counts,
    standings,
)
from ktsafe.assess.attacks.common.propagation import adjacency, both_ways, common_neighbours
from ktsafe.assess.attacks.common.result import (
    Result,
    area_under_curve,
    auc_result,
    share_result,
    standing_result,
)
from ktsafe.assess.attacks.friends import (
    NARROW,
    bands,
    begins_of_bands,
)
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

Rows = tuple[sparse.csr_matrix, sparse.csr_matrix]


def one_hop(case: Case, params: PrivacyParams) -> list[Result]:
    """Return how many people are found by their true one-hop neighbourhood.

    Five distances between known and released neighbours:

    - `marginal`: L1 of the counts of every attribute's values, plus the difference of degrees;
    - `joint`: L1 of the counts of quasi-identifier tuples;
    - `joint3`: the same, a missing neighbour weighing 3 (ties are rather added than hidden);
    - `added`: the same, one missing neighbour outweighing all surplus (ties are only added);
    - `degree`: the difference of degrees alone.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k; the best rank is sought up to 3 k.

    Returns
    -------
    list of Result
        One per distance, see `standing_result`.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.graph.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> found = one_hop(Case(graph, *ids_removed(graph, rng)), PrivacyParams(k=10))
    >>> [result.attack for result in found]
    ['one_hop.marginal', 'one_hop.joint', 'one_hop.joint3', 'one_hop.added', 'one_hop.degree']
    >>> found[1].value > 0.9
    True
    """
    classes = case.tuples[1]
    own = case.places
    (marginal,) = standings(*marginal_rows(case), own, classes, [SAME])
    joint, joint3, added = standings(
        *joint_rows(case), own, classes, [SAME, LACK_WEIGHS_3, ONLY_ADDED]
    )
    (degree,) = standings(*degree_rows(case), own, classes, [SAME])
    found = {
        "marginal": marginal,
        "joint": joint,
        "joint3": joint3,
        "added": added,
        "degree": degree,
    }
    return [guess_result(f"one_hop.{name}", case, params, it) for name, it in found.items()]


def guess_result(
    attack: str,
    case: Case,
    params: PrivacyParams,
    standing: Standing,
    *,
    is_promised: bool = True,
) -> Result:
    """Return the share found by the nearest candidate, and its details.

    See `standing_result`; the control is a uniform guess among the released vertices of the
    published tuple.
    """
    bands = case.bands(standing.chances)
    return standing_result(
        attack, params, standing, control=case.by_chance, bands=bands, is_promised=is_promised
    )


def joint_rows(case: Case, worth: NDArray[np.int64] | None = None) -> Rows:
    """Return the counts of neighbours' tuples.

    Known of each target, shown by each vertex.

    `worth` is what each of `released.indices` counts. Default: 1.
    """
    true, shown, size = case.tuples
    known = neighbour_counts(case.original, true, size, of=case.people)
    return known, neighbour_counts(case.released, shown, size, worth)


def marginal_rows(case: Case, worth: NDArray[np.int64] | None = None) -> Rows:
    """Return the counts of neighbours' values, attribute by attribute, and their number."""
    true, shown, sizes = case.values
    known, seen = (list(rows) for rows in zip(degree_rows(case, worth), strict=True))
    for j, size in enumerate(sizes[:-1]):
        known.append(neighbour_counts(case.original, true[:, j], size, of=case.people))
        seen.append(neighbour_counts(case.released, shown[:, j], size, worth))
    return sparse.hstack(known, format="csr"), sparse.hstack(seen, format="csr")


def degree_rows(case: Case, worth: NDArray[np.int64] | None = None) -> Rows:
    """Return the numbers of neighbours alone."""
    known = sparse.csr_matrix(case.original.degrees[case.people].reshape(-1, 1))
    alike = np.zeros(case.released.n_vertices, dtype=np.int64)
    return known, neighbour_counts(case.released, alike, 1, worth)


# Partial knowledge: an attacker with some neighbours, or some wrong ones.
#
# It compares counts of quasi-identifier tuples, as `one_hop` does.

KNOWN = {"10%": (0.1, 0.0), "50%": (0.5, 0.0), "90%": (0.9, 0.0), "10% wrong": (1.0, 0.1)}
"""By name: the share of true neighbours that is known, and the share of those that is wrong."""
WEIGHTINGS = ((1, 1), (3, 1), (10, 1), (1, 0))
"""What a missing and a surplus neighbour weigh: the less is known, the less a surplus one tells."""


def partial_knowledge(case: Case, params: PrivacyParams, rng: np.random.Generator) -> list[Result]:
    """Return the people found by a part of their true neighbours.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k.
    rng:
        Draws which neighbours are known, each with the same chance, and which of them wrongly: a
        wrong one has the tuple of a vertex of the true graph, drawn uniformly.

    Returns
    -------
    list of Result
        One per entry of `KNOWN`, see `standing_result`. Of `WEIGHTINGS` the one that finds
        most people is told, which the attacker would have to know.
    """
    _, shown_rows = joint_rows(case)
    results = []
    for name, (share, wrong) in KNOWN.items():
        known = _known_rows(case, share, wrong, rng)
        found = standings(known, shown_rows, case.places, case.tuples[1], WEIGHTINGS)
        told = [guess_result(f"partial_knowledge.{name}", case, params, it) for it in found]
        results.append(max(told, key=lambda result: result.value))
    return results


def _known_rows(
    case: Case, share: float, wrong: float, rng: np.random.Generator
) -> sparse.csr_matrix:
    """Return tuple counts of the known neighbours, shape (targets, tuples)."""
    true, _, size = case.tuples
    graph = case.original
    person = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    label: NDArray[np.int64] = true[graph.indices]
    if len(label):
        is_wrong = rng.random(len(label)) < wrong
        label = np.where(is_wrong, true[rng.integers(0, len(true), len(label))], label)
    is_known = rng.random(len(label)) < share
    ones = np.ones(int(is_known.sum()), dtype=np.int64)
    counts = sparse.csr_matrix(
        (ones, (person[is_known], label[is_known])), shape=(graph.n_vertices, size)
    )
    return counts[case.people]


# Two hops: the attacker also knows the neighbours of a person's neighbours.
#
# A release that is safe for one hop keeps the members of a cohort alike in their neighbours, not in
# what is beyond those.
# What is beyond is known by quasi-identifiers; `friends_degrees` is the attacker that knows
# degrees.
#
# Source: the neighbourhoods of Hay et al., "Resisting structural re-identification in anonymized
# social networks" (PVLDB 2008), with the paper's attributes.

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
    >>> from ktsafe.graph.synthetic import uniform
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


# Structure alone: how many are alike by what ANO-NET measures, and who is found by it.
#
# Three measures of the ties around a person, without attributes:
#
# - `count`: how many friends, and how many ties among them;
# - `degrees`: how many ties each friend has to the person and to other friends;
# - `h2`: how many ties each friend has at all.
#
# Source: de Jong, van der Loo and Takes, "A systematic comparison of measures for k-anonymity in
# networks" (arXiv 2407.02290), and their ANO-NET; H2 is from Hay et al. (PVLDB 2008).

NAME = "structure"


class Alike(NamedTuple):
    """Shares of vertices with 1, or k - 1, equal others."""

    two: float
    k: float


def structure(case: Case, params: PrivacyParams) -> list[Result]:
    """Return how many are alike by structure, and the share named.

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
    >>> from ktsafe.graph.synthetic import uniform
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
    measures = {"count": (counts, counts, 1)}
    for name, of_friends in (("degrees", [ties + 1 for ties in within]), ("h2", beyond)):
        begins = begins_of_bands(max(int(each.max(initial=0)) for each in of_friends), NARROW)
        exact, banded = [], []
        for graph, each in zip(graphs, of_friends, strict=True):
            exact.append(_histograms(graph, each, int(each.max(initial=0)) + 1))
            banded.append(_histograms(graph, bands(each, begins), len(begins)))
        measures[name] = exact, banded, len(begins)
    results = []
    own, classes = case.places, case.tuples[1]
    for name, (exact, (known, seen), n_bands) in measures.items():
        (found,) = standings(known[case.people], seen, own, classes, [SAME], n_bands)
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
    """Return counts of numbers among a vertex's friends, shape (n, size).

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


# Sensitive inference: claims "is sensitive" from a person's true neighbours.
#
# The chance that it holds for the person is read off the released vertices that could be the
# person. kt-safety promises that at most a share alpha of the *definition's* candidates is
# sensitive; the attacker may choose other candidates. The attacker says so of people, not of
# places, so everything here is judged by the truth.


def sensitive_inference(
    case: Case, params: PrivacyParams, rng: np.random.Generator
) -> list[Result]:
    """Return how well the sensitive people are found.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its alpha is the promise.
    rng:
        Draws the folds of what is said without the person (`common.without_target`).

    Returns
    -------
    list of Result
        `sensitive_inference.prior`: AUC of the share of sensitive vertices among the released ones
        of the person's tuple: what quasi-identifiers alone tell.
        `sensitive_inference.candidates`: AUC of the share among the nearest candidates by
        `one_hop.joint`.
        `sensitive_inference.neighbours`: AUC of the share among all released neighbours of the
        nearest candidates, weighed evenly: friends are often alike.
        `sensitive_inference.named`: of the people whose nearest candidates are mostly sensitive,
        the share that is; its control is the share of sensitive people, its promise alpha.
    """
    truth = case.original.is_sensitive[case.people]
    flags = case.released.is_sensitive.astype(np.float64)
    shown = case.tuples[1]
    n_shown = np.bincount(shown)
    prior = (np.bincount(shown, weights=flags) / np.maximum(n_shown, 1))[shown[case.places]]
    ties = np.maximum(case.released.degrees, 1)
    beside = (adjacency(case.released).astype(np.float64) @ flags) / ties
    found = nearest_share(
        *joint_rows(case), case.places, shown, SAME, np.column_stack((flags, beside))
    )
    scores = {"prior": prior, "candidates": found[:, 0], "neighbours": found[:, 1]}
    without = sensitive_without(case, case.people, rng)
    area = area_under_curve(without, truth)
    results = [
        auc_result(f"sensitive_inference.{name}", score, truth, without_target=area)
        for name, score in scores.items()
    ]
    named = found[:, 0] > 0.5
    share = float(truth.mean()) if len(truth) else 0.0
    right: NDArray[np.float64] = truth[named].astype(np.float64)
    results.append(
        share_result(
            "sensitive_inference.named",
            right,
            control=share,
            promise=float(params.alpha),
            figures={"named": int(named.sum()), "sensitive": int(truth.sum())},
            without_target=right_of_highest(without, truth, int(named.sum())),
        )
    )
    return results
