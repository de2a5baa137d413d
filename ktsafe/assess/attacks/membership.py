"""Membership of ties: which shown ties are true and which are inserted.

kt-safety promises nothing here; a release whose inserted ties stand out is easier to denoise.

What a guess goes by may be added: an attacker that finds more is the better judge. Members must be
held out before the release is made (tests/ktsafe/assess/attacks/test_membership_of_people.py),
inserted ties never be lessons of themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.history import History
from ktsafe.assess.attacks.common.logistic import judged
from ktsafe.assess.attacks.common.nearest import distinct_rows, least_distances, neighbour_counts
from ktsafe.assess.attacks.common.propagation import adjacency, common_neighbours
from ktsafe.assess.attacks.common.result import (
    Result,
    area_under_curve,
    auc_result,
    inside_result,
    share_result,
)
from ktsafe.assess.attacks.friends import (
    NARROW,
    bands,
    begins_of_bands,
    kinds_with_values,
)
from ktsafe.assess.attacks.neighbourhoods import Rows, marginal_rows
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import ranks
from ktsafe.params import PrivacyParams

NAME = "membership_of_ties"


def membership_of_ties(case: Case, rng: np.random.Generator) -> list[Result]:
    """Return how well the release tells true ties from inserted edges.

    Parameters
    ----------
    case:
        The release and the truth.
    rng:
        Draws nothing here: attacks share the chances of a case.

    Returns
    -------
    list of Result
        `membership_of_ties`, an AUC. Its `figures`: the `prior` share of true ties, and
        `precision_at_half`, the share of truth among the likeliest ties that hold half of it.
    """
    scores = chances_of_truth(case, rng)
    more = {"precision_at_half": _precision_at_half(scores, case.is_true_edge)}
    return [auc_result(NAME, scores, case.is_true_edge, figures=more)]


def chances_of_truth(
    case: Case, rng: np.random.Generator, more: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the chance that each of `released.edges` is true, learned by folds.

    `more`, shape (edges, features), is what is known of each edge besides; `rng` draws its folds.
    Without it attacks share the chances of a case, so nothing is drawn of `rng`.
    """
    if more is not None:
        features = np.column_stack((tie_features(case.released), more))
        return judged(features, case.is_true_edge, rng)
    if NAME not in case.shared:
        folds = np.random.default_rng(0)
        case.shared[NAME] = judged(tie_features(case.released), case.is_true_edge, folds)
    return case.shared[NAME]


def tie_features(graph: AttributedGraph) -> NDArray[np.float64]:
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
            alike_beside(graph, tuples),
            alike_beside(graph, values),
            agrees,
        )
    )


