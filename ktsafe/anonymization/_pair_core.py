"""Search for degrees of cohorts and fitting candidates, by whole steps.

The state is always valid: no vertex has more shown candidates than its cohort has degrees. A step
raises or lowers the degree of one cohort, then finds shown candidates along alternating paths; it
is taken back where it does not pay.

Constants may be tuned and paths sought otherwise: bytes of releases change, their safety does not.
The state must stay valid after each step, and `undo` restore it
(tests/ktsafe/anonymization/test_pair_program.py).
"""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

LITTLE = 1e-9
"""Less than this is no gain, but rounding."""

NODES_MAX = 60
"""Vertices that a search for an alternating path may reach: chosen, as its time grows with them."""

PARTNERS = 8
"""Second steps that are tried with a first one: chosen, with `pair_program.TRIALS`."""

VERTEX = np.dtype(
    [
        *((name, np.int32) for name in ("first", "hidden", "room", "as_start", "as_end")),
        *((name, np.int32) for name in ("parent", "by_hidden", "by_shown", "cohort")),
        *((name, np.float64) for name in ("best", "net")),
    ],
    align=True,
)
"""What a search needs of a vertex, in one place of the memory: it jumps from one to another.

first:
    Its entries of `Entries` are first[v] to first[v + 1]; so there is one vertex more.
hidden, room:
    Its hidden candidates; the degree of its cohort less its shown candidates.
cohort, best:
    Its cohort, and the greatest gain of its candidates.
as_start, as_end:
    The last search that met it as one end of a hidden candidate, or as the other one; of the vertex
    too many, as_start counts the searches.
parent, by_hidden, by_shown, net:
    How the search came here: from which vertex, by which two candidates, with which gain.
"""

COHORT = np.dtype(
    [
        *((name, np.int64) for name in ("first", "degree")),
        *((name, np.float64) for name in ("price", "raise_below", "lower_above")),
    ]
)
"""What a search knows of a cohort.

first:
    Its members are `members[first[c]:first[c + 1]]`; so there is one cohort more.
degree, price:
    Neighbours that each member gets, and what one more of them costs.
raise_below, lower_above:
    A sweep raises it at a price below the first, or lowers it at a price above the second: else it
    is known that this does not pay.
"""


class CandidateEdges(NamedTuple):
    """Edges that can be shown, by number.

    Their ends, shape (m, 2), what each gains, whether it is shown, and where it stands in
    `Entries`: `place`, shape (m, 2), by its ends.
    """

    ends: NDArray[np.int32]
    gain: NDArray[np.float64]
    is_shown: NDArray[np.bool_]
    place: NDArray[np.int32]


class Entries(NamedTuple):
    """The candidates, vertex by vertex, as a search reads them.

    The number of the candidate, its other end, its gain, and whether it is shown.
    """

    edge: NDArray[np.int32]
    other: NDArray[np.int32]
    gain: NDArray[np.float64]
    is_shown: NDArray[np.bool_]


class PairSearch(NamedTuple):
    """A pair of classes under search; vertices and cohorts numbered from 0.

    Attributes
    ----------
    candidates, entries:
        The candidates, by number and by vertex.
    vertices, cohorts:
        Records, shape (n + 1,) and (cohorts + 1,): see `VERTEX` and `COHORT`.
    members:
        int32, shape (n,): the vertices by cohort.
    value:
        float64, shape (1,): gains of what is shown less the price of all degrees.
    log, log_size:
        Steps since the start that can be taken back, and how many: e >= 0: candidate e was flipped,
        -2 c - 1: cohort c was raised, -2 c - 2: it was lowered.
    queue:
        int32: what a search has yet to look at.
    """

    candidates: CandidateEdges
    entries: Entries
    vertices: NDArray[np.void]
    cohorts: NDArray[np.void]
    members: NDArray[np.int32]
    value: NDArray[np.float64]
    log: NDArray[np.int32]
    log_size: NDArray[np.int64]
    queue: NDArray[np.int32]


