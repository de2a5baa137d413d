"""Cells of a square matrix as ties."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.inputs.network import distinct

PEOPLE_MAX: Final = 2**25
"""People that a file may have by its number alone, so that a wrong number does not fill memory."""


def is_mirrored(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> bool:
    """Whether each cell is there in either direction.

    Examples
    --------
    >>> is_mirrored(np.array([0, 1]), np.array([1, 0])), is_mirrored(np.array([0]), np.array([1]))
    (True, False)
    """
    cells = distinct(np.column_stack((rows, columns)))
    return np.array_equal(cells, distinct(cells[:, ::-1]))
