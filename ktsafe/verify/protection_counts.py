"""A checked graph, and the counts of its protection sets: what judges take and return."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class Coded:
    """A checked graph as `ktsafe.verify` codes it.

    Attributes
    ----------
    columns:
        int32, shape (n, q): the number of each attribute value, numbered through.
    offsets:
        int64, shape (q + 1,): attribute a has the columns offsets[a]..offsets[a + 1] - 1.
    classes:
        int64, shape (n,): class of equal quasi-identifiers.
    edges:
        int32, shape (m, 2): each edge once.
    flags:
        bool, shape (n, f).
    """

    columns: NDArray[np.int32]
    offsets: NDArray[np.int64]
    classes: NDArray[np.int64]
    edges: NDArray[np.int32]
    flags: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class ProtectionCounts:
    """The sizes of all protection sets.

    Attributes
    ----------
    certain, undecided:
        int64, shape (1 + f, n): members that are proven, and those whose edit distance stayed
        undecided; all of them, and those with each flag. None: nothing stayed undecided.
    undecided_pairs:
        Pairs of vertices whose edit distance stayed undecided.
    """

    certain: NDArray[np.int64]
    undecided: NDArray[np.int64] | None = None
    undecided_pairs: int = 0
