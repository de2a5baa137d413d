"""Logistic regression on features in steps: what an attacker learns from cases with known truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BINS = 10
FOLDS = 5
LESSONS_MAX = 20_000
"""Cases that are learned from; more are sampled down to it."""
NEWTON_STEPS = 25
RIDGE = 1.0

Features = NDArray[np.float64]


def judged(
    features: Features,
    is_true: NDArray[np.bool_],
    rng: np.random.Generator,
    lessons: tuple[Features, NDArray[np.bool_]] | None = None,
) -> NDArray[np.float64]:
    """Return the chance that each case is true, as a model judges that has not seen its truth.

    Parameters
    ----------
    features:
        Shape (cases, features).
    is_true:
        Shape (cases,): the truth, which is used only without `lessons`, and then by folds: each
        fifth is judged by a model of the other four.
    rng:
        Draws the folds and the sample.
    lessons:
        Features and truth of other cases, to learn from instead.
    """
    if lessons is not None:
        return _learned(*lessons, features, rng)
    fold = rng.permutation(len(features)) % FOLDS
    chances = np.zeros(len(features))
    for i in range(FOLDS):
        rest = fold != i
        chances[~rest] = _learned(features[rest], is_true[rest], features[~rest], rng)
    return chances


def _learned(
    taught: Features, is_true: NDArray[np.bool_], asked: Features, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the chances of the asked cases by a model of the taught ones."""
    if not len(taught):
        return np.full(len(asked), 0.5)
    if len(taught) > LESSONS_MAX:
        sample = rng.choice(len(taught), LESSONS_MAX, replace=False)
        taught, is_true = taught[sample], is_true[sample]
    weights = _fitted(_design(taught, taught), is_true.astype(np.float64))
    return _logistic(_design(asked, taught) @ weights)


def _design(features: Features, reference: Features) -> Features:
    """Return one, the standardised features, and which tenth of the reference each falls in."""
    scale = reference.std(axis=0)
    columns = [
        np.ones((len(features), 1)),
        (features - reference.mean(axis=0)) / np.where(scale > 0, scale, 1.0),
    ]
    for j in range(reference.shape[1]):
        borders = np.unique(np.quantile(reference[:, j], np.arange(1, BINS) / BINS))
        columns.append(np.eye(len(borders) + 1)[np.searchsorted(borders, features[:, j], "right")])
    return np.hstack(columns)


def _fitted(design: Features, truth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of greatest penalised likelihood, by Newton's method."""
    penalty = np.full(design.shape[1], RIDGE)
    penalty[0] = 1e-6  # the first column is the constant, which is not shrunk
    weights = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        chances = _logistic(design @ weights)
        slope = design.T @ (chances - truth) + penalty * weights
        curvature = (design * (chances * (1 - chances))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


def _logistic(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    chances: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    return chances
