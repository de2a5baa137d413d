"""Membership of people: their presence in the network.

The attacker knows a person and the person's friends in the network: their quasi-identifiers, their
sensitive values, and how many ties they have there. It says "is a member" where some released
vertex is near to that. Judged are members against people who were held out: of the same
population, taken out of the network before it was released.

Source: the membership disclosure of El Emam, Mosquera and Fang, "Validating a membership disclosure
metric for synthetic health data" (JAMIA Open 2022), whose naive guess says that everybody is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.history import History
from ktsafe.assess.attacks.common.logistic import judged
from ktsafe.assess.attacks.common.nearest import least_distances, neighbour_counts
from ktsafe.assess.attacks.common.result import Result, area_under_curve, auc_result
from ktsafe.assess.attacks.friends import (
    NARROW,
    bands,
    begins_of_bands,
    from_each_on,
    kinds_with_values,
)
from ktsafe.assess.attacks.neighbourhoods import Rows

NAME = "membership_of_people"
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
            least_distances(known[asked], seen, case.published_tuple[asked], classes)
            for known, seen in _rows(case, n_friends)
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
            f"{NAME}.{name}",
            scores,
            is_member,
            figures=_f1(scores, is_member),
            without_target=without,
        )
        for name, scores in (("nearest", -relative[:, 0]), ("learned", learned))
    ]


def _inside(case: Case) -> Numbers:
    """Return 0 for each of `original.indices` that is held out, else 1."""
    assert case.held_out is not None
    inside: Numbers = (~case.held_out[case.original.indices]).astype(np.int64)
    return inside


def _rows(case: Case, n_friends: Numbers) -> list[Rows]:
    """Return known rows of friends and shown rows, in three ways.

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

    known, seen = rows(true_banded, shown_banded, size * len(begins))
    in_order = from_each_on(known, len(begins)), from_each_on(seen, len(begins))
    return [rows(true, shown, size), rows(true_valued, shown_valued, n_valued), in_order]


def _f1(scores: NDArray[np.float64], is_member: NDArray[np.bool_]) -> dict[str, float]:
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
