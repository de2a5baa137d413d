"""The true person of each released vertex.

Measures that need the true graph take it from here.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import n_common_edges, renumbered


@dataclasses.dataclass(frozen=True, eq=False)
class Traced:
    """A release beside the true graph, with the mapping between them.

    `trace` makes one.

    Attributes
    ----------
    original, released:
        The true graph and the released one, of one schema.
    behind:
        int64, shape (released vertices,): the true vertex behind each, -1 for an inserted one; no
        true vertex is named twice.
    value_at:
        int64, shape (r,): for each of `real` the released vertex that shows its sensitive value.
    """

    original: AttributedGraph
    released: AttributedGraph
    behind: NDArray[np.int64]
    value_at: NDArray[np.int64]

    @functools.cached_property
    def real(self) -> NDArray[np.int64]:
        """int64, shape (r,): the released vertices that have an original, ascending."""
        return np.flatnonzero(self.behind >= 0)

    @functools.cached_property
    def n_shared_edges(self) -> int:
        """The number of released edges that are true."""
        shown = renumbered(self.behind.astype(np.int32), self.released.edges)
        return n_common_edges(self.original.edges, shown)


def trace(
    original: AttributedGraph,
    released: AttributedGraph,
    original_of: NDArray[np.integer[Any]] | None = None,
    value_at: NDArray[np.integer[Any]] | None = None,
) -> Traced:
    """Check the mapping of released vertices to originals, once for all figures.

    Parameters
    ----------
    original, released:
        The true graph and the released one.
    original_of:
        Integers, shape (released vertices,). None: the first vertices are the originals in order.
    value_at:
        Integers, shape (released vertices,): the vertex that shows the sensitive value of each.
        None: each shows its own.

    Raises
    ------
    InvalidGraph
        If the graphs have different schemas, `original_of` does not name each original at most
        once, or `value_at` not each vertex once.

    Examples
    --------
    >>> from ktsafe.graph.datasets import uniform
    >>> graph = uniform(100, 300, rng=np.random.default_rng(0), n_tuples=2)
    >>> traced = trace(graph, graph)
    >>> len(traced.real), traced.n_shared_edges
    (100, 300)
    """
    n, n_original = released.n_vertices, original.n_vertices
    if original.schema.attributes != released.schema.attributes:
        raise InvalidGraph("The true graph and the release have different schemas.")
    if original_of is None:
        if n < n_original:
            raise InvalidGraph("The release has fewer vertices than the true graph.")
        order = np.arange(n, dtype=np.int64)
        original_of = np.where(order < n_original, order, -1)
    behind = np.asarray(original_of, dtype=np.int64)
    named = behind[behind >= 0]
    if behind.shape != (n,) or (len(named) and named.max() >= n_original):
        raise InvalidGraph("The mapping does not fit the two graphs.")
    if len(named) and np.bincount(named).max() > 1:
        raise InvalidGraph("Two released vertices have the same original.")
    at = np.arange(n) if value_at is None else np.asarray(value_at, dtype=np.int64)
    if not np.array_equal(np.sort(at), np.arange(n)):
        raise InvalidGraph("Values do not stand at each released vertex once.")
    return Traced(original, released, behind, at[behind >= 0])
