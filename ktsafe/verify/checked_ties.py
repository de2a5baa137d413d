"""The ties of a release, checked once for all that judge it.

They are made of what was read, and of nothing that a search for releases remembers.

What all judges derive of ties may be added, and checks; none may be dropped, since the auditor and
the verifier look no further (tests/ktsafe/verify/test_verifier.py gives what is no simple graph).
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.verify import _stars_core as core


@dataclasses.dataclass(frozen=True, eq=False)
class CheckedTies:
    """The edges of a simple graph; `of` checks that it is one.

    Attributes
    ----------
    n_vertices:
        Number of vertices n < 2**31.
    edges:
        int32, shape (m, 2): each edge once, in either direction.

    Examples
    --------
    >>> indptr, indices = CheckedTies.of(3, [(0, 1), (2, 0)]).adjacency
    >>> indptr.tolist(), indices.tolist()
    ([0, 2, 3, 4], [1, 2, 0, 0])
    """

    n_vertices: int
    edges: NDArray[np.int32]

    @classmethod
    def of(cls, n_vertices: int, edges: ArrayLike) -> Self:
        """Check edges, integers of shape (m, 2), between n vertices.

        Raises
        ------
        InvalidGraph
            If they do not describe a simple graph.
        """
        pairs = np.asarray(edges)
        if pairs.size == 0:
            return cls(n_vertices, np.zeros((0, 2), dtype=np.int32))
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
            raise InvalidGraph("The edges must be integers of shape (m, 2).")
        if int(pairs.min()) < 0 or int(pairs.max()) >= n_vertices:
            raise InvalidGraph("An edge names a vertex that does not exist.")
        narrow = np.ascontiguousarray(pairs, dtype=np.int32)
        low, high = np.minimum(*narrow.T), np.maximum(*narrow.T)
        if np.any(low == high):
            raise InvalidGraph("A vertex has an edge to itself.")
        keys = low.astype(np.int64) << 32 | high
        # Keys that ascend are distinct.
        if not np.all(keys[1:] > keys[:-1]):
            keys.sort()
            if np.any(keys[1:] == keys[:-1]):
                raise InvalidGraph("An edge is given twice.")
        return cls(n_vertices, narrow)

    @cached_property
    def adjacency(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where neighbours begin, int64, (n + 1,), and all neighbours, int32, (2m,)."""
        indptr, indices = core.adjacency(self.n_vertices, self.edges)
        return indptr, indices
