"""Steps of cohorts: sweeps, pairs of steps, steps towards a total.

How steps are sought may be changed, and with it the bytes of releases; sides must end balanced
(tests/ktsafe/anonymization/test_pair_program.py compares with the optimum of small pairs).
"""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization._pair_core import (
    LITTLE,
    PARTNERS,
    PairSearch,
    augment,
    lower_degree,
    raise_degree,
    step,
    undo,
)
from ktsafe.kernels.compiler import inner_kernel, kernel


@kernel
def show_all(state: PairSearch, order: NDArray[np.int64]) -> None:
    """Show as much as the degrees allow."""
    for v in order:
        while state.vertices[v].room > 0 and state.vertices[v].hidden > 0:
            before = state.value[0]
            augment(state, v)
            state.log_size[0] = 0
            if state.value[0] <= before + LITTLE:
                break


@kernel
def sweep(state: PairSearch) -> int:
    """Raise or lower each cohort while that pays; return the steps.

    A cohort is passed over that was tried before, while its price has not moved far enough and
    nothing changed beside it: then it is known what a step is worth.
    """
    steps = 0
    for cohort in range(len(state.cohorts) - 1):
        own = state.cohorts[cohort]
        direction = 0
        while True:
            gained = 0.0
            if direction >= 0 and own.price < own.raise_below:
                gained = raise_degree(state, cohort, LITTLE)
                if gained > LITTLE:
                    direction = 1
                else:
                    undo(state, 0)
                    own.raise_below = own.price + gained - LITTLE
            may_lower = own.degree > 0 and own.price > own.lower_above
            if direction <= 0 and gained <= LITTLE and may_lower:
                gained = lower_degree(state, cohort, LITTLE)
                if gained > LITTLE:
                    direction = -1
                else:
                    undo(state, 0)
                    own.lower_above = own.price - gained + LITTLE
            if gained > LITTLE:
                steps += 1
                wake(state, cohort)
            state.log_size[0] = 0
            if gained <= LITTLE:
                break
    return steps


@inner_kernel
def wake(state: PairSearch, cohort: int) -> None:
    """Mark cohorts beside a step to be tried again.

    Those are the cohorts of what was flipped, and of vertices that may now find room.
    """
    forget_worth(state, cohort)
    for i in range(state.log_size[0]):
        edge = np.int64(state.log[i])
        if edge >= 0:
            for end in state.candidates.ends[edge]:
                forget_worth(state, state.vertices[end].cohort)
    for i in range(state.cohorts[cohort].first, state.cohorts[cohort + 1].first):
        v = state.members[i]
        for j in range(state.vertices[v].first, state.vertices[v + 1].first):
            forget_worth(state, state.vertices[state.entries.other[j]].cohort)


@inner_kernel
def forget_worth(state: PairSearch, cohort: int) -> None:
    """Forget what a step of a cohort was worth."""
    state.cohorts[cohort].raise_below = np.inf
    state.cohorts[cohort].lower_above = -np.inf


@kernel
def double_steps(
    state: PairSearch,
    weight: NDArray[np.int64],
    is_one: bool,
    keeps_total: bool,
    n_trials: int,
    rng: np.random.Generator,
) -> int:
    """Try balanced steps of two cohorts at once; return how many pay.

    If the total is kept, too, one cohort is raised and another one of its side is lowered.
    """
    p = len(weight)
    taken = 0
    for _ in range(n_trials):
        cohort = int(rng.random() * p)
        more = 1 if rng.random() < 0.5 else -1
        if state.cohorts[cohort].degree + more < 0:
            continue
        before = state.value[0]
        step(state, cohort, more, -np.inf)
        mark = state.log_size[0]
        is_free = is_one and not keeps_total
        if is_free and weight[cohort] % 2 == 0 and state.value[0] > before + LITTLE:
            state.log_size[0] = 0
            taken += 1
            continue
        seen, done = 0, False
        d = int(rng.random() * p)
        for _ in range(p):
            d = d + 1 if d + 1 < p else 0
            for again in (1, -1):
                off = weight[cohort] * more + weight[d] * again
                if keeps_total and more == again:
                    continue
                if (
                    (off % 2 if is_free else off)
                    or d == cohort
                    or state.cohorts[d].degree + again < 0
                ):
                    continue
                seen += 1
                step(state, d, again, before + LITTLE - state.value[0])
                if state.value[0] > before + LITTLE:
                    done = True
                    break
                undo(state, mark)
            if done or seen >= PARTNERS:
                break
        if done:
            taken += 1
        else:
            undo(state, 0)
        state.log_size[0] = 0
    return taken


# Steps of many cohorts at once, towards a number of ends.


@kernel
def try_steps(state: PairSearch, cohorts: NDArray[np.int64], reach: int) -> NDArray[np.float64]:
    """Return changes by 1 to `reach` steps down and up.

    Shape (cohorts, 2 reach + 1).
    """
    change = np.full((len(cohorts), 2 * reach + 1), -np.inf)
    for i in range(len(cohorts)):
        cohort = cohorts[i]
        before = state.value[0]
        change[i, reach] = 0.0
        for k in range(1, reach + 1):
            raise_degree(state, cohort, -np.inf)
            change[i, reach + k] = state.value[0] - before
        undo(state, 0)
        for k in range(1, min(reach, state.cohorts[cohort].degree) + 1):
            lower_degree(state, cohort, -np.inf)
            change[i, reach - k] = state.value[0] - before
        undo(state, 0)
    return change


@kernel
def hoped_for(state: PairSearch, cohorts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return changes by a step down and up, other ends free.

    Each end of a tie then gains half of what the tie gains, at most: shape (cohorts, 2).
    """
    change = np.empty((len(cohorts), 2))
    for i in range(len(cohorts)):
        own, end = state.cohorts[cohorts[i]], state.cohorts[cohorts[i] + 1].first
        down, up = own.price, -own.price
        for j in range(own.first, end):
            v = state.vertices[state.members[j]]
            up += v.best / 2 * (v.hidden >= v.room + 1)
            down -= v.best / 2 * (v.room < 1)
        change[i, 0] = down if own.degree > 0 else -np.inf
        change[i, 1] = up
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
def take_steps(state: PairSearch, cohorts: NDArray[np.int64], steps: NDArray[np.int64]) -> None:
    """Change the degrees of cohorts by the given steps, lowering first."""
    for sign in (-1, 1):
        for i in range(len(steps)):
            cohort = cohorts[i]
            for _ in range(sign * steps[i]):
                step(state, cohort, sign, -np.inf)
                state.log_size[0] = 0
