"""The kernel of enumerated windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.kernels.compiler import kernel


@kernel
def similar_members(
    atom: int,
    members: NDArray[np.int64],
    groups: NDArray[np.int64],
    first_row: NDArray[np.int64],
    similar: Rows,
) -> NDArray[np.bool_]:
    """Return whether members are similar to `atom`, (releases, members).

    Parameters
    ----------
    groups:
        int64, shape (releases, atoms): the group of each atom, -1 where it is absent.
    first_row:
        For each release the row of its group 0 in `similar`, which holds all releases' groups.
    """
    found = np.zeros((groups.shape[0], members.shape[0]), dtype=np.bool_)
    for i in range(groups.shape[0]):
        own = groups[i, atom]
        if own < 0:
            for x in range(members.shape[0]):
                found[i, x] = groups[i, members[x]] < 0
            continue
        begin = similar.pointer[first_row[i] + own]
        row = similar.member[begin : similar.pointer[first_row[i] + own + 1]]
        for x in range(members.shape[0]):
            other = groups[i, members[x]]
            if other >= 0:
                place = np.searchsorted(row, other)
                found[i, x] = place < row.shape[0] and row[place] == other
    return found
