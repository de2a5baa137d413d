"""Values of an edge that is given several times, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.columns.shared_values import Value, typed

WEIGHT = "weight"
"""The column that, where edges have none, is how many times each is given."""


def combined(column: Sequence[object], group: NDArray[np.int64], n_groups: int) -> list[Value]:
    """Return a value for each edge: the sum of its numbers, or the first text; None without any.

    Parameters
    ----------
    column:
        A value for each time that an edge is given.
    group:
        Which edge that is; -1: none that counts.
    n_groups:
        Number of edges.

    Examples
    --------
    >>> combined([1, 2, 5], np.array([0, 1, 0]), 2), combined(["a", "b"], np.array([0, 0]), 1)
    ([6, 2], ['a'])
    """
    found: list[Value] = [None] * n_groups
    for value, edge in zip(typed(column), group.tolist(), strict=True):
        if value is None or edge < 0:
            continue
        before = found[edge]
        if before is None:
            found[edge] = value
        elif not isinstance(value, str) and not isinstance(before, str):
            found[edge] = before + value
    return found
