"""The latest graph of a sequence.

A pair of classes without an edge has the edges that it showed last.

A pair of classes is *dark* in a release if both classes have vertices and no edge joins them. Such
a pair is not shown; it does not follow that there are no ties. All of this is known to every reader
of the releases.

How it is computed may be changed (tests/ktsafe/graph/test_latest_graph.py searches plainly).
`PAIRS_MAX` may not: manifests list dark pairs up to it, and readers refuse other lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

PAIRS_MAX: Final = 10_000
"""Dark pairs that are listed; where there are more, most pairs of classes are dark."""

EDGES_AT_ONCE: Final = 1_000_000


def dark_pairs(
    classes: NDArray[np.int64], edges: NDArray[np.integer[Any]], limit: int = PAIRS_MAX
) -> NDArray[np.int64] | None:
    """Return the pairs of populated classes without any edge.

    Parameters
    ----------
    classes:
        int64, shape (n,): the class of every vertex, numbered from 0.
    edges:
        Integers, shape (m, 2): positions of vertices.
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
    shown = _shown_pairs(classes, edges)
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
    classes: NDArray[np.int64], edges: NDArray[np.integer[Any]], former: NDArray[np.integer[Any]]
) -> NDArray[np.bool_]:
    """Return which former edges belong to dark pairs of a release.

    It shows no edge of their pair.

    The latest graph of a release has its own edges, and those of the latest graph before it that
    belong to dark pairs. So every dark pair has the edges of its last showing.

    Parameters
    ----------
    classes, edges:
        See `dark_pairs`.
    former:
        Integers, shape (x, 2): former edges, as positions of vertices of this release.

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
    is_dark = np.empty(len(former), dtype=np.bool_)
    shown = _shown_pairs(classes, edges)
    for here, numbers in _pairs_of(classes, former):
        is_dark[here] = ~np.isin(numbers, shown)
    return is_dark


def _shown_pairs(classes: NDArray[np.int64], edges: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the numbers of the pairs of classes that edges join, ascending."""
    n_pairs = (int(classes.max(initial=0)) + 1) ** 2
    if n_pairs > len(edges) + PAIRS_MAX:
        shown = [np.unique(numbers) for _, numbers in _pairs_of(classes, edges)]
        return np.unique(np.concatenate((np.zeros(0, dtype=np.int64), *shown)))
    # A table beats looking for the distinct ones of a million.
    is_shown = np.zeros(n_pairs, dtype=np.bool_)
    for _, numbers in _pairs_of(classes, edges):
        is_shown[numbers] = True
    return np.flatnonzero(is_shown)


def _pairs_of(
    classes: NDArray[np.int64], edges: NDArray[np.integer[Any]]
) -> Iterator[tuple[slice, NDArray[np.integer[Any]]]]:
    """Yield slices of edges, with the number of each edge's class pair."""
    n_classes = int(classes.max(initial=0)) + 1
    # Few bytes stay near, and a sixth of the time of `np.sort` is enough for pairs.
    kind = np.int32 if n_classes**2 < 2**31 else np.int64
    narrow = classes.astype(kind)
    for first in range(0, len(edges), EDGES_AT_ONCE):
        here = slice(first, first + EDGES_AT_ONCE)
        one, other = narrow[edges[here, 0]], narrow[edges[here, 1]]
        yield here, np.minimum(one, other) * kind(n_classes) + np.maximum(one, other)
