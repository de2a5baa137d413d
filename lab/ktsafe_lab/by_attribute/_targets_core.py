"""Kernels that anneal cohort members' numbers of neighbours by class."""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

TRUE_TOTALS = 0.3
"""What a neighbour more or less of a class counts for, in all members of a cohort together, where
one of a value counts for 1 in each: members may divide them otherwise."""

TRUE_PAIRS = 0.3
"""The same for all members of a class together: what differs there no exchange brings back."""

TOO_MANY = 0.8
"""What a neighbour too many counts for, where one too few counts for 1: more ties find room."""

PLANS_MAX = 10
"""Plans that are tried to balance a pair of classes."""

NEVER = 1e18
"""What a step costs that is not possible."""

Steps = NDArray[np.int64]
"""int64, shape (steps, 3): a cohort, a class, and 1 for a neighbour more of it, -1 for one less."""


class Targets(NamedTuple):
    """Target numbers of cohort members' neighbours by class.

    Attributes
    ----------
    counts:
        int64, shape (n, columns): how many neighbours with each value a vertex has in truth.
    members, first:
        int64, shape (n,), and int64, shape (cohorts + 1,): the vertices of each cohort; cohorts of
        a class are numbered in a row.
    class_of, class_first:
        int64, shape (cohorts,), and int64, shape (classes + 1,): the cohorts of each class.
    columns:
        int64, shape (classes, attributes): the columns in which a vertex of each class counts.
    ties:
        int64, shape (cohorts, classes): true neighbours of all members.
    number:
        int64, shape (cohorts, classes): neighbours that each member shall have.
    wanted:
        int64, shape (cohorts, columns): the same, by value.
    between:
        int64, shape (classes, classes): neighbours in the second class that all vertices of the
        first shall have together. Of a graph it is symmetric, with an even diagonal.
    truth:
        int64, shape (classes, classes): how many they have in truth.
    """

    counts: NDArray[np.int64]
    members: NDArray[np.int64]
    first: NDArray[np.int64]
    class_of: NDArray[np.int64]
    class_first: NDArray[np.int64]
    columns: NDArray[np.int64]
    ties: NDArray[np.int64]
    number: NDArray[np.int64]
    wanted: NDArray[np.int64]
    between: NDArray[np.int64]
    truth: NDArray[np.int64]


@inner_kernel
def _off(too_few: float) -> float:
    """Return what it costs that so many neighbours are too few.

    Too many, where it is negative.
    """
    return max(too_few, -TOO_MANY * too_few)


@inner_kernel
def _is_possible(t: Targets, c: int, b: int, by: int) -> bool:
    """Return whether a cohort's members can have so many more neighbours.

    Of class b.
    """
    there = t.first[t.class_first[b + 1]] - t.first[t.class_first[b]]
    return 0 <= t.number[c, b] + by <= there - int(t.class_of[c] == b)


@inner_kernel
def _asymmetry(t: Targets, a: int, b: int) -> int:
    """Return the numbers' distance from a graph between two classes."""
    if a == b:
        return t.between[a, a] % 2
    return abs(t.between[a, b] - t.between[b, a])


@inner_kernel
def _add(t: Targets, c: int, b: int, by: int) -> tuple[float, int]:
    """Let a cohort want more of a class.

    Return what deviation and asymmetry are more by.
    """
    deviation = 0.0
    for column in t.columns[b]:
        for i in range(t.first[c], t.first[c + 1]):
            lack = t.counts[t.members[i], column] - t.wanted[c, column]
            deviation += _off(lack - by) - _off(lack)
        t.wanted[c, column] += by
    a, size = t.class_of[c], t.first[c + 1] - t.first[c]
    lack = t.ties[c, b] - size * t.number[c, b]
    deviation += TRUE_TOTALS * (abs(lack - size * by) - abs(lack))
    t.number[c, b] += by
    before, off = _asymmetry(t, a, b), t.truth[a, b] - t.between[a, b]
    t.between[a, b] += size * by
    pairs = TRUE_PAIRS * (abs(off - size * by) - abs(off))
    asymmetry = _asymmetry(t, a, b) - before
    return 0.5 / t.columns.shape[1] * deviation + 0.5 * pairs, asymmetry


@inner_kernel
def _draw(t: Targets, steps: Steps, rng: np.random.Generator) -> int:
    """Draw steps that are taken together; return how many."""
    n_cohorts, n_classes = t.number.shape
    c, b = int(rng.random() * n_cohorts), int(rng.random() * n_classes)
    d = int(rng.random() * n_classes)
    what = rng.random()
    steps[0] = c, b, -1
    if what < 0.35:
        steps[0, 2] = 1 if rng.random() < 0.5 else -1
        return 1
    steps[1] = c, d, 1
    if what < 0.7:
        return 2
    # Another cohort of the class takes the opposite steps.
    a = t.class_of[c]
    width = t.class_first[a + 1] - t.class_first[a]
    other = t.class_first[a] + int(rng.random() * width)
    steps[2], steps[3] = (other, b, 1), (other, d, -1)
    if rng.random() < 0.5:
        steps[1] = steps[2]
        return 2
    return 4


