"""Membership of vertices: which released vertices are people and which are inserted.

kt-safety counts inserted vertices as candidates; where they stand out, fewer people than k are
left, which `real_candidates` of the audit says without any attack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.attacks.case import Case
from ktsafe.attacks.common_neighbours import adjacency, common_neighbours
from ktsafe.attacks.logistic import judged
from ktsafe.attacks.result import Result, auc_result
from ktsafe.graph import AttributedGraph


def membership_of_vertices(
    case: Case, rng: np.random.Generator, another: Case | None = None
) -> list[Result]:
    """Return how well released vertices are told real from inserted by what the release shows.

    Parameters are those of `membership_of_ties`.

    Returns
    -------
    list of Result
        `membership_of_vertices`, an AUC; nothing where no vertex is inserted, or all are.
    """
    is_real = case.original_of >= 0
    if is_real.all() or not is_real.any():
        return []
    lessons = None
    if another is not None:
        lessons = (_features(another.released), another.original_of >= 0)
    scores = judged(_features(case.released), is_real, rng, lessons)
    figures = {"inserted": int((~is_real).sum())}
    return [auc_result("membership_of_vertices", scores, is_real, figures=figures)]


def _features(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return what is seen of every vertex, shape (n, features).

    Degree, the mean degree of neighbours, common neighbours per tie, how many share the tuple,
    the mean number that share a neighbour's tuple, the entropy of neighbours' tuples, and,
    attribute by attribute, the share of neighbours that agree.
    """
    n = graph.n_vertices
    degrees = graph.degrees.astype(np.float64)
    per_tie = 1 / np.maximum(degrees, 1)
    beside = adjacency(graph).astype(np.float64)
    closed = common_neighbours(graph)
    both = np.concatenate((closed, closed))
    common = np.bincount(graph.edges.T.reshape(-1), weights=both, minlength=n)
    alike = np.bincount(graph.qi_classes)[graph.qi_classes].astype(np.float64)
    source = np.repeat(np.arange(n), graph.degrees)
    agrees = [
        np.bincount(source, weights=column[source] == column[graph.indices], minlength=n) * per_tie
        for column in graph.codes.T
    ]
    return np.column_stack(
        (
            np.log1p(degrees),
            (beside @ degrees) * per_tie,
            common * per_tie,
            np.log1p(alike),
            (beside @ np.log1p(alike)) * per_tie,
            _entropy_of_neighbours(graph),
            *agrees,
        )
    )


def _entropy_of_neighbours(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return the entropy of the tuples of each vertex's neighbours, in nats; 0 for none."""
    n = graph.n_vertices
    size = int(graph.qi_classes.max(initial=0)) + 1
    source = np.repeat(np.arange(n, dtype=np.int64), graph.degrees)
    keys, counts = np.unique(source * size + graph.qi_classes[graph.indices], return_counts=True)
    shares: NDArray[np.float64] = counts / graph.degrees[keys // size]
    parts: NDArray[np.float64] = -shares * np.log(shares)
    out = np.zeros(n)
    np.add.at(out, keys // size, parts)
    return out
