"""Membership of vertices: which released vertices are people and which are inserted.

kt-safety counts inserted vertices as candidates; where they stand out, fewer people than k are
left, which `real_candidates` of the audit says without any attack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.attacks.common.case import Case
from ktsafe.attacks.common.common_neighbours import adjacency, common_neighbours
from ktsafe.attacks.common.logistic import judged
from ktsafe.attacks.common.nearest import distinct_rows
from ktsafe.attacks.common.result import Result, auc_result, share_result
from ktsafe.attacks.one_hop import marginal_rows
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams


def membership_of_vertices(
    case: Case, params: PrivacyParams, rng: np.random.Generator, another: Case | None = None
) -> list[Result]:
    """Return how well released vertices are told real from inserted by what the release shows.

    Parameters are those of `membership_of_ties`, and the k of `params`.

    Returns
    -------
    list of Result
        `membership_of_vertices.auc`, and `membership_of_vertices.k_detect`: the share of people who
        have fewer than k `candidates` left, their own place among them, once those that are
        judged inserted are dropped. The attacker knows how many there are, and drops as many; its
        control drops as many at random. `figures`: how many people have fewer than k real
        candidates, whatever the attacker can tell; the least and the median number left; the share
        of inserted vertices among the dropped. Nothing where no vertex is inserted, or all are.
    """
    is_real = case.original_of >= 0
    if is_real.all() or not is_real.any():
        return []
    lessons = None
    if another is not None:
        lessons = (_features(another.released), another.original_of >= 0)
    scores = judged(_features(case.released), is_real, rng, lessons)
    n_inserted = int((~is_real).sum())
    figures = {"inserted": n_inserted}
    return [
        auc_result("membership_of_vertices.auc", scores, is_real, figures=figures),
        _detected(case, params, scores, n_inserted, rng),
    ]


def candidates(case: Case) -> NDArray[np.int64]:
    """Return a number for what each released vertex shows: its tuple, and its neighbours' values.

    Vertices of one number are each other's candidates under any parameters. Where t and epsilon
    leave room there may be more.
    """
    return distinct_rows(marginal_rows(case)[1], case.tuples[1])[0]


def _detected(
    case: Case,
    params: PrivacyParams,
    scores: NDArray[np.float64],
    n_inserted: int,
    rng: np.random.Generator,
) -> Result:
    """Return who has fewer than k candidates left when the likeliest inserted ones are dropped."""
    n, alike = case.released.n_vertices, candidates(case)
    # Equal scores are in random order.
    order = np.lexsort((rng.random(n), scores))
    is_real = case.original_of >= 0
    left = {
        "judged": _left(alike, order[:n_inserted], case.places),
        "at random": _left(alike, rng.permutation(n)[:n_inserted], case.places),
        "known": _left(alike, np.flatnonzero(~is_real), case.places),
    }
    below = {name: (found > 0) & (found < params.k) for name, found in left.items()}
    some = len(case.places) > 0
    found = left["judged"][left["judged"] > 0]
    return share_result(
        "membership_of_vertices.k_detect",
        below["judged"].astype(np.float64),
        control=float(below["at random"].mean()) if some else 0.0,
        figures={
            "k_real_below_k": float(below["known"].mean()) if some else 0.0,
            "left_min": int(found.min(initial=n)),
            "left_median": float(np.median(found)) if len(found) else 0.0,
            "dropped_inserted": float((~is_real[order[:n_inserted]]).mean()),
        },
    )


def _left(
    alike: NDArray[np.int64], dropped: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many candidates of each place are not dropped; 0 if the place itself is."""
    is_left = np.ones(len(alike), dtype=np.bool_)
    is_left[dropped] = False
    counts = np.bincount(alike[is_left], minlength=int(alike.max(initial=0)) + 1)
    return np.where(is_left[places], counts[alike[places]], 0)


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
