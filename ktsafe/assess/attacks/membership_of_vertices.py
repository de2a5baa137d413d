"""Membership of vertices: which released vertices are people and which are inserted.

kt-safety counts inserted vertices as candidates; where they stand out, fewer people than k are
left, which `real_candidates` of the audit says without any attack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import adjacency, common_neighbours
from ktsafe.assess.attacks.common.logistic import judged
from ktsafe.assess.attacks.common.nearest import distinct_rows
from ktsafe.assess.attacks.common.result import (
    Result,
    area_under_curve,
    auc_result,
    inside_result,
    share_result,
)
from ktsafe.assess.attacks.one_hop import marginal_rows
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams


def membership_of_vertices(
    case: Case, params: PrivacyParams, rng: np.random.Generator, another: Case | None = None
) -> list[Result]:
    """Return how well the release tells real from inserted vertices.

    Parameters are those of `membership_of_ties`, and the k of `params`.

    Returns
    -------
    list of Result
        `membership_of_vertices.auc`, over all vertices; its control sees nothing but how many share
        each tuple, which no rewiring changes. `membership_of_vertices.inside`: the same scores, but
        only people and inserted vertices of the same tuple are compared.
        `membership_of_vertices.k_detect`: the share of people with fewer than k `candidates` left,
        their own place among them, after the attacker drops those that it judges inserted. The
        attacker knows the number of inserted vertices, and drops as many; its control drops as many
        at random. `figures`: how many people have fewer than k real candidates, whatever the
        attacker can tell; the least and the median number left; the share
        of inserted vertices among the dropped. Nothing where no vertex is inserted, or all are.
    """
    is_real = case.original_of >= 0
    if is_real.all() or not is_real.any():
        return []
    seen = _features(case.released)
    sizes, lessons, lessons_of_sizes = seen[:, :1], None, None
    if another is not None:
        taught, truth = _features(another.released), another.original_of >= 0
        lessons, lessons_of_sizes = (taught, truth), (taught[:, :1], truth)
    scores = judged(seen, is_real, rng, lessons)
    n_inserted = int((~is_real).sum())
    found = _detected(case, params, scores, n_inserted, rng)
    by_size = area_under_curve(judged(sizes, is_real, rng, lessons_of_sizes), is_real)
    name, figures = "membership_of_vertices", {"inserted": n_inserted}
    return [
        auc_result(f"{name}.auc", scores, is_real, control=by_size, figures=figures),
        inside_result(f"{name}.inside", scores, is_real, case.released.qi_classes),
        found,
    ]


def candidates(case: Case) -> NDArray[np.int64]:
    """Return a number for what each released vertex shows.

    Its tuple, and its neighbours' values.

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
    """Return the share below k without the likeliest inserted candidates."""
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
    """Return how many candidates of each place are not dropped.

    0 if the place itself is.
    """
    is_left = np.ones(len(alike), dtype=np.bool_)
    is_left[dropped] = False
    counts = np.bincount(alike[is_left], minlength=int(alike.max(initial=0)) + 1)
    return np.where(is_left[places], counts[alike[places]], 0)


def _features(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return the visible features of every vertex, shape (n, features).

    First how many share the tuple. Then degree, the mean degree of neighbours, common neighbours
    per tie, the mean number that share a neighbour's tuple, the entropy of neighbours' tuples,
    whether it is sensitive, and, attribute by attribute, the share of neighbours that agree.
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
            np.log1p(alike),
            np.log1p(degrees),
            (beside @ degrees) * per_tie,
            common * per_tie,
            (beside @ np.log1p(alike)) * per_tie,
            _entropy_of_neighbours(graph),
            graph.is_sensitive,
            *agrees,
        )
    )


def _entropy_of_neighbours(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return the entropy of the tuples of each vertex's neighbours, in nats.

    0 for none.
    """
    n = graph.n_vertices
    size = int(graph.qi_classes.max(initial=0)) + 1
    source = np.repeat(np.arange(n, dtype=np.int64), graph.degrees)
    keys, counts = np.unique(source * size + graph.qi_classes[graph.indices], return_counts=True)
    shares: NDArray[np.float64] = counts / graph.degrees[keys // size]
    parts: NDArray[np.float64] = -shares * np.log(shares)
    out = np.zeros(n)
    np.add.at(out, keys // size, parts)
    return out