def _lift(graph: AttributedGraph, kinds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log of ties between each edge's kinds over their expectation."""
    if not graph.n_edges:
        return np.zeros(0)
    ends = np.sort(kinds[graph.edges], axis=1)
    n_kinds = int(kinds.max()) + 1
    pair = ranks(ends[:, 0] * n_kinds + ends[:, 1])
    stubs = np.bincount(kinds, weights=graph.degrees, minlength=n_kinds)
    expected = stubs[ends[:, 0]] * stubs[ends[:, 1]] / (2 * graph.n_edges)
    lift: NDArray[np.float64] = np.log(np.bincount(pair)[pair] / expected)
    return lift


def alike_beside(graph: AttributedGraph, kinds: NDArray[np.int64]) -> NDArray[np.float64]:
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


# Membership of vertices: which released vertices are people and which are inserted.
#
# kt-safety counts inserted vertices as candidates; where they stand out, fewer people than k are
# left, which `real_candidates` of the audit says without any attack.


def membership_of_vertices(
    case: Case, params: PrivacyParams, rng: np.random.Generator
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
    seen = _vertex_features(case.released)
    scores = judged(seen, is_real, rng)
    n_inserted = int((~is_real).sum())
    found = detected(case, params, scores, n_inserted, rng)
    by_size = area_under_curve(judged(seen[:, :1], is_real, rng), is_real)
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


def detected(
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


def _vertex_features(graph: AttributedGraph) -> NDArray[np.float64]:
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


# Membership of people: their presence in the network.
#
# The attacker knows a person and the person's friends in the network: their quasi-identifiers,
# their sensitive values, and how many ties they have there. It says "is a member" where some
# released vertex is near to that. Judged are members against people who were held out: of the same
# population, taken out of the network before it was released.
#
# Source: the membership disclosure of El Emam, Mosquera and Fang, "Validating a membership
# disclosure metric for synthetic health data" (JAMIA Open 2022), whose naive guess says that
# everybody is one.


OF_PEOPLE = "membership_of_people"
Numbers = NDArray[np.int64]


def membership_of_people(case: Case, rng: np.random.Generator) -> list[Result]:
    """Return how well members are told from people held out of it.

    Parameters
    ----------
    case:
        A release of a network without `held_out`, and the truth with them. Asked about are the
        people who were held out, if their tuple is shown, and as many targets.
    rng:
        Draws the targets, and the folds of `common.logistic`.

    Returns
    -------
    list of Result
        `membership_of_people.nearest`: AUC of the distance to the nearest vertex over the number of
        friends, by quasi-identifiers alone. `membership_of_people.learned`: AUC of a model that
        knows the distances by quasi-identifiers, by values and by degrees, judged by folds. Without
        the target: one that knows how many friends they have, and how many are of their kind.
        `figures`: `f1` of claims by the best threshold, which an attacker would have to know, and
        `f1_naive`, that of claiming it of everybody. Nothing where nobody was held out.
    """
    if case.held_out is None or not case.held_out.any():
        return []
    classes, others = case.tuples[1], np.flatnonzero(case.held_out)
    others = others[np.isin(case.published_tuple[others], classes)]
    asked = np.concatenate((rng.permutation(case.people)[: len(others)], others))
    is_member = ~case.held_out[asked]
    friends = neighbour_counts(case.original, np.zeros_like(case.published_tuple), 1, _inside(case))
    n_friends = friends.toarray()[:, 0]
    far = np.column_stack(
        [
            least_distances(known[asked], seen, case.published_tuple[asked], classes, n_bands)
            for (known, seen), n_bands in zip(*_rows(case, n_friends), strict=True)
        ]
    ).astype(np.float64)
    known_before = np.column_stack(
        (np.log1p(n_friends[asked]), np.log1p(np.bincount(classes)[case.published_tuple[asked]]))
    )
    relative = far / np.maximum(n_friends[asked], 1)[:, None]
    learned = judged(np.column_stack((known_before, far, relative)), is_member, rng)
    without = area_under_curve(judged(known_before, is_member, rng), is_member)
    return [
        auc_result(
            f"{OF_PEOPLE}.{name}",
            scores,
            is_member,
            figures=f1_of(scores, is_member),
            without_target=without,
        )
        for name, scores in (("nearest", -relative[:, 0]), ("learned", learned))
    ]


def _inside(case: Case) -> Numbers:
    """Return 0 for each of `original.indices` that is held out, else 1."""
    assert case.held_out is not None
    inside: Numbers = (~case.held_out[case.original.indices]).astype(np.int64)
    return inside


def _rows(case: Case, n_friends: Numbers) -> tuple[list[Rows], list[int]]:
    """Return known and shown rows in three ways, with their bands.

    By tuple, by tuple and value, and by tuple and degree in order, of `n_friends` of each person.
    """
    true, shown, size = case.tuples
    history = History.of(case)
    (true_valued,), (shown_valued,), n_valued = kinds_with_values(history)
    most = max(int(n_friends.max(initial=0)), int(case.released.degrees.max(initial=0)))
    begins = begins_of_bands(most, NARROW)
    true_banded = true * len(begins) + bands(n_friends, begins)
    shown_banded = shown * len(begins) + bands(case.released.degrees, begins)
    inside = _inside(case)

    def rows(true: Numbers, shown: Numbers, size: int) -> Rows:
        known = neighbour_counts(case.original, true, size, inside)
        return known, neighbour_counts(case.released, shown, size)

    in_order = rows(true_banded, shown_banded, size * len(begins))
    plain, valued = rows(true, shown, size), rows(true_valued, shown_valued, n_valued)
    return [plain, valued, in_order], [1, 1, len(begins)]


def f1_of(scores: NDArray[np.float64], is_member: NDArray[np.bool_]) -> dict[str, float]:
    """Return F1 of claims by the best threshold, and of claiming always."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(is_member[order])
    named = np.arange(1, len(scores) + 1)
    # A threshold does not part equal scores.
    is_last = np.append(np.diff(scores[order]) != 0, True)[: len(scores)]
    f1 = 2 * right / (named + is_member.sum())
    return {
        "f1": float(f1[is_last].max(initial=0.0)),
        "f1_naive": float(f1[-1]) if len(f1) else 0.0,
    }
