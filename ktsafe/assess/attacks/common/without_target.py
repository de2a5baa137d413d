"""The best predictor without the target: claims about people in no release.

People are alike: who knows what a person's friends have can say something of the person. A claim
by a release says more only as far as it beats that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import adjacency
from ktsafe.assess.attacks.common.logistic import FOLDS, judged


def sensitive_without(
    case: Case, vertices: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return true vertices' chances to be sensitive, without any release.

    A model knows the share of sensitive ones among people of the person's quasi-identifiers, the
    share among the person's friends, and how many friends there are. By folds: of the other people
    one half tells the shares, and the model learns from the other half. A share from which only
    the person itself were left out would tell the person: it is the less if the person is one.
    """
    is_sensitive, tuples, degrees = (
        case.original.is_sensitive,
        case.tuples[0],
        case.original.degrees,
    )
    beside = (adjacency(case.original) @ is_sensitive.astype(np.float64)) / np.maximum(degrees, 1)
    known = np.column_stack((beside, np.log1p(degrees)))
    fold = rng.permutation(len(vertices)) % FOLDS
    chances = np.zeros(len(vertices))
    for i in range(FOLDS):
        asked, rest = vertices[fold == i], rng.permutation(vertices[fold != i])
        counted, taught = rest[::2], rest[1::2]
        size = case.tuples[2]
        overall = is_sensitive[counted].mean() if len(counted) else 0.0
        found = np.bincount(tuples[counted], weights=is_sensitive[counted], minlength=size)
        share = (found + overall) / (np.bincount(tuples[counted], minlength=size) + 1)
        features = np.column_stack((share[tuples], known))
        lessons = features[taught], is_sensitive[taught]
        chances[fold == i] = judged(features[asked], is_sensitive[asked], rng, lessons)
    return chances


def right_of_highest(scores: NDArray[np.float64], truth: NDArray[np.bool_], count: int) -> float:
    """Return the share of truth among so many of the highest scores.

    Equal ones share places.

    Examples
    --------
    >>> right_of_highest(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]), 2)
    0.75
    """
    if not count:
        return 0.0
    mark = np.sort(scores)[::-1][count - 1]
    above, at = scores > mark, scores == mark
    right = truth[above].sum() + truth[at].mean() * (count - above.sum())
    return float(right / count)
