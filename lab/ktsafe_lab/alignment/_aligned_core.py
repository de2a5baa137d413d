"""Kernels of the alignment.

Orbits of edges under the shift, and moves that make edges share them.

A group is a row of m positions that hold vertices of one class, or nothing yet. The shift takes
position p of every group to p + 1 (mod m), so an edge between position p of group g and position q
of group h lies in the orbit (g, h, q - p mod m). Bounds are checked by the caller.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

EMPTY = -1
"""Occupant of a position that no vertex of the graph has."""

COUNT_BITS = 20
"""Bits of an entry of the orbit table that count edges; the others hold the key."""

KINDS = 64
"""Of so many moves one turns a group, one goes anywhere, and the others look for an orbit."""

COUNT_MASK = (1 << COUNT_BITS) - 1


class Seating(NamedTuple):
    """The place of each vertex.

    `group[v]` and `position[v]` place vertex v; `occupant[g * m + p]` is the vertex there or
    `EMPTY`. The groups of class c are `first[c]:first[c + 1]`. `caps` is (m, the most sensitive
    vertices that a group may have), and `sensitive` counts those of each group.
    """

    group: NDArray[np.int32]
    position: NDArray[np.int32]
    occupant: NDArray[np.int32]
    sensitive: NDArray[np.int32]
    first: NDArray[np.int64]
    caps: NDArray[np.int64]


class Problem(NamedTuple):
    """The graph to be aligned.

    Adjacency, classes and sensitive flags of its vertices.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    cls: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]