@kernel
def anneal_targets(
    t: Targets,
    n_trials: int,
    asymmetry_price: float,
    heat: float,
    rng: np.random.Generator,
) -> None:
    """Try steps that bring targets nearer to the truth or to symmetry.

    Parameters
    ----------
    t:
        `number`, `wanted` and `between` are changed in place.
    n_trials:
        Steps that are tried, up to four together.
    asymmetry_price:
        What an edge costs for which one end has no room.
    heat:
        What costs x more is done with probability exp(-x / heat).
    """
    steps = np.empty((4, 3), dtype=np.int64)
    for _ in range(n_trials):
        n = _draw(t, steps, rng)
        cost = 0.0
        taken = 0
        while taken < n and _is_possible(t, steps[taken, 0], steps[taken, 1], steps[taken, 2]):
            deviation, asymmetry = _add(t, steps[taken, 0], steps[taken, 1], steps[taken, 2])
            cost += deviation + asymmetry_price * asymmetry
            taken += 1
        if taken < n or (cost > 0 and rng.random() >= np.exp(-cost / heat)):
            for i in range(taken):
                _add(t, steps[i, 0], steps[i, 1], -steps[i, 2])


@inner_kernel
def _cheapest(t: Targets, a: int, b: int, steps: Steps, costs: NDArray[np.float64]) -> None:
    """Find the cheapest step for each effect on a difference.

    The difference is that of two classes.
    """
    costs[:] = NEVER
    middle = len(costs) // 2
    for side in range(1 if a == b else 2):
        own, other = (a, b) if side == 0 else (b, a)
        for c in range(t.class_first[own], t.class_first[own + 1]):
            for by in (-1, 1):
                if not _is_possible(t, c, other, by):
                    continue
                cost, _ = _add(t, c, other, by)
                _add(t, c, other, -by)
                effect = by * (t.first[c + 1] - t.first[c]) * (1 if side == 0 else -1)
                if cost < costs[middle + effect]:
                    costs[middle + effect] = cost
                    steps[middle + effect] = c, other, by


@inner_kernel
def _plan(away: int, costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the cheapest effects that close a difference, or none."""
    middle = len(costs) // 2
    # What comes for nothing costs a little, too, so no way goes round in circles.
    price = costs - min(costs.min(), 0.0) + 0.3
    reach = abs(away) + 3 * middle
    left = np.full(2 * reach + 1, NEVER)
    via = np.zeros(len(left), dtype=np.int64)
    left[reach] = 0.0
    has_changed = True
    while has_changed:
        has_changed = False
        for i in range(len(left)):
            for effect in range(-middle, middle + 1):
                j = i + effect
                if costs[middle + effect] < NEVER and 0 <= j < len(left):
                    cost = left[j] + price[middle + effect]
                    if cost < left[i] - 1e-9:
                        left[i], via[i] = cost, effect
                        has_changed = True
    found = np.empty(len(left), dtype=np.int64)
    n, i = 0, reach + away
    while i != reach and left[i] < NEVER:
        found[n] = via[i]
        i += via[i]
        n += 1
    return found[:n]


@kernel
def balance(t: Targets, a: int, b: int) -> None:
    """Let two classes' members want as many of each other.

    Or none.

    Within a class the neighbours of all together become even.

    Parameters
    ----------
    t:
        `number`, `wanted` and `between` are changed in place.
    a, b:
        The classes.
    """
    size = 0
    for own in (a, b):
        for c in range(t.class_first[own], t.class_first[own + 1]):
            size = max(size, t.first[c + 1] - t.first[c])
    steps = np.zeros((2 * size + 1, 3), dtype=np.int64)
    costs = np.empty(2 * size + 1)
    for _ in range(PLANS_MAX):
        if _asymmetry(t, a, b) == 0:
            return
        _cheapest(t, a, b, steps, costs)
        if a == b:
            costs[size % 2 :: 2] = NEVER
            plan = np.array([costs.argmin() - size])
        else:
            plan = _plan(t.between[a, b] - t.between[b, a], costs)
        for effect in plan:
            # The same step twice may not be possible, or another one be cheaper then.
            _cheapest(t, a, b, steps, costs)
            if costs[size + effect] == NEVER:
                break
            _add(t, steps[size + effect, 0], steps[size + effect, 1], steps[size + effect, 2])
    if _asymmetry(t, a, b):
        for own, other in ((a, b), (b, a)):
            for c in range(t.class_first[own], t.class_first[own + 1]):
                while t.number[c, other] > 0:
                    _add(t, c, other, -1)