@kernel
def stand(
    ends: NDArray[np.int32], gain: NDArray[np.float64], n: int
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.float64],
]:
    """Return where entries begin; their edges, places, other ends; greatest gains."""
    m = ends.shape[0]
    first = np.zeros(n + 1, dtype=np.int32)
    for e in range(m):
        first[ends[e, 0] + 1] += 1
        first[ends[e, 1] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    free = first[:-1].copy()
    at, other = np.empty(2 * m, dtype=np.int32), np.empty(2 * m, dtype=np.int32)
    place, best = np.empty((m, 2), dtype=np.int32), np.zeros(n)
    for side in range(2):
        for e in range(m):
            v = ends[e, side]
            i = free[v]
            at[i], other[i], place[e, side] = e, ends[e, 1 - side], i
            free[v] += 1
            best[v] = max(best[v], gain[e])
    return first, at, place, other, best


@inner_kernel
def note(state: PairSearch, what: int) -> None:
    """Remember a step."""
    state.log[state.log_size[0]] = what
    state.log_size[0] += 1


@inner_kernel
def flip(state: PairSearch, edge: int) -> None:
    """Show a hidden candidate or hide a shown one."""
    candidates = state.candidates
    was_shown = candidates.is_shown[edge]
    more = 1 if was_shown else -1
    candidates.is_shown[edge] = not was_shown
    state.value[0] -= more * candidates.gain[edge]
    for side in range(2):
        state.entries.is_shown[candidates.place[edge, side]] = not was_shown
        end = state.vertices[candidates.ends[edge, side]]
        end.room += more
        end.hidden += more


@inner_kernel
def shift(state: PairSearch, cohort: int, more: int) -> None:
    """Change a cohort's degree and its members' rooms, even below 0."""
    state.cohorts[cohort].degree += more
    state.value[0] -= more * state.cohorts[cohort].price
    for i in range(state.cohorts[cohort].first, state.cohorts[cohort + 1].first):
        state.vertices[state.members[i]].room += more


@inner_kernel
def undo(state: PairSearch, mark: int) -> None:
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
def augment(state: PairSearch, u: int) -> None:
    """Show more at u by a candidate or a short alternating path.

    The vertex has room.
    """
    if state.log_size[0] + 2 * NODES_MAX + 30 * (len(state.vertices) - 1) > len(state.log):
        # Beyond this nothing more is shown, so what must be hidden can still be noted.
        return
    vertices, entries, queue = state.vertices, state.entries, state.queue
    vertices[-1].as_start += 1
    now = vertices[-1].as_start
    queue[0], head, tail = u, 0, 1
    vertices[u].as_start = now
    vertices[u].net = 0.0
    best, best_at = LITTLE, -1
    while head < tail:
        x = np.int64(queue[head])
        head += 1
        if vertices[x].hidden == 0:
            continue
        for i in range(vertices[x].first, vertices[x + 1].first):
            if entries.is_shown[i]:
                continue
            v = entries.other[i]
            with_e = vertices[x].net + entries.gain[i]
            if vertices[v].room > int(v == u) and with_e > LITTLE:
                edge = np.int64(entries.edge[i])
                flip(state, edge)
                note(state, edge)
                walk_back(state, u, x)
                return
            if now in (vertices[v].as_start, vertices[v].as_end):
                continue
            vertices[v].as_end = now
            # Of very many candidates few are shown: the search ends with the last of these.
            n_shown = n_shown_at(state, v)
            for j in range(vertices[v].first, vertices[v + 1].first):
                if n_shown == 0:
                    break
                if not entries.is_shown[j]:
                    continue
                n_shown -= 1
                w = entries.other[j]
                there = vertices[w]
                if now in (there.as_start, there.as_end):
                    continue
                there.as_start = now
                there.net = with_e - entries.gain[j]
                there.parent = x
                there.by_hidden = entries.edge[i]
                there.by_shown = entries.edge[j]
                if there.net > best:
                    best, best_at = there.net, w
                if tail <= NODES_MAX:
                    queue[tail] = w
                    tail += 1
    if best_at >= 0:
        walk_back(state, u, best_at)


@inner_kernel
def n_shown_at(state: PairSearch, v: int) -> int:
    """Return how many candidates at a vertex are shown."""
    return state.vertices[v + 1].first - state.vertices[v].first - state.vertices[v].hidden


@inner_kernel
def walk_back(state: PairSearch, u: int, x: int) -> None:
    """Flip the path from u to x."""
    while x != u:
        here = state.vertices[x]
        hidden, shown, x = np.int64(here.by_hidden), np.int64(here.by_shown), np.int64(here.parent)
        for edge in (shown, hidden):
            flip(state, edge)
            note(state, edge)


@inner_kernel
def raise_degree(state: PairSearch, cohort: int, least: float) -> float:
    """Raise a cohort, show what then fits; return the gain.

    The search ends where value cannot rise by more than `least`. What is returned is then a bound:
    at least the rise, at most `least`.
    """
    before = state.value[0]
    shift(state, cohort, 1)
    note(state, -2 * cohort - 1)
    able = 0.0
    for i in range(state.cohorts[cohort].first, state.cohorts[cohort + 1].first):
        v = np.int64(state.members[i])
        able += state.vertices[v].best * (state.vertices[v].hidden > 0)
    for i in range(state.cohorts[cohort].first, state.cohorts[cohort + 1].first):
        v = np.int64(state.members[i])
        hoped = state.value[0] + able - before
        if hoped <= least:
            return hoped
        if state.vertices[v].hidden > 0:
            able -= state.vertices[v].best
            if state.vertices[v].room > 0:
                augment(state, v)
    return state.value[0] - before


@inner_kernel
def lower_degree(state: PairSearch, cohort: int, least: float) -> float:
    """Lower a cohort that has a degree.

    What no longer fits is hidden; what then does is shown. Return by how much value rises, or a
    bound as in `raise_degree`.
    """
    before = state.value[0]
    shift(state, cohort, -1)
    note(state, -2 * cohort - 2)
    for i in range(state.cohorts[cohort].first, state.cohorts[cohort + 1].first):
        v = state.members[i]
        # A tie inside the cohort takes both of its ends down.
        if state.vertices[v].room >= 0:
            continue
        # A path seldom regains more than what was hidden for it.
        if state.value[0] <= before + least:
            break
        w = hide_cheapest(state, v)
        if state.vertices[w].room > 0:
            augment(state, w)
    return state.value[0] - before


@inner_kernel
def hide_cheapest(state: PairSearch, v: int) -> int:
    """Hide what loses least at v; return its other end."""
    vertices, entries = state.vertices, state.entries
    best, found = np.inf, -1
    n_shown = n_shown_at(state, v)
    for i in range(vertices[v].first, vertices[v + 1].first):
        if n_shown == 0:
            break
        if not entries.is_shown[i]:
            continue
        n_shown -= 1
        gain, w = entries.gain[i], entries.other[i]
        regained = 0.0
        if vertices[w].room < 0:
            # The other end must hide one, too.
            regained = gain / 2
        elif vertices[w].hidden > 0:
            for j in range(vertices[w].first, vertices[w + 1].first):
                if not entries.is_shown[j] and vertices[entries.other[j]].room > 0:
                    regained = max(regained, entries.gain[j])
                    if regained == vertices[w].best:
                        break
        if gain - regained < best:
            best, found = gain - regained, i
    edge = np.int64(entries.edge[found])
    flip(state, edge)
    note(state, edge)
    return np.int64(entries.other[found])


@inner_kernel
def step(state: PairSearch, cohort: int, more: int, least: float) -> None:
    """Raise or lower a cohort by one."""
    if more > 0:
        raise_degree(state, cohort, least)
    else:
        lower_degree(state, cohort, least)
