"""Search for degrees of cohorts and fitting candidates, by whole steps.

The state is always valid: no vertex has more shown candidates than its cohort has degrees. A step
raises or lowers the degree of one cohort, then finds shown candidates along alternating paths; it
is taken back where it does not pay.
"""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

LITTLE = 1e-9
"""Less than this is no gain."""

VERTEX = np.dtype(
    [
        *((name, np.int32) for name in ("first", "hidden", "room", "as_start", "as_end")),
        *((name, np.int32) for name in ("parent", "by_hidden", "by_shown")),
        ("net", np.float64),
    ],
    align=True,
)
"""What a search needs of a vertex, in one place of the memory: it jumps from one to another."""


def log_size_for(n: int, m: int) -> int:
    """Return the log's room for n vertices and m candidates."""
    return 40 * n + 20 * m + 10_000


class MatchingState(NamedTuple):
    """Pair of classes under search; vertices and cohorts numbered from 0.

    Attributes
    ----------
    ends:
        int32, shape (m, 2): the ends of each candidate.
    gain:
        float64, shape (m,): what each gains that is shown.
    top:
        float64, shape (2,): the greatest and the least gain.
    is_shown:
        bool, shape (m,).
    first, at:
        int32 (n + 1), (2 m): candidates at v are at[first[v]:first[v + 1]].
    place, other, gain_at, is_shown_at:
        int32, shape (m, 2): where in `at` a candidate stands; shape (2 m,): other end, gain and
        whether it is shown, by entry of `at`, since the search reads them in a row.
    hidden:
        int32, shape (n,): hidden candidates at each vertex.
    room:
        int32, shape (n,): degree less shown candidates.
    member_first, members, cohort:
        int64 (cohorts + 1), int32, int32: the members of each cohort, and the cohort of each.
    degree:
        int64, shape (cohorts,).
    price:
        float64, shape (cohorts,): price of one more degree.
    value:
        float64, shape (1,): gains of what is shown less the price of all degrees.
    log:
        int32: steps since the start that can be taken back; e >= 0: candidate e was flipped,
        -2 c - 1: cohort c was raised, -2 c - 2: it was lowered.
    log_size:
        int64, shape (1,).
    raise_at, lower_at:
        float64, shape (cohorts,): a sweep raises a cohort whose price is below the first, or lowers
        one whose price is above the second: else it knows that this does not pay.
    parent, by_hidden, by_shown, net, queue:
        Scratch of the path search: float64 and int32, shape (n + 1,); queue: int32, shape
        (1 + vertices that a search may reach,).
    as_start, as_end:
        int32, shape (n + 1,): the last search that met a vertex as one end of a hidden candidate,
        or as the other one; the last entry counts searches.
    """

    ends: NDArray[np.int32]
    gain: NDArray[np.float64]
    top: NDArray[np.float64]
    is_shown: NDArray[np.bool_]
    first: NDArray[np.int32]
    at: NDArray[np.int32]
    place: NDArray[np.int32]
    other: NDArray[np.int32]
    gain_at: NDArray[np.float64]
    is_shown_at: NDArray[np.bool_]
    hidden: NDArray[np.int32]
    room: NDArray[np.int32]
    member_first: NDArray[np.int64]
    members: NDArray[np.int32]
    cohort: NDArray[np.int32]
    degree: NDArray[np.int64]
    price: NDArray[np.float64]
    value: NDArray[np.float64]
    log: NDArray[np.int32]
    log_size: NDArray[np.int64]
    raise_at: NDArray[np.float64]
    lower_at: NDArray[np.float64]
    parent: NDArray[np.int32]
    by_hidden: NDArray[np.int32]
    by_shown: NDArray[np.int32]
    net: NDArray[np.float64]
    queue: NDArray[np.int32]
    as_start: NDArray[np.int32]
    as_end: NDArray[np.int32]


