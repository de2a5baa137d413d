"""The latest graph of a sequence: where a pair of classes shows no edge, what it showed last.

A pair of classes is *dark* in a release if both classes have vertices and no edge joins them. Such
a pair is not shown; it does not follow that there are no ties. All of this is known to every reader
of the releases.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

PAIRS_MAX: Final = 10_000
"""Dark pairs that are listed; where there are more, most pairs of classes are dark."""


def dark_pairs(
    classes: NDArray[np.int64], edges: NDArray[np.int64], limit: int = PAIRS_MAX
) -> NDArray[np.int64] | None:
    """Return the pairs of classes that have vertices on both sides and no edge.

    Parameters
    ----------
    classes:
        int64, shape (n,): the class of every vertex, numbered from 0.
    edges:
        int64, shape (m, 2): positions of vertices.
    limit:
        How many pairs are listed at most.

    Returns
    -------
    NDArray or None
        int64, shape (x, 2): pairs (a, b) with a <= b, in ascending order; None if there are more
        than `limit`. A class of one vertex is no pair with itself.

    Examples
    --------
    >>> classes, edges = np.array([0, 0, 1, 1]), np.array([[0, 1], [0, 2]])
    >>> dark_pairs(classes, edges).tolist()
    [[1, 1]]
    """
    sizes = np.bincount(classes)
    there = np.flatnonzero(sizes)
    shown = np.unique(_pairs_of(classes, edges))
    n_pairs = len(there) * (len(there) - 1) // 2 + int((sizes > 1).sum())
    if n_pairs - len(shown) > limit:
        return None
    low, high = np.triu_indices(len(there))
    pairs = np.column_stack((there[low], there[high]))
    possible = (pairs[:, 0] != pairs[:, 1]) | (sizes[pairs[:, 0]] > 1)
    is_dark = possible & ~np.isin(pairs[:, 0] * len(sizes) + pairs[:, 1], shown)
    dark: NDArray[np.int64] = pairs[is_dark].astype(np.int64)
    return dark


def of_dark_pairs(
    classes: NDArray[np.int64], edges: NDArray[np.integer[Any]], former: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which former edges belong to dark pairs of a release: it shows no edge of their pair.

    The latest graph of a release has its own edges, and those of the latest graph before it that
    belong to dark pairs. So every dark pair has the edges of its last showing.

    Parameters
    ----------
    classes, edges:
        See `dark_pairs`.
    former:
        int64, shape (x, 2): former edges, as positions of vertices of this release.

    Returns
    -------
    NDArray
        bool, shape (x,).

    Examples
    --------
    >>> classes = np.array([0, 0, 1, 1])
    >>> of_dark_pairs(classes, np.array([[0, 1]]), np.array([[0, 1], [0, 2], [1, 3]])).tolist()
    [False, True, True]
    """
    is_dark: NDArray[np.bool_] = ~np.isin(_pairs_of(classes, former), _pairs_of(classes, edges))
    return is_dark


def _pairs_of(classes: NDArray[np.int64], edges: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return a number for the pair of classes of every edge."""
    # A sixth of the time that `np.sort` takes for pairs. Looked up in few bytes, which stay near.
    narrow = classes.astype(np.int32)
    first, second = narrow[edges[:, 0]], narrow[edges[:, 1]]
    low, high = np.minimum(first, second), np.maximum(first, second)
    n_classes = int(classes.max(initial=0)) + 1
    numbers: NDArray[np.int64] = np.multiply(low, n_classes, dtype=np.int64) + high
    return numbers
