"""Kernel that looks for the vertices nearest to known counts.

It may be made faster; tests/ktsafe/assess/attacks/test_one_hop.py counts all distances literally.
Ties between distances must stay exact: whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

Counts = NDArray[np.int32]
Numbers = NDArray[np.int64]


@kernel
def compare(
    known: Counts,
    own: Counts,
    shown: Counts,
    known_kinds: Counts,
    shown_kinds: Counts,
    held: NDArray[np.float64],
    n_bands: int,
    weighting: tuple[int, int],
    found: tuple[NDArray[Any], NDArray[Any], Numbers, NDArray[Any]],
) -> None:
    """Add up what candidates hold that are no farther than one known.

    Two rows overlap by the sums of their lesser counts, and by no more than they do kind by kind:
    far fewer candidates are compared band by band.

    Parameters
    ----------
    known:
        Shape (rows, features): what is known.
    own:
        Shape (rows, features): the candidate that each row is asked up to.
    shown:
        Shape (candidates, features).
    known_kinds, shown_kinds:
        The sums of each kind's numbers in each band or above, shapes (rows, kinds) and
        (kinds, candidates).
    held:
        Shape (candidates, c): what is added up.
    n_bands:
        Features of a kind.
    weighting:
        What a missing neighbour weighs, and one too many.
    found:
        Of each row the sums of what is nearer than `own` and of what is as near, the least
        distance, and the sums there. The least is to begin above any distance.
    """
    nearer, tied, least, nearest = found
    missing, surplus = weighting
    n_candidates = len(shown)
    sums = np.zeros(n_candidates, dtype=np.int32)
    for kind in shown_kinds:
        sums += kind
    overlaps = np.empty_like(sums)
    for row in range(len(known)):
        size = known_kinds[row].sum()
        own_size = _overlap(own, row, own, row, n_bands)
        overlap = _overlap(known, row, own, row, n_bands)
        mark = missing * (size - overlap) + surplus * (own_size - overlap)
        overlaps[:] = 0
        for kind in np.flatnonzero(known_kinds[row]):
            count = known_kinds[row, kind]
            for c in range(n_candidates):
                overlaps[c] += min(count, shown_kinds[kind, c])
        for c in range(n_candidates):
            apart = missing * size + surplus * np.int64(sums[c])
            distance = apart - (missing + surplus) * np.int64(overlaps[c])
            if distance <= mark and n_bands > 1:
                overlap = _overlap(known, row, shown, c, n_bands)
                distance = apart - (missing + surplus) * overlap
            if distance > mark:
                continue
            if distance < least[row]:
                least[row] = distance
                nearest[row] = 0.0
            for k in range(held.shape[1]):
                if distance < mark:
                    nearer[row, k] += held[c, k]
                else:
                    tied[row, k] += held[c, k]
                if distance == least[row]:
                    nearest[row, k] += held[c, k]


@inner_kernel
def _overlap(first: Counts, i: int, second: Counts, j: int, n_bands: int) -> int:
    """Return the sum of lesser numbers in each band or above."""
    total = one = other = np.int64(0)
    for feature in range(first.shape[1] - 1, -1, -1):
        one += first[i, feature]
        other += second[j, feature]
        total += min(one, other)
        if feature % n_bands == 0:
            one = other = np.int64(0)
    return int(total)
