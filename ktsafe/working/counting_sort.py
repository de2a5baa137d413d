"""Positions sorted by a small number that each of them has, such as a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def counting_sorted(
    numbers: NDArray[np.integer], n_numbers: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the positions of each number start, and the positions themselves.

    Parameters
    ----------
    numbers:
        Integers in 0..n_numbers - 1, shape (n,).
    n_numbers:
        How many different numbers there may be.

    Returns
    -------
    start: int64, shape (n_numbers + 1,)
    members: int64, shape (n,)
        `members[start[b]:start[b + 1]]` are the positions that have number b, ascending.
    """
    start = np.zeros(n_numbers + 1, dtype=np.int64)
    np.cumsum(np.bincount(numbers, minlength=n_numbers), out=start[1:])
    return start, np.argsort(numbers, kind="stable")
