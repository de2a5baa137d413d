"""Who is behind each vertex of a release: for those who know the truth, and so may measure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph


def checked_original_of(
    original: AttributedGraph,
    released: AttributedGraph,
    original_of: NDArray[np.integer[Any]] | None,
) -> NDArray[np.int64]:
    """Return the true vertex behind each released one, -1 for an inserted one.

    Parameters
    ----------
    original, released:
        The true graph and the released one.
    original_of:
        Integers, shape (released vertices,). None: the first vertices are the originals in order.

    Raises
    ------
    InvalidGraph
        If the graphs have different schemas, or it does not name each original at most once.
    """
    n, n_original = released.n_vertices, original.n_vertices
    if original.schema.attributes != released.schema.attributes:
        raise InvalidGraph("The true graph and the release have different schemas.")
    if original_of is None:
        if n < n_original:
            raise InvalidGraph("The release has fewer vertices than the true graph.")
        order = np.arange(n, dtype=np.int64)
        return np.where(order < n_original, order, -1)
    behind = np.asarray(original_of, dtype=np.int64)
    named = behind[behind >= 0]
    if behind.shape != (n,) or (len(named) and named.max() >= n_original):
        raise InvalidGraph("The mapping does not fit the two graphs.")
    if len(named) and np.bincount(named).max() > 1:
        raise InvalidGraph("Two released vertices have the same original.")
    return behind


def shown_graph(
    original: AttributedGraph, released: AttributedGraph, behind: NDArray[np.int64]
) -> AttributedGraph:
    """Return the true edges among the released people, with the values that they show.

    Its vertices are the released ones that have an original, in order. It is what an attacker who
    knows the truth can compare with the release: ties to people who are withheld, and values that
    are suppressed, are nowhere to be found.
    """
    real = np.flatnonzero(behind >= 0)
    position = np.full(original.n_vertices, -1, dtype=np.int64)
    position[behind[real]] = np.arange(len(real))
    edges = position[original.edges]
    return AttributedGraph.from_codes(
        released.schema,
        released.categories,
        released.codes[real],
        edges[(edges >= 0).all(axis=1)],
    )
