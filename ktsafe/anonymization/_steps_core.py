"""Steps of many cohorts at once that bring ends to a number."""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization._pair_core import (
    MatchingState,
    lower_degree,
    raise_degree,
    step,
    undo,
)
from ktsafe.kernels.compiler import kernel


@kernel
def try_steps(
    state: MatchingState, cohorts: NDArray[np.int64], reach: int, nodes_max: int
) -> NDArray[np.float64]:
    """Return changes by 1 to `reach` steps down and up.

    Shape (cohorts, 2 reach + 1).
    """
    change = np.full((len(cohorts), 2 * reach + 1), -np.inf)
    for i in range(len(cohorts)):
        cohort = cohorts[i]
        before = state.value[0]
        change[i, reach] = 0.0
        for k in range(1, reach + 1):
            raise_degree(state, cohort, -np.inf, nodes_max)
            change[i, reach + k] = state.value[0] - before
        undo(state, 0)
        for k in range(1, min(reach, state.degree[cohort]) + 1):
            lower_degree(state, cohort, -np.inf, nodes_max)
            change[i, reach - k] = state.value[0] - before
        undo(state, 0)
    return change


@kernel
def hoped_for(state: MatchingState, cohorts: NDArray[np.int64], reach: int) -> NDArray[np.float64]:
    """Return changes by 1 to `reach` steps if other ends were free.

    Each end of a tie then gains half of what the tie gains, at most: shape (cohorts, 2 reach + 1).
    """
    change = np.full((len(cohorts), 2 * reach + 1), -np.inf)
    for i in range(len(cohorts)):
        cohort = cohorts[i]
        change[i, reach] = 0.0
        up, down = 0.0, 0.0
        for k in range(1, reach + 1):
            up -= state.price[cohort]
            down += state.price[cohort]
            for j in range(state.member_first[cohort], state.member_first[cohort + 1]):
                v = state.members[j]
                up += state.top[0] / 2 * (state.hidden[v] >= state.room[v] + k)
                down -= state.top[0] / 2 * (state.room[v] < k)
            change[i, reach + k] = up
            if k <= state.degree[cohort]:
                change[i, reach - k] = down
    return change


@kernel
def choose_steps(
    change: NDArray[np.float64], weight: NDArray[np.int64], target: int, span: int
) -> NDArray[np.int64]:
    """Return each cohort's steps that bring weighted sums to the target.

    The sum of changes is greatest; partial sums stay within `span`. All entries of the answer
    are `reach + 1` if no steps reach the target.
    """
    n, reach = len(change), change.shape[1] // 2
    best = np.full(2 * span + 1, -np.inf)
    best[span] = 0.0
    chosen = np.zeros((n, 2 * span + 1), np.int8)
    for cohort in range(n):
        then = best.copy()
        for k in range(-reach, reach + 1):
            if k == 0 or change[cohort, reach + k] == -np.inf:
                continue
            by = weight[cohort] * k
            for total in range(max(0, by), min(2 * span + 1, 2 * span + 1 + by)):
                reached = best[total - by] + change[cohort, reach + k]
                if reached > then[total]:
                    then[total] = reached
                    chosen[cohort, total] = k
        best = then
    steps = np.full(n, reach + 1, np.int64)
    if abs(target) > span or best[span + target] == -np.inf:
        return steps
    total = span + target
    for cohort in range(n - 1, -1, -1):
        steps[cohort] = chosen[cohort, total]
        total -= weight[cohort] * steps[cohort]
    return steps


@kernel
def take_steps(
    state: MatchingState, cohorts: NDArray[np.int64], steps: NDArray[np.int64], nodes_max: int
) -> None:
    """Change the degrees of cohorts by the given steps, lowering first."""
    for sign in (-1, 1):
        for i in range(len(steps)):
            cohort = cohorts[i]
            for _ in range(sign * steps[i]):
                step(state, cohort, sign, -np.inf, nodes_max)
                state.log_size[0] = 0
