"""Perfect matchings that avoid the edges which are there already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

TRIES_MAX = 60
NEAR_MAX = 8


def paired(
    adjacent: Sequence[dict[int, int]],
    left: list[int],
    right: list[int],
    rng: np.random.Generator,
) -> list[tuple[int, int]] | None:
    """Match every place of `left` with one of `right` that it has no edge to, in order if possible.

    Returns None where random exchanges find none; `left` and `right` may not overlap.
    """
    partner = list(right)
    n = len(left)
    for i in range(n):
        if not _clash(adjacent, left[i], partner[i]):
            continue
        for j in _candidates(n, i, rng):
            if (
                j != i
                and not _clash(adjacent, left[i], partner[j])
                and not _clash(adjacent, left[j], partner[i])
            ):
                partner[i], partner[j] = partner[j], partner[i]
                break
        else:
            return None
    return list(zip(left, partner, strict=True))


def _candidates(n: int, i: int, rng: np.random.Generator) -> list[int]:
    """Return positions to exchange i with: near ones first, then random ones."""
    near = [j for d in range(1, NEAR_MAX + 1) for j in (i - d, i + d) if 0 <= j < n]
    return near + [int(j) for j in rng.integers(0, n, TRIES_MAX)]


def _clash(adjacent: Sequence[dict[int, int]], u: int, v: int) -> bool:
    return u == v or v in adjacent[u]
