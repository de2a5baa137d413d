"""Totals of a pair of classes: how many edges it can show, and the steps towards that.

All members of a cohort have equally many edges, so a pair shows a number of them which whole
cohorts of both sides can have. Between the nearest such numbers below and above what is wanted one
is drawn: it is right in expectation. Where there are fewer ties than a cohort has members, this
decides whether some cohorts carry them, or none does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact import _pair_core as core

REACHES = ((1, 100), (2, 400), (6, 2000), (40, 4000))
"""Steps of a cohort and greatest sums that are considered for the last ends, tried in turn."""

STRIDES_MAX = 1000
"""Times that the best cohorts take a step each, before the last ends."""


def drawn_ends(wanted: float, sides: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> int:
    """Return how many ends each side gets: a number that it can have, in expectation as wanted.

    Parameters
    ----------
    wanted:
        Ends of each side, at least 0. A single side has both ends of each of its edges.
    sides:
        Sizes of the cohorts of each side.
    rng:
        Draws one of the two nearest numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sides = [np.array([10, 10]), np.array([10, 11])]
    >>> sorted({drawn_ends(3.0, sides, rng) for _ in range(100)})
    [0, 10]
    """
    least = math.lcm(*(int(sizes.min()) for sizes in sides))
    limit = int(wanted) + 1 + 2 * least
    possible = (1 << (limit + 1)) - 1
    for sizes in sides:
        possible &= _sums(sizes, limit)
    if len(sides) == 1:
        possible &= _sums(np.array([2]), limit)
    below = possible & ((1 << (int(wanted) + 1)) - 1)
    low = below.bit_length() - 1
    above = possible ^ below
    high = (above & -above).bit_length() - 1
    return high if rng.random() * (high - low) < wanted - low else low


def _sums(sizes: NDArray[np.int64], limit: int) -> int:
    """Return which numbers up to a limit are sums of the sizes: bit i says it of i."""
    bits, all_ = 1, (1 << (limit + 1)) - 1
    for size in np.unique(sizes).tolist():
        step = size
        while step <= limit:
            bits |= (bits << step) & all_
            step *= 2
    return bits


def reach_ends(
    matching: core.MatchingState,
    sizes: NDArray[np.int64],
    side: NDArray[np.int64],
    ends: int,
    rng: np.random.Generator,
    nodes_max: int,
) -> bool:
    """Raise or lower cohorts of a side until they have so many ends; return whether that is done.

    Parameters
    ----------
    matching:
        The search, which is changed.
    sizes:
        Members of each cohort of the board.
    side:
        The cohorts of the side.
    ends:
        How many ends they shall have.
    rng:
        Draws among cohorts that promise as much.
    nodes_max:
        Vertices that a search for an alternating path may reach.
    """
    for reach, span in REACHES:
        off = _stride(matching, sizes, side, ends, rng, span // 2, nodes_max)
        if off == 0:
            return True
        mixed = rng.permutation(side)
        change = core.hoped_for(matching, mixed, reach)
        steps = core.choose_steps(change, sizes[mixed], off, span)
        if steps.max() <= reach:
            core.take_steps(matching, mixed, steps, nodes_max)
            return True
    return False


def _stride(
    matching: core.MatchingState,
    sizes: NDArray[np.int64],
    side: NDArray[np.int64],
    ends: int,
    rng: np.random.Generator,
    near: int,
    nodes_max: int,
) -> int:
    """Take the steps that promise most for each end until few are lacking; return how many are."""
    off = ends - int((sizes[side] * matching.degree[side]).sum())
    for _ in range(STRIDES_MAX):
        if abs(off) <= near:
            break
        sign = 1 if off > 0 else -1
        change = core.hoped_for(matching, side, 1)[:, 1 + sign] / sizes[side]
        best = side[np.lexsort((rng.random(len(side)), -change))]
        best = best[: np.isfinite(change).sum()]
        taken = best[: max(1, int(np.searchsorted(np.cumsum(sizes[best]), abs(off), "right")))]
        core.take_steps(matching, taken, np.full(len(taken), sign), nodes_max)
        off = ends - int((sizes[side] * matching.degree[side]).sum())
    return off
