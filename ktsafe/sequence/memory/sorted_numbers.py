"""Sets of numbers as arrays. They are sorted: numpy hashes, which takes ten times as long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def among(values: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values, all at least 0, are among others."""
    ordered = np.append(np.sort(others), -1)
    found: NDArray[np.bool_] = ordered[np.searchsorted(ordered[:-1], values)] == values
    return found


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each of some values, all at least 0, once, ascending."""
    ordered = np.sort(values, axis=None)
    once: NDArray[np.int64] = ordered[np.diff(ordered, prepend=-1) != 0]
    return once
