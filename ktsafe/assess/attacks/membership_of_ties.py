"""Membership of ties: which shown ties are true and which are inserted.

kt-safety promises nothing here; a release whose inserted ties stand out is easier to denoise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import common_neighbours
from ktsafe.assess.attacks.common.logistic import judged
from ktsafe.assess.attacks.common.nearest import neighbour_counts
from ktsafe.assess.attacks.common.result import Result, auc_result
from ktsafe.graph import AttributedGraph

NAME = "membership_of_ties"


def membership_of_ties(
    case: Case, rng: np.random.Generator, another: Case | None = None
) -> list[Result]:
    """Return how well the release tells true ties from inserted edges.

    Parameters
    ----------
    case:
        The release and the truth.
    rng:
        Draws what is learned from of `another`.
    another:
        Another release with its truth, to learn from. None: this release's own truth, by folds.

    Returns
    -------
    list of Result
        `membership_of_ties`, an AUC. Its `figures`: the `prior` share of true ties, and
        `precision_at_half`, the share of truth among the likeliest ties that hold half of it.
    """
    scores = chances_of_truth(case, rng, another)
    more = {"precision_at_half": _precision_at_half(scores, case.is_true_edge)}
    return [auc_result(NAME, scores, case.is_true_edge, figures=more)]


def chances_of_truth(
    case: Case,
    rng: np.random.Generator,
    another: Case | None = None,
    more: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the chance that each of `released.edges` is true; parameters as above.

    `more`, shape (edges, features), is what is known of each edge besides; not with `another`.
    Without either, attacks share the chances of a case, so nothing is drawn of `rng`.
    """
    if another is None and more is None:
        if NAME not in case.shared:
            folds = np.random.default_rng(0)
            case.shared[NAME] = judged(_features(case.released), case.is_true_edge, folds)
        return case.shared[NAME]
    features = _features(case.released)
    if more is not None:
        features = np.column_stack((features, more))
    lessons = None if another is None else (_features(another.released), another.is_true_edge)
    return judged(features, case.is_true_edge, rng, lessons)


def _features(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return the visible features of every edge, shape (m, features).

    The degrees of its ends; their common neighbours as a count, over the union (Jaccard), over the
    smaller degree, over the root of the product (Salton) and with weights 1 / log degree (Adamic
    and Adar, 2003); how much oftener than by chance the two quasi-identifier tuples are tied, and
    the two sensitive values; of the other neighbours of each end, the share that has the tuple of
    the other end, and its value; and, attribute by attribute, whether the ends agree.
    """
    degrees = graph.degrees.astype(np.float64)
    ends = np.sort(degrees[graph.edges], axis=1)
    low, high = ends[:, 0], ends[:, 1]
    both = common_neighbours(graph, 1 + 1j / np.log(np.maximum(degrees, 2)))
    common, adamic = both.real, both.imag
    tuples, values = graph.qi_classes.astype(np.int64), graph.codes[:, -1].astype(np.int64)
    agrees = graph.codes[graph.edges[:, 0]] == graph.codes[graph.edges[:, 1]]
    return np.column_stack(
        (
            np.log1p(low),
            np.log1p(high),
            common,
            common / np.maximum(low + high - common, 1),
            common / np.maximum(low, 1),
            common / np.sqrt(np.maximum(low * high, 1)),
            adamic,
            _lift(graph, tuples),
            _lift(graph, values),
            _alike_beside(graph, tuples),
            _alike_beside(graph, values),
            agrees,
        )
    )


def _lift(graph: AttributedGraph, kinds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log of ties between each edge's kinds over their expectation."""
    if not graph.n_edges:
        return np.zeros(0)
    ends = np.sort(kinds[graph.edges], axis=1)
    n_kinds = int(kinds.max()) + 1
    _, pair, counts = np.unique(
        ends[:, 0] * n_kinds + ends[:, 1], return_inverse=True, return_counts=True
    )
    stubs = np.bincount(kinds, weights=graph.degrees, minlength=n_kinds)
    expected = stubs[ends[:, 0]] * stubs[ends[:, 1]] / (2 * graph.n_edges)
    lift: NDArray[np.float64] = np.log(counts[pair.reshape(-1)] / expected)
    return lift


def _alike_beside(graph: AttributedGraph, kinds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of the other end's kind among other neighbours.

    Shape (m, 2): the lesser of the two shares first. An end without other neighbours has 0.
    """
    if not graph.n_edges:
        return np.zeros((0, 2))
    counts = neighbour_counts(graph, kinds, int(kinds.max(initial=-1)) + 1)
    shares = []
    for end, other in (graph.edges.T, graph.edges.T[::-1]):
        found = np.asarray(counts[end, kinds[other]]).reshape(-1) - 1
        shares.append(found / np.maximum(graph.degrees[end] - 1, 1))
    return np.sort(np.column_stack(shares), axis=1)


def _precision_at_half(scores: NDArray[np.float64], is_true: NDArray[np.bool_]) -> float:
    """Return precision among scores that hold half the truth, else 0."""
    hits = np.cumsum(is_true[np.argsort(-scores, kind="stable")])
    if not len(hits) or not hits[-1]:
        return 0.0
    needed = int(np.searchsorted(hits, hits[-1] / 2)) + 1
    return float(hits[needed - 1] / needed)
