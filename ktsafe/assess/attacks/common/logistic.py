"""Logistic regression of learning attackers, with and without the target.

Cases with known truth are the lessons.

Constants may be tuned, towards attackers that learn more. Folds must keep a target out of its own
lessons, or figures are too high (tests/ktsafe/assess/attacks/test_without_target.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.propagation import adjacency

BINS = 10
FOLDS = 5
LESSONS_MAX = 20_000
"""Cases that are learned from; more are sampled down to it."""
ASKED_AT_ONCE = 1 << 14
"""Cases whose design, of some hundred columns, is in memory together."""
NEWTON_STEPS = 25
RIDGE = 1.0

Features = NDArray[np.float64]


def judged(
    features: Features, is_true: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return each case's chance of truth, by a model without its truth.

    Parameters
    ----------
    features:
        Shape (cases, features).
    is_true:
        Shape (cases,): the truth, used by folds: each fifth is judged by a model of the others.
    rng:
        Draws the folds and the sample.
    """
    fold = rng.permutation(len(features)) % FOLDS
    chances = np.zeros(len(features))
    for i in range(FOLDS):
        rest = fold != i
        chances[~rest] = learned(features[rest], is_true[rest], features[~rest], rng)
    return chances


def learned(
    taught: Features, is_true: NDArray[np.bool_], asked: Features, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return chances of the asked cases by a model of the taught."""
    if not len(taught):
        return np.full(len(asked), 0.5)
    if len(taught) > LESSONS_MAX:
        sample = rng.choice(len(taught), LESSONS_MAX, replace=False)
        taught, is_true = taught[sample], is_true[sample]
    scale = taught.std(axis=0)
    borders = np.quantile(taught, np.arange(1, BINS) / BINS, axis=0)
    reference = taught.mean(axis=0), np.where(scale > 0, scale, 1.0), borders
    weights = _fitted(_design(taught, *reference), is_true.astype(np.float64))
    parts = np.split(asked, range(ASKED_AT_ONCE, len(asked), ASKED_AT_ONCE))
    return _logistic(np.concatenate([_design(each, *reference) @ weights for each in parts]))


def _design(
    features: Features,
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    borders: NDArray[np.float64],
) -> Features:
    """Return one, the standardised features, and between which borders each falls.

    `mean` and `scale` have shape (features,), `borders` (borders, features), ascending.
    """
    columns = [np.ones((len(features), 1)), (features - mean) / scale]
    for j in range(features.shape[1]):
        distinct = np.unique(borders[:, j])
        place = np.searchsorted(distinct, features[:, j], "right")
        columns.append(np.eye(len(distinct) + 1)[place])
    return np.hstack(columns)


def _fitted(design: Features, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of greatest penalised likelihood, by Newton's method."""
    penalty = np.full(design.shape[1], RIDGE)
    penalty[0] = 1e-6  # the first column is the constant, which is not shrunk
    weights = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        chances = _logistic(design @ weights)
        slope = design.T @ (chances - truth) + penalty * weights
        # A product with its own transpose: numpy computes one half and mirrors it.
        rooted = design * np.sqrt(chances * (1 - chances))[:, None]
        curvature = rooted.T @ rooted + np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def _logistic(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    chances: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    return chances


# The best predictor without the target: claims about people in no release.
#
# People are alike: who knows what a person's friends have can say something of the person. A claim
# by a release says more only as far as it beats that.


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
        chances[fold == i] = learned(features[taught], is_sensitive[taught], features[asked], rng)
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
