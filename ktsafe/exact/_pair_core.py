"""The search for degrees of cohorts and for the candidates that fit them, by whole steps.

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

from ktsafe.kernels import inner_kernel, kernel

LITTLE = 1e-9
"""Less than this is no gain."""


def log_size_for(n: int, m: int) -> int:
    """Return the room that the log needs for n vertices and m candidates."""
    return 40 * n + 20 * m + 10_000


class MatchingState(NamedTuple):
    """A pair of classes under search; vertices and cohorts are numbered from 0.

    Attributes
    ----------
    ends:
        int32, shape (m, 2): the ends of each candidate.
    gain:
        float64, shape (m,): what each gains that is shown.
    top:
        float64, shape (1,): the greatest gain.
    is_shown:
        bool, shape (m,).
    first, at:
        int64 (n + 1), int32 (2 m): candidates at v are at[first[v]:first[v + 1]].
    hidden:
        int64, shape (n,): hidden candidates at each vertex.
    room:
        int64, shape (n,): degree less shown candidates.
    member_first, members:
        int64 (cohorts + 1), int32: the members of each cohort.
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
    parent, by_hidden, by_shown, stamp:
        Scratch of the path search, shape (n,) each; stamp: (2, n) and a counter in (2, 0).
    net:
        float64, shape (n,): scratch.
    """

    ends: NDArray[np.int32]
    gain: NDArray[np.float64]
    top: NDArray[np.float64]
    is_shown: NDArray[np.bool_]
    first: NDArray[np.int64]
    at: NDArray[np.int32]
    hidden: NDArray[np.int64]
    room: NDArray[np.int64]
    member_first: NDArray[np.int64]
    members: NDArray[np.int32]
    degree: NDArray[np.int64]
    price: NDArray[np.float64]
    value: NDArray[np.float64]
    log: NDArray[np.int32]
    log_size: NDArray[np.int64]
    parent: NDArray[np.int32]
    by_hidden: NDArray[np.int32]
    by_shown: NDArray[np.int32]
    stamp: NDArray[np.int64]
    net: NDArray[np.float64]


@inner_kernel
def note(g: MatchingState, what: int) -> None:
    """Remember a step."""
    g.log[g.log_size[0]] = what
    g.log_size[0] += 1


@inner_kernel
def flip(g: MatchingState, e: int) -> None:
    """Show a hidden candidate or hide a shown one."""
    more = 1 if g.is_shown[e] else -1
    g.is_shown[e] = not g.is_shown[e]
    g.value[0] -= more * g.gain[e]
    for side in range(2):
        g.room[g.ends[e, side]] += more
        g.hidden[g.ends[e, side]] += more


@inner_kernel
def shift(g: MatchingState, c: int, more: int) -> None:
    """Change the degree of cohort c, rooms of members included; these may fall below 0."""
    g.degree[c] += more
    g.value[0] -= more * g.price[c]
    for i in range(g.member_first[c], g.member_first[c + 1]):
        g.room[g.members[i]] += more


@inner_kernel
def undo(g: MatchingState, mark: int) -> None:
    """Take steps back until the log is as long as it was."""
    while g.log_size[0] > mark:
        g.log_size[0] -= 1
        what = np.int64(g.log[g.log_size[0]])
        if what >= 0:
            flip(g, what)
        else:
            c = (-what - 1) // 2
            shift(g, c, -1 if (-what) % 2 else 1)


@inner_kernel
def augment(g: MatchingState, u: int, nodes_max: int) -> None:
    """Show more at u, which has room: by a candidate or a short alternating path of them."""
    if g.log_size[0] + 2 * nodes_max + 30 * len(g.room) > len(g.log):
        # Beyond this nothing more is shown, so that what must be hidden can still be noted.
        return
    queue = np.empty(nodes_max + 1, np.int32)
    g.stamp[2, 0] += 1
    now = g.stamp[2, 0]
    queue[0], head, tail = u, 0, 1
    g.stamp[0, u], g.net[u] = now, 0.0
    best, best_at = LITTLE, -1
    while head < tail:
        x = np.int64(queue[head])
        head += 1
        if g.hidden[x] == 0:
            continue
        for i in range(g.first[x], g.first[x + 1]):
            e = np.int64(g.at[i])
            if g.is_shown[e]:
                continue
            v = g.ends[e, 0] if g.ends[e, 1] == x else g.ends[e, 1]
            with_e = g.net[x] + g.gain[e]
            if g.room[v] > int(v == u) and with_e > LITTLE:
                flip(g, e)
                note(g, e)
                walk_back(g, u, x)
                return
            if g.stamp[1, v] == now or g.stamp[0, v] == now:
                continue
            g.stamp[1, v] = now
            # Of very many candidates few are shown: the search ends with the last of these.
            n_shown = g.first[v + 1] - g.first[v] - g.hidden[v]
            for j in range(g.first[v], g.first[v + 1]):
                if n_shown == 0:
                    break
                f = g.at[j]
                if not g.is_shown[f]:
                    continue
                n_shown -= 1
                w = g.ends[f, 0] if g.ends[f, 1] == v else g.ends[f, 1]
                if g.stamp[0, w] == now or g.stamp[1, w] == now:
                    continue
                g.stamp[0, w], g.net[w] = now, with_e - g.gain[f]
                g.parent[w], g.by_hidden[w], g.by_shown[w] = x, e, f
                if g.net[w] > best:
                    best, best_at = g.net[w], w
                if tail <= nodes_max:
                    queue[tail] = w
                    tail += 1
    if best_at >= 0:
        walk_back(g, u, best_at)


@inner_kernel
def walk_back(g: MatchingState, u: int, x: int) -> None:
    """Flip the path from u to x."""
    while x != u:
        for f in (np.int64(g.by_shown[x]), np.int64(g.by_hidden[x])):
            flip(g, f)
            note(g, f)
        x = np.int64(g.parent[x])


@inner_kernel
def raise_degree(g: MatchingState, c: int, least: float, nodes_max: int) -> float:
    """Raise cohort c and show what then fits; stop early where value cannot rise by `least`."""
    before = g.value[0]
    shift(g, c, np.int64(1))
    note(g, -2 * c - 1)
    able = 0
    for i in range(g.member_first[c], g.member_first[c + 1]):
        able += g.hidden[g.members[i]] > 0
    for i in range(g.member_first[c], g.member_first[c + 1]):
        v = np.int64(g.members[i])
        if g.value[0] + able * g.top[0] <= before + least:
            break
        if g.hidden[v] > 0:
            able -= 1
            if g.room[v] > 0:
                augment(g, v, nodes_max)
    return g.value[0] - before


@inner_kernel
def lower_degree(g: MatchingState, c: int, least: float, nodes_max: int) -> float:
    """Lower cohort c, which has a degree; hide what no longer fits, show what then does."""
    before = g.value[0]
    shift(g, c, np.int64(-1))
    note(g, -2 * c - 2)
    for i in range(g.member_first[c], g.member_first[c + 1]):
        v = g.members[i]
        # A tie inside the cohort takes both of its ends down.
        if g.room[v] >= 0:
            continue
        f = cheapest_shown(g, v)
        w = np.int64(g.ends[f, 0] if g.ends[f, 1] == v else g.ends[f, 1])
        flip(g, f)
        note(g, f)
        if g.room[w] > 0:
            augment(g, w, nodes_max)
    if g.value[0] <= before + least:
        return -1e9
    return g.value[0] - before


@inner_kernel
def cheapest_shown(g: MatchingState, v: int) -> int:
    """Return the shown candidate at v that can be hidden at the least loss."""
    best, found = np.inf, -1
    n_shown = g.first[v + 1] - g.first[v] - g.hidden[v]
    for i in range(g.first[v], g.first[v + 1]):
        if n_shown == 0:
            break
        f = g.at[i]
        if not g.is_shown[f]:
            continue
        n_shown -= 1
        w = g.ends[f, 0] if g.ends[f, 1] == v else g.ends[f, 1]
        regained = 0.0
        if g.room[w] < 0:
            # The other end must hide one, too.
            regained = g.gain[f] / 2
        elif g.hidden[w] > 0:
            for j in range(g.first[w], g.first[w + 1]):
                h = g.at[j]
                z = g.ends[h, 0] if g.ends[h, 1] == w else g.ends[h, 1]
                if not g.is_shown[h] and g.room[z] > 0:
                    regained = max(regained, g.gain[h])
                    if regained == g.top[0]:
                        break
        if g.gain[f] - regained < best:
            best, found = g.gain[f] - regained, f
    return found


@kernel
def show_all(g: MatchingState, order: NDArray[np.int64], nodes_max: int) -> None:
    """Show as much as the degrees allow."""
    for v in order:
        while g.room[v] > 0 and g.hidden[v] > 0:
            before = g.value[0]
            augment(g, v, nodes_max)
            g.log_size[0] = 0
            if g.value[0] <= before + LITTLE:
                break


@kernel
def exchange_all(g: MatchingState, nodes_max: int) -> None:
    """Show hidden candidates that gain more than those which must be hidden for them."""
    if len(g.gain) == 0 or g.top[0] - g.gain.min() <= LITTLE:
        return
    for e in range(len(g.gain)):
        if g.is_shown[e]:
            continue
        before = g.value[0]
        for side in range(2):
            v = g.ends[e, side]
            if g.room[v] > 0 or g.hidden[v] == g.first[v + 1] - g.first[v]:
                continue
            f = cheapest_shown(g, v)
            w = np.int64(g.ends[f, 0] if g.ends[f, 1] == v else g.ends[f, 1])
            flip(g, f)
            note(g, f)
            if w != g.ends[e, 1 - side] and g.room[w] > 0:
                augment(g, w, nodes_max)
        if g.room[g.ends[e, 0]] > 0 and g.room[g.ends[e, 1]] > 0 and not g.is_shown[e]:
            flip(g, e)
            note(g, e)
        if g.value[0] <= before + LITTLE:
            undo(g, np.int64(0))
        g.log_size[0] = 0


@kernel
def sweep(g: MatchingState, order: NDArray[np.int64], nodes_max: int) -> int:
    """Raise or lower each cohort while that pays; return the number of steps."""
    steps = 0
    for c in order:
        direction = 0
        while True:
            gained = 0.0
            if direction >= 0:
                gained = raise_degree(g, c, LITTLE, nodes_max)
                if gained > LITTLE:
                    direction = 1
                else:
                    undo(g, np.int64(0))
            if direction <= 0 and gained <= LITTLE and g.degree[c] > 0:
                gained = lower_degree(g, c, LITTLE, nodes_max)
                if gained > LITTLE:
                    direction = -1
                else:
                    undo(g, np.int64(0))
            g.log_size[0] = 0
            if gained <= LITTLE:
                break
            steps += 1
    return steps


@kernel
def try_steps(
    g: MatchingState, cohorts: NDArray[np.int64], reach: int, nodes_max: int
) -> NDArray[np.float64]:
    """Return what 1 to `reach` steps down and up would change: shape (cohorts, 2 reach + 1)."""
    change = np.full((len(cohorts), 2 * reach + 1), -np.inf)
    for i in range(len(cohorts)):
        c = cohorts[i]
        before = g.value[0]
        change[i, reach] = 0.0
        for k in range(1, reach + 1):
            raise_degree(g, c, -np.inf, nodes_max)
            change[i, reach + k] = g.value[0] - before
        undo(g, np.int64(0))
        for k in range(1, min(reach, g.degree[c]) + 1):
            lower_degree(g, c, -np.inf, nodes_max)
            change[i, reach - k] = g.value[0] - before
        undo(g, np.int64(0))
    return change


@kernel
def hoped_for(g: MatchingState, cohorts: NDArray[np.int64], reach: int) -> NDArray[np.float64]:
    """Return what 1 to `reach` steps down and up would change if all other ends were free.

    Each end of a tie then gains half of what the tie gains, at most: shape (cohorts, 2 reach + 1).
    """
    change = np.full((len(cohorts), 2 * reach + 1), -np.inf)
    for i in range(len(cohorts)):
        c = cohorts[i]
        change[i, reach] = 0.0
        up, down = 0.0, 0.0
        for k in range(1, reach + 1):
            up -= g.price[c]
            down += g.price[c]
            for j in range(g.member_first[c], g.member_first[c + 1]):
                v = g.members[j]
                up += g.top[0] / 2 * (g.hidden[v] >= g.room[v] + k)
                down -= g.top[0] / 2 * (g.room[v] < k)
            change[i, reach + k] = up
            if k <= g.degree[c]:
                change[i, reach - k] = down
    return change


@kernel
def choose_steps(
    change: NDArray[np.float64], weight: NDArray[np.int64], target: int, span: int
) -> NDArray[np.int64]:
    """Return the steps of each cohort that bring the sum of weight * steps to the target.

    The sum of changes is greatest; partial sums stay within `span`. All entries of the answer
    are `reach + 1` if no steps reach the target.
    """
    n, reach = len(change), change.shape[1] // 2
    best = np.full(2 * span + 1, -np.inf)
    best[span] = 0.0
    chosen = np.zeros((n, 2 * span + 1), np.int8)
    for c in range(n):
        then = best.copy()
        for k in range(-reach, reach + 1):
            if k == 0 or change[c, reach + k] == -np.inf:
                continue
            by = weight[c] * k
            for total in range(max(0, by), min(2 * span + 1, 2 * span + 1 + by)):
                reached = best[total - by] + change[c, reach + k]
                if reached > then[total]:
                    then[total] = reached
                    chosen[c, total] = k
        best = then
    steps = np.full(n, reach + 1, np.int64)
    if abs(target) > span or best[span + target] == -np.inf:
        return steps
    total = span + target
    for c in range(n - 1, -1, -1):
        steps[c] = chosen[c, total]
        total -= weight[c] * steps[c]
    return steps


@kernel
def take_steps(
    g: MatchingState, cohorts: NDArray[np.int64], steps: NDArray[np.int64], nodes_max: int
) -> None:
    """Change the degrees of cohorts by the given steps, lowering first."""
    for sign in (-1, 1):
        for i in range(len(steps)):
            c = cohorts[i]
            for _ in range(sign * steps[i]):
                if sign > 0:
                    raise_degree(g, c, -np.inf, nodes_max)
                else:
                    lower_degree(g, c, -np.inf, nodes_max)
                g.log_size[0] = 0


@kernel
def step(g: MatchingState, c: int, more: int, least: float, nodes_max: int) -> None:
    """Raise or lower cohort c by one."""
    if more > 0:
        raise_degree(g, c, least, nodes_max)
    else:
        lower_degree(g, c, least, nodes_max)


@kernel
def double_steps(
    g: MatchingState,
    weight: NDArray[np.int64],
    is_one: bool,
    keeps_total: bool,
    n_trials: int,
    n_partners: int,
    rng: np.random.Generator,
    nodes_max: int,
) -> int:
    """Try steps of two cohorts at once that keep the balance; return how many pay.

    If the total is kept, too, one cohort is raised and another one of its side is lowered.
    """
    p = len(weight)
    taken = 0
    for _ in range(n_trials):
        c = int(rng.random() * p)
        more = 1 if rng.random() < 0.5 else -1
        if g.degree[c] + more < 0:
            continue
        before = g.value[0]
        step(g, c, more, -np.inf, nodes_max)
        mark = g.log_size[0]
        is_free = is_one and not keeps_total
        if is_free and weight[c] % 2 == 0 and g.value[0] > before + LITTLE:
            g.log_size[0] = 0
            taken += 1
            continue
        seen, done = 0, False
        d = int(rng.random() * p)
        for _ in range(p):
            d = d + 1 if d + 1 < p else 0
            for again in (1, -1):
                off = weight[c] * more + weight[d] * again
                if keeps_total and more == again:
                    continue
                if (off % 2 if is_free else off) or d == c or g.degree[d] + again < 0:
                    continue
                seen += 1
                step(g, d, again, -np.inf, nodes_max)
                if g.value[0] > before + LITTLE:
                    done = True
                    break
                undo(g, mark)
            if done or seen >= n_partners:
                break
        if done:
            taken += 1
        else:
            undo(g, np.int64(0))
        g.log_size[0] = 0
    return taken
