"""What people do with a network: guess a missing tie, or a missing label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

SPREAD = 0.9
"""Share of a vertex's belief that comes from its neighbours."""

ROUNDS = 50


def tie_auc(
    edges: NDArray[Any], n: int, held_out: NDArray[np.int64], strangers: NDArray[np.int64]
) -> float:
    """Return how often a true tie scores above a pair of strangers, ties counting a half.

    The score is that of Adamic and Adar: common neighbours, rare ones for more.

    Parameters
    ----------
    edges:
        int, shape (m, 2): what is published.
    n:
        Number of vertices.
    held_out, strangers:
        int64, shape (x, 2): true ties and pairs without a tie, by vertices as published; a pair
        with a vertex that is not published (-1) scores 0.
    """
    matrix = _matrix(edges, n)
    degrees = matrix.sum(axis=0)
    weight = np.where(degrees > 1, 1 / np.log(np.maximum(degrees, 2)), 0.0)
    scaled = (matrix * weight[None, :]).tocsr()
    scores = []
    for pairs in (held_out, strangers):
        is_there = (pairs >= 0).all(axis=1)
        score = np.zeros(len(pairs))
        u, v = pairs[is_there].T
        score[is_there] = np.asarray((scaled[u] * matrix[v]).sum(axis=1)).reshape(-1)
        scores.append(score)
    of_ties, of_strangers = scores
    ordered = np.sort(of_strangers)
    below = np.searchsorted(ordered, of_ties, side="left")
    upto = np.searchsorted(ordered, of_ties, side="right")
    return float((below + upto).mean() / (2 * len(of_strangers)))


def label_accuracy(
    edges: NDArray[Any], labels: NDArray[np.int64], known: NDArray[np.bool_]
) -> float:
    """Return the share of unknown labels that label spreading finds.

    Source: Zhou, Bousquet, Lal, Weston, Schoelkopf, Learning with Local and Global Consistency,
    NIPS 2003.

    Parameters
    ----------
    edges:
        int, shape (m, 2): what is published.
    labels:
        int64, shape (n,): the true label of each published vertex, -1 for a vertex without one.
    known:
        bool, shape (n,): whose label is known beforehand.
    """
    matrix = _matrix(edges, len(labels))
    scale = 1 / np.sqrt(np.maximum(matrix.sum(axis=0), 1))
    smooth = (matrix * scale[None, :] * scale[:, None]).tocsr()
    seeds = np.zeros((len(labels), int(labels.max()) + 1))
    seeds[np.flatnonzero(known), labels[known]] = 1
    belief = seeds
    for _ in range(ROUNDS):
        belief = SPREAD * (smooth @ belief) + (1 - SPREAD) * seeds
    asked = ~known & (labels >= 0)
    return float((belief[asked].argmax(axis=1) == labels[asked]).mean())


def _matrix(edges: NDArray[Any], n: int) -> csr_array:
    ends = np.concatenate((edges, edges[:, ::-1])).T
    return csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
