"""The edges a pair of classes can show, and steps towards them.

Constants may be tuned. The number of ends stays right in expectation, and possible for whole
cohorts (tests/ktsafe/anonymization/test_aims.py draws sizes and totals).

All members of a cohort have equally many edges, and both sides of a pair have equally many ends: a
pair shows a number of edges that whole cohorts of both sides can have. If a total is wanted, one of
the nearest such numbers below and above it is drawn: it is right in expectation. Where there are
fewer ties than a cohort has members, this decides whether some cohorts carry them, or none does.

    strides: the cohorts that promise most for each end take a step each, until few ends are off
    the steps of all cohorts at once that reach the number and lose least     (dynamic program)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization import _steps_core
from ktsafe.anonymization._pair_core import PairSearch

OFF = 50
"""Ends that may lack before cohorts take strides: five cohorts of ten. With 10 or
200 F1 of fb-reed98 and cora stays within .001."""

TRIED = 100
"""Cohorts whose steps are tried for the last ends; all of them if these cannot make up for them.
With 25 or 400 F1 stays within .001."""

REACHES = ((2, 100), (4, 400), (12, 2000))
"""Steps of a cohort and greatest sums that are considered for the last ends, in turn: few first,
since the work grows with their product."""


def drawn_ends(wanted: float, sides: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> int:
    """Return how many ends each side gets.

    A number that it can have, in expectation as wanted.

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
    """Return which numbers up to a limit are sums of the sizes.

    Bit i says it of i.
    """
    bits, all_ = 1, (1 << (limit + 1)) - 1
    for size in np.unique(sizes).tolist():
        step = size
        while step <= limit:
            bits |= (bits << step) & all_
            step *= 2
    return bits


def reach_ends(
    matching: PairSearch,
    weight: NDArray[np.int64],
    cohorts: NDArray[np.int64],
    ends: int,
    rng: np.random.Generator,
) -> bool:
    """Raise or lower cohorts until they have so many ends.

    Return whether that is done.

    Parameters
    ----------
    matching:
        The search, which is changed.
    weight:
        int64, shape (cohorts,): ends that a step of each cohort of the pair counts; below 0 if a
        further one shall count against those of others.
    cohorts:
        int64: those that may change.
    ends:
        The sum of the ends that they shall have.
    rng:
        Draws among cohorts that promise as much.
    """
    few = _some(cohorts, weight)
    off = _stride(matching, weight, cohorts, ends, rng)
    for some in (few,) if len(few) == len(cohorts) else (few, cohorts):
        for reach, span in REACHES:
            if off == 0:
                return True
            if abs(off) > span:
                continue
            change = _steps_core.try_steps(matching, some, reach)
            steps = _steps_core.choose_steps(change, weight[some], off, span)
            if steps.max() <= reach:
                _steps_core.take_steps(matching, some, steps)
                off = 0
    return off == 0


def make_even(matching: PairSearch, sizes: NDArray[np.int64]) -> None:
    """Make a single class's ends even, by one step of a cohort."""
    if (sizes * matching.cohorts["degree"][:-1]).sum() % 2:
        odd = _some(np.flatnonzero(sizes % 2), sizes)
        change = _steps_core.try_steps(matching, odd, 1)
        change[:, 1] = -np.inf
        i, step = np.unravel_index(np.argmax(change), change.shape)
        _steps_core.take_steps(matching, odd[i : i + 1], np.array([step - 1]))


def _stride(
    matching: PairSearch,
    weight: NDArray[np.int64],
    cohorts: NDArray[np.int64],
    ends: int,
    rng: np.random.Generator,
) -> int:
    """Take the most promising steps until few ends lack; return their number."""
    size, sign = np.abs(weight[cohorts]), np.sign(weight[cohorts])
    off = ends - int((weight[cohorts] * matching.cohorts["degree"][cohorts]).sum())
    while abs(off) > OFF:
        step = sign if off > 0 else -sign
        change = _steps_core.hoped_for(matching, cohorts)
        hoped = np.where(step > 0, *change.T[::-1]) / size
        can_step = np.isfinite(hoped) & (size <= abs(off))
        if not can_step.any():
            break
        best = np.lexsort((rng.random(len(cohorts)), -hoped, ~can_step))[: can_step.sum()]
        best = best[: int(np.searchsorted(np.cumsum(size[best]), abs(off), "right"))]
        _steps_core.take_steps(matching, cohorts[best], step[best])
        off = ends - int((weight[cohorts] * matching.cohorts["degree"][cohorts]).sum())
    return off


def _some(cohorts: NDArray[np.int64], weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most `TRIED` of the cohorts.

    Those of the rarest sizes, and others.
    """
    if len(cohorts) <= TRIED:
        return cohorts
    # Where nearly all sizes are multiples of ten, only the others can balance the rest.
    _, kind, count = np.unique(weight[cohorts], return_inverse=True, return_counts=True)
    by_rarity = cohorts[np.argsort(count[kind], kind="stable")]
    half = TRIED // 2
    others = np.linspace(half, len(cohorts) - 1, TRIED - half).astype(np.int64)
    return np.concatenate((by_rarity[:half], by_rarity[others]))