@kernel
def stand(
    ends: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return where each vertex's candidates begin; `at`, `place`, `other` of the state."""
    m = ends.shape[0]
    first = np.zeros(n + 1, dtype=np.int32)
    for e in range(m):
        first[ends[e, 0] + 1] += 1
        first[ends[e, 1] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    free = first[:-1].copy()
    at, other = np.empty(2 * m, dtype=np.int32), np.empty(2 * m, dtype=np.int32)
    place = np.empty((m, 2), dtype=np.int32)
    for side in range(2):
        for e in range(m):
            v = ends[e, side]
            i = free[v]
            at[i], other[i], place[e, side] = e, ends[e, 1 - side], i
            free[v] += 1
    return first, at, place, other


@inner_kernel
def note(state: MatchingState, what: int) -> None:
    """Remember a step."""
    state.log[state.log_size[0]] = what
    state.log_size[0] += 1


@inner_kernel
def flip(state: MatchingState, edge: int) -> None:
    """Show a hidden candidate or hide a shown one."""
    was_shown = state.is_shown[edge]
    more = 1 if was_shown else -1
    state.is_shown[edge] = not was_shown
    state.value[0] -= more * state.gain[edge]
    for side in range(2):
        state.is_shown_at[state.place[edge, side]] = not was_shown
        state.room[state.ends[edge, side]] += more
        state.hidden[state.ends[edge, side]] += more


@inner_kernel
def shift(state: MatchingState, cohort: int, more: int) -> None:
    """Change a cohort's degree and its members' rooms, even below 0."""
    state.degree[cohort] += more
    state.value[0] -= more * state.price[cohort]
    for i in range(state.member_first[cohort], state.member_first[cohort + 1]):
        state.room[state.members[i]] += more


@inner_kernel
def undo(state: MatchingState, mark: int) -> None:
    """Take steps back until the log is as long as it was."""
    while state.log_size[0] > mark:
        state.log_size[0] -= 1
        what = np.int64(state.log[state.log_size[0]])
        if what >= 0:
            flip(state, what)
        else:
            cohort = (-what - 1) // 2
            shift(state, cohort, -1 if (-what) % 2 else 1)


@inner_kernel
def augment(state: MatchingState, u: int, nodes_max: int) -> None:
    """Show more at u by a candidate or a short alternating path.

    The vertex has room.
    """
    if state.log_size[0] + 2 * nodes_max + 30 * len(state.room) > len(state.log):
        # Beyond this nothing more is shown, so what must be hidden can still be noted.
        return
    queue, as_start, as_end = state.queue, state.as_start, state.as_end
    as_start[-1] += 1
    now = as_start[-1]
    queue[0], head, tail = u, 0, 1
    as_start[u], state.net[u] = now, 0.0
    best, best_at = LITTLE, -1
    while head < tail:
        x = np.int64(queue[head])
        head += 1
        if state.hidden[x] == 0:
            continue
        for i in range(state.first[x], state.first[x + 1]):
            if state.is_shown_at[i]:
                continue
            v = state.other[i]
            with_e = state.net[x] + state.gain_at[i]
            if state.room[v] > int(v == u) and with_e > LITTLE:
                edge = np.int64(state.at[i])
                flip(state, edge)
                note(state, edge)
                walk_back(state, u, x)
                return
            if as_end[v] == now or as_start[v] == now:
                continue
            as_end[v] = now
            # Of very many candidates few are shown: the search ends with the last of these.
            n_shown = state.first[v + 1] - state.first[v] - state.hidden[v]
            for j in range(state.first[v], state.first[v + 1]):
                if n_shown == 0:
                    break
                if not state.is_shown_at[j]:
                    continue
                n_shown -= 1
                w = state.other[j]
                if as_start[w] == now or as_end[w] == now:
                    continue
                as_start[w], state.net[w] = now, with_e - state.gain_at[j]
                state.parent[w], state.by_hidden[w], state.by_shown[w] = x, state.at[i], state.at[j]
                if state.net[w] > best:
                    best, best_at = state.net[w], w
                if tail <= nodes_max:
                    queue[tail] = w
                    tail += 1
    if best_at >= 0:
        walk_back(state, u, best_at)


@inner_kernel
def walk_back(state: MatchingState, u: int, x: int) -> None:
    """Flip the path from u to x."""
    while x != u:
        for f in (np.int64(state.by_shown[x]), np.int64(state.by_hidden[x])):
            flip(state, f)
            note(state, f)
        x = np.int64(state.parent[x])


@inner_kernel
def raise_degree(state: MatchingState, cohort: int, least: float, nodes_max: int) -> float:
    """Raise a cohort, show what then fits; return the gain.

    The search ends where value cannot rise by more than `least`. What is returned is then a bound:
    at least the rise, at most `least`.
    """
    before = state.value[0]
    shift(state, cohort, 1)
    note(state, -2 * cohort - 1)
    able = 0
    for i in range(state.member_first[cohort], state.member_first[cohort + 1]):
        able += state.hidden[state.members[i]] > 0
    for i in range(state.member_first[cohort], state.member_first[cohort + 1]):
        v = np.int64(state.members[i])
        hoped = state.value[0] + able * state.top[0] - before
        if hoped <= least:
            return hoped
        if state.hidden[v] > 0:
            able -= 1
            if state.room[v] > 0:
                augment(state, v, nodes_max)
    return state.value[0] - before


@inner_kernel
def lower_degree(state: MatchingState, cohort: int, least: float, nodes_max: int) -> float:
    """Lower a cohort that has a degree.

    What no longer fits is hidden; what then does is shown. Return by how much value rises, or a
    bound as in `raise_degree`.
    """
    before = state.value[0]
    shift(state, cohort, -1)
    note(state, -2 * cohort - 2)
    for i in range(state.member_first[cohort], state.member_first[cohort + 1]):
        v = state.members[i]
        # A tie inside the cohort takes both of its ends down.
        if state.room[v] >= 0:
            continue
        # Where all gain the same, a path regains at most what is hidden for it.
        if state.top[0] == state.top[1] and state.value[0] <= before + least:
            break
        f = cheapest_shown(state, v)
        w = np.int64(state.ends[f, 0] if state.ends[f, 1] == v else state.ends[f, 1])
        flip(state, f)
        note(state, f)
        if state.room[w] > 0:
            augment(state, w, nodes_max)
    return state.value[0] - before


@inner_kernel
def cheapest_shown(state: MatchingState, v: int) -> int:
    """Return the shown candidate at v that is hidden at least loss."""
    best, found = np.inf, -1
    n_shown = state.first[v + 1] - state.first[v] - state.hidden[v]
    for i in range(state.first[v], state.first[v + 1]):
        if n_shown == 0:
            break
        if not state.is_shown_at[i]:
            continue
        n_shown -= 1
        gain, w = state.gain_at[i], state.other[i]
        regained = 0.0
        if state.room[w] < 0:
            # The other end must hide one, too.
            regained = gain / 2
        elif state.hidden[w] > 0:
            for j in range(state.first[w], state.first[w + 1]):
                if not state.is_shown_at[j] and state.room[state.other[j]] > 0:
                    regained = max(regained, state.gain_at[j])
                    if regained == state.top[0]:
                        break
        if gain - regained < best:
            best, found = gain - regained, state.at[i]
    return found


@inner_kernel
def step(state: MatchingState, cohort: int, more: int, least: float, nodes_max: int) -> None:
    """Raise or lower a cohort by one."""
    if more > 0:
        raise_degree(state, cohort, least, nodes_max)
    else:
        lower_degree(state, cohort, least, nodes_max)


@kernel
def show_all(state: MatchingState, order: NDArray[np.int64], nodes_max: int) -> None:
    """Show as much as the degrees allow."""
    for v in order:
        while state.room[v] > 0 and state.hidden[v] > 0:
            before = state.value[0]
            augment(state, v, nodes_max)
            state.log_size[0] = 0
            if state.value[0] <= before + LITTLE:
                break


@kernel
def exchange_all(state: MatchingState, nodes_max: int) -> None:
    """Show hidden candidates that gain more than what they replace."""
    if state.top[0] - state.top[1] <= LITTLE:
        return
    for edge in range(len(state.gain)):
        if state.is_shown[edge]:
            continue
        before = state.value[0]
        for side in range(2):
            v = state.ends[edge, side]
            if state.room[v] > 0 or state.hidden[v] == state.first[v + 1] - state.first[v]:
                continue
            f = cheapest_shown(state, v)
            w = np.int64(state.ends[f, 0] if state.ends[f, 1] == v else state.ends[f, 1])
            flip(state, f)
            note(state, f)
            if w != state.ends[edge, 1 - side] and state.room[w] > 0:
                augment(state, w, nodes_max)
        if (
            state.room[state.ends[edge, 0]] > 0
            and state.room[state.ends[edge, 1]] > 0
            and not state.is_shown[edge]
        ):
            flip(state, edge)
            note(state, edge)
        if state.value[0] <= before + LITTLE:
            undo(state, 0)
        state.log_size[0] = 0


@kernel
def sweep(state: MatchingState, nodes_max: int) -> int:
    """Raise or lower each cohort while that pays; return the steps.

    A cohort is passed over that was tried before, while its price has not moved far enough and
    nothing changed beside it: then it is known what a step is worth.
    """
    steps = 0
    for cohort in range(len(state.degree)):
        price = state.price[cohort]
        direction = 0
        while True:
            gained = 0.0
            if direction >= 0 and price < state.raise_at[cohort]:
                gained = raise_degree(state, cohort, LITTLE, nodes_max)
                if gained > LITTLE:
                    direction = 1
                else:
                    undo(state, 0)
                    state.raise_at[cohort] = price + gained - LITTLE
            may_lower = state.degree[cohort] > 0 and price > state.lower_at[cohort]
            if direction <= 0 and gained <= LITTLE and may_lower:
                gained = lower_degree(state, cohort, LITTLE, nodes_max)
                if gained > LITTLE:
                    direction = -1
                else:
                    undo(state, 0)
                    state.lower_at[cohort] = price - gained + LITTLE
            if gained > LITTLE:
                steps += 1
                wake(state, cohort)
            state.log_size[0] = 0
            if gained <= LITTLE:
                break
    return steps


@inner_kernel
def wake(state: MatchingState, cohort: int) -> None:
    """Mark cohorts beside a step to be tried again.

    Those are the cohorts of what was flipped, and of vertices that may now find room.
    """
    try_again(state, cohort)
    for i in range(state.log_size[0]):
        edge = np.int64(state.log[i])
        if edge >= 0:
            try_again(state, state.cohort[state.ends[edge, 0]])
            try_again(state, state.cohort[state.ends[edge, 1]])
    for i in range(state.member_first[cohort], state.member_first[cohort + 1]):
        v = state.members[i]
        for j in range(state.first[v], state.first[v + 1]):
            try_again(state, state.cohort[state.other[j]])


@inner_kernel
def try_again(state: MatchingState, cohort: int) -> None:
    """Forget what a step of a cohort was worth."""
    state.raise_at[cohort] = np.inf
    state.lower_at[cohort] = -np.inf


@kernel
def double_steps(
    state: MatchingState,
    weight: NDArray[np.int64],
    is_one: bool,
    keeps_total: bool,
    n_trials: int,
    n_partners: int,
    rng: np.random.Generator,
    nodes_max: int,
) -> int:
    """Try balanced steps of two cohorts at once; return how many pay.

    If the total is kept, too, one cohort is raised and another one of its side is lowered.
    """
    p = len(weight)
    taken = 0
    for _ in range(n_trials):
        cohort = int(rng.random() * p)
        more = 1 if rng.random() < 0.5 else -1
        if state.degree[cohort] + more < 0:
            continue
        before = state.value[0]
        step(state, cohort, more, -np.inf, nodes_max)
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
                if (off % 2 if is_free else off) or d == cohort or state.degree[d] + again < 0:
                    continue
                seen += 1
                step(state, d, again, -np.inf, nodes_max)
                if state.value[0] > before + LITTLE:
                    done = True
                    break
                undo(state, mark)
            if done or seen >= n_partners:
                break
        if done:
            taken += 1
        else:
            undo(state, 0)
        state.log_size[0] = 0
    return taken
