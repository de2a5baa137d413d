"""Kernels of the location table: similarity, counts, moves. Validation is the caller's."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index._similar_core import (
    ALPHA_DEN,
    ALPHA_NUM,
    FLOOR,
    LANES,
    NONE,
    RESERVE,
    T_DEN,
    T_NUM,
    WIDTH,
    K,
    Rule,
    Table,
    count_kinds,
    create,
    enter_block,
    find,
    remove,
    similar,
    similar_locations,
)

__all__ = [
    "ALPHA_DEN",
    "ALPHA_NUM",
    "FLOOR",
    "NONE",
    "RESERVE",
    "T_DEN",
    "T_NUM",
    "WIDTH",
    "K",
    "Rule",
    "Table",
    "find",
    "similar",
]

# Why `peel` lifted a vertex.
TOO_FEW, TOO_SENSITIVE = 1, 2


@njit(cache=True, fastmath=False, nogil=True)
def suffices(rule: Rule, size: int, sensitive: int) -> bool:
    """Whether a protection set of this size and number of sensitive members is safe."""
    limits = rule.limits
    return size >= limits[K] and sensitive * limits[ALPHA_DEN] <= limits[ALPHA_NUM] * size


@njit(cache=True, fastmath=False, nogil=True)
def is_content(table: Table, rule: Rule, at: int) -> bool:
    """Whether a location is safe, and the real vertices at it see as many real ones as they should.

    The second half is no part of the definition: it is wished for, where the class has so many.
    """
    if table.real[at] > 0 and table.ps_real[at] < table.floor[table.cls[at]]:
        return False
    return suffices(rule, table.ps_size[at], table.ps_sensitive[at])


@njit(cache=True, fastmath=False, nogil=True)
def shift(
    table: Table, rule: Rule, at: int, change: int, change_sensitive: int, change_real: int = 0
) -> None:
    """Change the count of one location by `change` vertices and every count that sees it."""
    table.population[at] += change
    table.sensitive[at] += change_sensitive
    table.real[at] += change_real
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    found = table.found[0]
    for i in range(similar_locations(table, rule, cls, degree, row, found)):
        table.ps_size[found[i]] += change
        table.ps_sensitive[found[i]] += change_sensitive
        table.ps_real[found[i]] += change_real


@njit(cache=True, fastmath=False, nogil=True)
def locate(table: Table, rule: Rule, cls: int, degree: int, row: NDArray[np.int32]) -> int:
    """Return the location of a neighbourhood, opened if it is absent; counts become exact."""
    at = find(table, cls, degree, row)
    if at == NONE:
        size, size_sensitive, size_real = count_kinds(table, rule, cls, degree, row)
        at = create(table, cls, degree, row)
        enter_block(table, at)
        table.ps_size[at] = size
        table.ps_sensitive[at] = size_sensitive
        table.ps_real[at] = size_real
    return at


@njit(cache=True, fastmath=False, nogil=True)
def place(
    table: Table, rule: Rule, v: int, cls: int, degree: int, row: NDArray[np.int32], sensitive: int
) -> int:
    """Put a lifted vertex at a location and return it; counts become exact."""
    at = locate(table, rule, cls, degree, row)
    shift(table, rule, at, 1, sensitive, np.int64(table.is_real[v]))
    table.of_vertex[v] = at
    return at


@njit(cache=True, fastmath=False, nogil=True)
def lift(table: Table, rule: Rule, v: int, sensitive: int) -> None:
    """Take a placed vertex out of the table."""
    at = table.of_vertex[v]
    shift(table, rule, at, -1, -sensitive, -np.int64(table.is_real[v]))
    table.of_vertex[v] = NONE
    if table.population[at] == 0:
        remove(table, at)


@njit(cache=True, fastmath=False, nogil=True)
def move_is_safe(
    table: Table,
    rule: Rule,
    v: int,
    degree: int,
    row: NDArray[np.int32],
    sensitive: int,
) -> bool:
    """Whether a placed vertex can move to (`degree`, `row`), be safe there and break no one.

    Nothing changes. A vertex that was unsafe before may stay so, but only the mover's own safety
    at its new place is required; capacity of the degree chains is the caller's to check. Nor does
    a real vertex then see fewer real ones than it did and should.
    """
    at = table.of_vertex[v]
    real = np.int64(table.is_real[v])
    cls = table.cls[at]
    there, here = table.found[0], table.found[1]
    n_there = similar_locations(table, rule, cls, degree, row, there)
    size, size_sensitive, size_real = 1, sensitive, real
    for i in range(n_there):
        other = there[i]
        size += table.population[other]
        size_sensitive += table.sensitive[other]
        size_real += table.real[other]
        if other == at:
            size -= 1
            size_sensitive -= sensitive
            size_real -= real
    if not suffices(rule, size, size_sensitive):
        return False
    if real and size_real < min(table.floor[cls], table.ps_real[at]):
        return False
    n_here = similar_locations(table, rule, cls, table.degree[at], table.hist[at], here)
    flags = table.flags
    for i in range(n_there):
        flags[there[i]] = 1
    safe = True
    for i in range(n_here):
        other = here[i]
        if flags[other]:
            flags[other] = 0
        elif other != at or table.population[at] > 1:
            safe = safe and _bears(rule, table.ps_size, table.ps_sensitive, other, -1, -sensitive)
            if real and table.ps_real[other] <= table.floor[cls]:
                safe = safe and table.real[other] <= np.int64(other == at)
    for i in range(n_there):
        other = there[i]
        if flags[other]:
            flags[other] = 0
            safe = safe and _bears(rule, table.ps_size, table.ps_sensitive, other, 1, sensitive)
    return safe


@njit(cache=True, fastmath=False, nogil=True)
def _bears(
    rule: Rule,
    ps_size: NDArray[np.int32],
    ps_sensitive: NDArray[np.int32],
    at: int,
    change: int,
    change_sensitive: int,
) -> bool:
    """Whether a location stays safe, if it is, when its protection set changes."""
    size, sensitive = ps_size[at], ps_sensitive[at]
    return not suffices(rule, size, sensitive) or suffices(
        rule, size + change, sensitive + change_sensitive
    )


@njit(cache=True, fastmath=False, nogil=True)
def can_bear(table: Table, rule: Rule, at: int, sensitive: int) -> bool:
    """Whether one more vertex at a location leaves it and every safe similar location safe."""
    if not suffices(rule, table.ps_size[at] + 1, table.ps_sensitive[at] + sensitive):
        return False
    return sensitive == 0 or _nobody_tips(table, rule, at, 1, sensitive)


@njit(cache=True, fastmath=False, nogil=True)
def can_spare(table: Table, rule: Rule, at: int) -> bool:
    """Whether a location and every safe similar one can do with one non-sensitive vertex less."""
    return _nobody_tips(table, rule, at, -1, 0)


@njit(cache=True, fastmath=False, nogil=True)
def _nobody_tips(table: Table, rule: Rule, at: int, change: int, change_sensitive: int) -> bool:
    """Whether a change of the vertices at a location leaves those who see it safe if they were."""
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    vanishes = table.population[at] + change == 0
    found = table.found[0]
    for i in range(similar_locations(table, rule, cls, degree, row, found)):
        other = found[i]
        if (other != at or not vanishes) and not _bears(
            rule, table.ps_size, table.ps_sensitive, other, change, change_sensitive
        ):
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def missing_harmless(table: Table, rule: Rule, at: int) -> int:
    """Return how many more non-sensitive vertices a location needs not to be too sensitive."""
    num, den = rule.limits[ALPHA_NUM], rule.limits[ALPHA_DEN]
    needed = (table.ps_sensitive[at] * den + num - 1) // num
    return max(0, needed - table.ps_size[at])


@njit(cache=True, fastmath=False, nogil=True)
def unsafe_vertices(table: Table, rule: Rule, n: int) -> NDArray[np.int32]:
    """Return the placed vertices whose protection set does not suffice, ascending."""
    found = np.empty(n, dtype=np.int32)
    top = 0
    for v in range(n):
        at = table.of_vertex[v]
        if at != NONE and not suffices(rule, table.ps_size[at], table.ps_sensitive[at]):
            found[top] = v
            top += 1
    return found[:top]


@njit(cache=True, fastmath=False, nogil=True)
def short_of_real(table: Table, n: int) -> NDArray[np.int32]:
    """Return the placed real vertices that see fewer real ones than they should, ascending."""
    found = np.empty(n, dtype=np.int32)
    top = 0
    for v in range(n):
        at = table.of_vertex[v]
        if at != NONE and table.is_real[v] and table.ps_real[at] < table.floor[table.cls[at]]:
            found[top] = v
            top += 1
    return found[:top]


@njit(cache=True, fastmath=False, nogil=True)
def _richest_similar(table: Table, rule: Rule, at: int) -> int:
    """Return the similar location with most sensitive vertices."""
    best = at
    cls, degree, row = table.cls[at], table.degree[at], table.hist[at]
    found = table.found[0]
    for i in range(similar_locations(table, rule, cls, degree, row, found)):
        if table.sensitive[found[i]] > table.sensitive[best]:
            best = found[i]
    return best


@njit(cache=True, fastmath=False, nogil=True)
def peel(
    table: Table, rule: Rule, order: NDArray[np.int32], is_sensitive: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """Lift vertices until all that remain are content among themselves; return who was lifted.

    The result is 0 for those that stay, `TOO_FEW` or `TOO_SENSITIVE` for the others.

    Too small a protection set, or one of too few real vertices, lifts its whole location; too
    sensitive a one lifts one sensitive vertex after the other from the similar location that has
    most. `order` breaks ties among the vertices of a location. Every step lifts a vertex, so it
    ends.
    """
    n = len(order)
    lifted = np.zeros(n, dtype=np.int8)
    start = np.zeros(len(table.cls) + 1, dtype=np.int64)
    for v in range(n):
        start[table.of_vertex[v] + 1] += 1
    for at in range(len(table.cls)):
        start[at + 1] += start[at]
    members = np.empty(n, dtype=np.int32)
    top = start[:-1].copy()
    # Sensitive members come last in each location, to be found without a search.
    for wanted in (False, True):
        for i in range(n):
            v = order[i]
            if is_sensitive[v] == wanted:
                at = table.of_vertex[v]
                members[top[at]] = v
                top[at] += 1
    changed = True
    while changed:
        changed = False
        for at in range(len(start) - 1):
            while table.population[at] > 0 and not is_content(table, rule, at):
                changed = True
                size, too_few = table.ps_size[at], table.ps_size[at] < rule.limits[K]
                if not too_few and not suffices(rule, size, table.ps_sensitive[at]):
                    rich = _richest_similar(table, rule, at)
                    top[rich] -= 1
                    v = members[top[rich]]
                    lifted[v] = TOO_SENSITIVE
                    lift(table, rule, v, 1)
                else:
                    for i in range(start[at], top[at]):
                        lifted[members[i]] = TOO_FEW
                        table.of_vertex[members[i]] = NONE
                    top[at] = start[at]
                    population, sensitive = table.population[at], table.sensitive[at]
                    shift(table, rule, at, -population, -sensitive, -table.real[at])
                    remove(table, at)
    return lifted


@njit(cache=True, fastmath=False, nogil=True)
def _kd_order(table: Table, members: NDArray[np.int32]) -> None:
    """Order locations of one class and degree so that blocks of them have small boxes.

    Splits at the middle block, in the column of the widest spread, again and again.
    """
    todo = [(0, len(members))]
    while len(todo) > 0:
        low, high = todo.pop()
        if high - low <= LANES:
            continue
        best, spread = 0, -1
        for x in range(table.block_hist.shape[1]):
            least, most = table.hist[members[low], x], table.hist[members[low], x]
            for i in range(low + 1, high):
                least = min(least, table.hist[members[i], x])
                most = max(most, table.hist[members[i], x])
            if most - least > spread:
                best, spread = x, most - least
        part = members[low:high].copy()
        order = np.argsort(table.hist[part, best], kind="mergesort")
        members[low:high] = part[order]
        middle = low + (high - low + 2 * LANES - 1) // (2 * LANES) * LANES
        todo.append((low, middle))
        todo.append((middle, high))


@njit(cache=True, fastmath=False, nogil=True)
def fill(
    table: Table,
    rule: Rule,
    cls: NDArray[np.int32],
    degree: NDArray[np.int32],
    hist: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
) -> None:
    """Place every vertex of an empty table; counts first, then one comparison per pair."""
    start = np.zeros(len(table.bucket_head) + 1, dtype=np.int64)
    for v in range(len(cls)):
        at = find(table, cls[v], degree[v], hist[v])
        if at == NONE:
            at = create(table, cls[v], degree[v], hist[v])
            start[table.bucket_start[cls[v]] + degree[v] + 1] += 1
        table.population[at] += 1
        table.sensitive[at] += is_sensitive[v]
        table.real[at] += table.is_real[v]
        table.of_vertex[v] = at
    for bucket in range(len(start) - 1):
        start[bucket + 1] += start[bucket]
    members = np.empty(start[-1], dtype=np.int32)
    top = start[:-1].copy()
    for at in range(len(table.cls)):
        if table.population[at] > 0:
            bucket = table.bucket_start[table.cls[at]] + table.degree[at]
            members[top[bucket]] = at
            top[bucket] += 1
    for bucket in range(len(top)):
        if start[bucket + 1] - start[bucket] > LANES:
            _kd_order(table, members[start[bucket] : start[bucket + 1]])
    for at in members:
        enter_block(table, at)
    for at in members:
        table.ps_size[at], table.ps_sensitive[at], table.ps_real[at] = count_kinds(
            table, rule, table.cls[at], table.degree[at], table.hist[at]
        )
