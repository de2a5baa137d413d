"""The kernel that turns inserted vertices sensitive as far as protection sets have room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.index._table_core import Rule, Table, _nobody_tips, shift
from ktsafe.kernels import kernel


@kernel
def turn(
    table: Table,
    rule: Rule,
    order: NDArray[np.int32],
    wanted: NDArray[np.int64],
    is_sensitive: NDArray[np.bool_],
) -> None:
    """Turn placed vertices sensitive, in the given order, until each class has what it wants.

    `wanted` (classes,) is used up. Every safe protection set stays within alpha; counts are exact.
    """
    for v in order:
        at = table.of_vertex[v]
        c = table.cls[at]
        if wanted[c] > 0 and _nobody_tips(table, rule, at, 0, 1):
            shift(table, rule, at, 0, 1)
            is_sensitive[v] = True
            wanted[c] -= 1