@inner_kernel
def _home(key: int, mask: int) -> int:
    """Return the slot where the search for a key begins."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(20)) & mask


@inner_kernel
def slot_of(table: NDArray[np.int64], key: int) -> int:
    """Return the slot of `key`, or the free one where it belongs."""
    mask = table.shape[0] - 1
    slot = _home(key, mask)
    while table[slot] != 0 and (table[slot] >> COUNT_BITS) != key + 1:
        slot = (slot + 1) & mask
    return slot


@inner_kernel
def free_slot(table: NDArray[np.int64], slot: int) -> None:
    """Empty a slot, and move up entries that probing would miss."""
    mask = table.shape[0] - 1
    hole = slot
    probe = slot
    while True:
        probe = (probe + 1) & mask
        if table[probe] == 0:
            break
        key = (table[probe] >> COUNT_BITS) - 1
        home = _home(key, mask)
        # The entry may move up unless its home lies behind the hole.
        if ((probe - home) & mask) >= ((probe - hole) & mask):
            table[hole] = table[probe]
            hole = probe
    table[hole] = 0


@inner_kernel
def count_edge(plan: Seating, table: NDArray[np.int64], u: int, v: int, step: int) -> int:
    """Put the edge (u, v) into its orbit, or take it out.

    Step 1 or -1.

    An orbit of s pairs that holds c edges is mixed by c * (s - c): nothing if it can be shown or
    hidden at no cost, most if half of it is true. Unlike the cost itself, min(c, s - c), this
    draws edges into orbits that already hold some, long before those are worth showing.

    Returns
    -------
    int
        By how much the mixture of the orbit grows (step 1) or shrinks (-1).
    """
    m = plan.caps[0]
    n_groups = plan.sensitive.shape[0]
    g = np.int64(plan.group[u])
    h = np.int64(plan.group[v])
    distance = np.int64(plan.position[v]) - plan.position[u]
    if distance < 0:
        distance += m
    if g > h:
        g, h = h, g
        distance = m - distance if distance else 0
    size = m
    if g == h:
        distance = min(distance, m - distance)
        if 2 * distance == m:
            size = distance
    key = (g * n_groups + h) * m + distance
    slot = slot_of(table, key)
    held = table[slot] & COUNT_MASK
    if step > 0:
        table[slot] = ((key + 1) << COUNT_BITS) | (held + 1)
        return size - 2 * held - 1
    if held == 1:
        free_slot(table, slot)
    else:
        table[slot] -= 1
    return size - 2 * held + 1


@kernel
def count_all(problem: Problem, plan: Seating, table: NDArray[np.int64]) -> int:
    """Put every edge into the empty table.

    Return the mixture of all orbits.
    """
    total = 0
    for u in range(problem.cls.shape[0]):
        for e in range(problem.indptr[u], problem.indptr[u + 1]):
            if problem.indices[e] > u:
                total += count_edge(plan, table, u, problem.indices[e], 1)
    return total


@kernel
def place(plan: Seating, v: int, slot: int) -> None:
    """Let v, unless it is `EMPTY`, stand at a position.

    Counts are the caller's business.
    """
    plan.occupant[slot] = v
    if v != EMPTY:
        plan.group[v] = slot // plan.caps[0]
        plan.position[v] = slot % plan.caps[0]


@inner_kernel
def swap(
    problem: Problem, plan: Seating, table: NDArray[np.int64], slot_1: int, slot_2: int
) -> int:
    """Exchange the occupants of two positions; return the change of the mixture.

    Doing it twice undoes it.
    """
    x = plan.occupant[slot_1]
    y = plan.occupant[slot_2]
    indptr = problem.indptr
    change = 0
    # Written out for either step, here and in `rotate`: with the step as an argument of a common
    # kernel the whole search takes a fifth longer.
    if x != EMPTY:
        for e in range(indptr[x], indptr[x + 1]):
            change -= count_edge(plan, table, x, problem.indices[e], -1)
    if y != EMPTY:
        for e in range(indptr[y], indptr[y + 1]):
            if problem.indices[e] != x:
                change -= count_edge(plan, table, y, problem.indices[e], -1)
    place(plan, x, slot_2)
    place(plan, y, slot_1)
    if x != EMPTY:
        for e in range(indptr[x], indptr[x + 1]):
            change += count_edge(plan, table, x, problem.indices[e], 1)
    if y != EMPTY:
        for e in range(indptr[y], indptr[y + 1]):
            if problem.indices[e] != x:
                change += count_edge(plan, table, y, problem.indices[e], 1)
    return change


@inner_kernel
def is_allowed(problem: Problem, plan: Seating, slot_1: int, slot_2: int) -> bool:
    """Return whether an exchange of two positions keeps both groups' caps.

    Both positions are of one class.
    """
    m = plan.caps[0]
    x = plan.occupant[slot_1]
    y = plan.occupant[slot_2]
    g = slot_1 // m
    h = slot_2 // m
    if g == h:
        return True
    flagged = np.int64(y != EMPTY and problem.is_sensitive[y])
    flagged -= np.int64(x != EMPTY and problem.is_sensitive[x])
    return (
        plan.sensitive[g] + flagged <= plan.caps[1] and plan.sensitive[h] - flagged <= plan.caps[1]
    )


@inner_kernel
def update_counts(problem: Problem, plan: Seating, slot_1: int, slot_2: int) -> None:
    """Count the sensitive in two groups after lasting changes of occupants."""
    m = plan.caps[0]
    g = slot_1 // m
    h = slot_2 // m
    x = plan.occupant[slot_1]
    y = plan.occupant[slot_2]
    flagged = np.int64(x != EMPTY and problem.is_sensitive[x])
    flagged -= np.int64(y != EMPTY and problem.is_sensitive[y])
    plan.sensitive[g] += flagged
    plan.sensitive[h] -= flagged


@inner_kernel
def shared_slot(problem: Problem, plan: Seating, v: int, rng: np.random.Generator) -> int:
    """Return a position that puts an edge of v into another's orbit.

    -1 if there is none.

    A neighbour u of v, another member x of u's group, a neighbour y of x: v belongs as far from u
    as y is from x.
    """
    m = plan.caps[0]
    degree = problem.indptr[v + 1] - problem.indptr[v]
    if degree == 0:
        return -1
    u = problem.indices[problem.indptr[v] + int(rng.random() * degree)]
    base = np.int64(plan.group[u]) * m
    if m == 1:
        return -1
    x = plan.occupant[base + (plan.position[u] + 1 + int(rng.random() * (m - 1))) % m]
    if x == EMPTY:
        return -1
    degree = problem.indptr[x + 1] - problem.indptr[x]
    if degree == 0:
        return -1
    start = int(rng.random() * degree)
    for i in range(min(degree, 4)):
        y = problem.indices[problem.indptr[x] + (start + i) % degree]
        if problem.cls[y] == problem.cls[v] and y != v:
            distance = np.int64(plan.position[y]) - plan.position[x] + plan.position[u]
            return np.int64(plan.group[y]) * m + (distance + m) % m
    return -1


@inner_kernel
def rotate(problem: Problem, plan: Seating, table: NDArray[np.int64], g: int, step: int) -> int:
    """Shift the members of one group by `step`.

    Return the change of the mixture.
    """
    m = plan.caps[0]
    change = 0
    members = plan.occupant[g * m : (g + 1) * m]
    for x in members:
        if x != EMPTY:
            for e in range(problem.indptr[x], problem.indptr[x + 1]):
                y = problem.indices[e]
                if plan.group[y] != g:
                    change -= count_edge(plan, table, x, y, -1)
    moved = np.roll(members, step)
    for p in range(m):
        place(plan, moved[p], g * m + p)
    for x in members:
        if x != EMPTY:
            for e in range(problem.indptr[x], problem.indptr[x + 1]):
                y = problem.indices[e]
                if plan.group[y] != g:
                    change += count_edge(plan, table, x, y, 1)
    return change


@kernel
def anneal(
    problem: Problem,
    plan: Seating,
    table: NDArray[np.int64],
    rng: np.random.Generator,
    moves: int,
    heat: NDArray[np.float64],
) -> int:
    """Try `moves` moves at temperatures falling geometrically from heat[0] to heat[1].

    Temperatures are in whole orbits. A move sends a vertex to a position of its class, mostly to
    one where it shares an orbit, or turns a group.

    Returns
    -------
    int
        The change of the mixture.
    """
    m = plan.caps[0]
    n = problem.cls.shape[0]
    total = 0
    warmth = heat[0]
    cooling = (heat[1] / heat[0]) ** (1024.0 / max(moves, 1))
    for move in range(moves):
        if move & 1023 == 1023:
            warmth *= cooling
        v = int(rng.random() * n)
        source = np.int64(plan.group[v]) * m + plan.position[v]
        kind = int(rng.random() * KINDS)
        if kind == 0:
            g = np.int64(plan.group[v])
            step = 1 + int(rng.random() * (m - 1)) if m > 1 else 0
            # A turn by 0 undoes itself, so m = 1 needs no case of its own.
            change = rotate(problem, plan, table, g, step)
            if change <= 0 or rng.random() < np.exp(-change / (m * warmth)):
                total += change
            else:
                rotate(problem, plan, table, g, m - step)
            continue
        target = -1
        if kind < KINDS - 1:
            target = shared_slot(problem, plan, v, rng)
        else:
            begin = plan.first[problem.cls[v]] * m
            target = begin + int(rng.random() * (plan.first[problem.cls[v] + 1] * m - begin))
        if target < 0 or target == source or not is_allowed(problem, plan, source, target):
            continue
        change = swap(problem, plan, table, source, target)
        if change <= 0 or rng.random() < np.exp(-change / (m * warmth)):
            total += change
            if source // m != target // m:
                update_counts(problem, plan, source, target)
        else:
            swap(problem, plan, table, source, target)
    return total
