"""Kernels that serve wants: vertex to vertex, vertex to settled vertex, plans for inserted ones."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe import _locations_core as locations
from ktsafe._locations_core import NONE, Rule, Table
from ktsafe._working_core import Working, has_edge, insert_edge


class Wants(NamedTuple):
    """What lifted vertices still need.

    Vertex `vertices[i]` shall get `stubs[i]` more neighbours: for each attribute j, those that
    `residual[i]` asks for by column, and `free[i, j]` of any value. Rows of equal `group` share
    their target; those that are `firm` must reach it. `columns` (classes, attributes) says where
    a neighbour of each class counts in `residual`.
    """

    vertices: NDArray[np.int32]
    residual: NDArray[np.int32]
    free: NDArray[np.int32]
    stubs: NDArray[np.int32]
    group: NDArray[np.int64]
    firm: NDArray[np.bool_]
    columns: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def accepts(w: Wants, i: int, cls: int, exactly: bool) -> bool:
    """Whether vertex i still wants a neighbour of this class (`exactly`: without freedom)."""
    if w.stubs[i] <= 0:
        return False
    for j in range(w.columns.shape[1]):
        if w.residual[i, w.columns[cls, j]] <= 0 and (exactly or w.free[i, j] <= 0):
            return False
    return True


@njit(cache=True, fastmath=False, nogil=True)
def take(w: Wants, i: int, cls: int) -> None:
    """Note that vertex i got a neighbour of this class, which it accepts."""
    w.stubs[i] -= 1
    for j in range(w.columns.shape[1]):
        x = w.columns[cls, j]
        if w.residual[i, x] <= 0:
            w.free[i, j] -= 1
        w.residual[i, x] -= 1


@njit(cache=True, fastmath=False, nogil=True)
def untake(w: Wants, i: int, cls: int) -> None:
    """Undo the latest `take` of this class."""
    w.stubs[i] += 1
    for j in range(w.columns.shape[1]):
        x = w.columns[cls, j]
        w.residual[i, x] += 1
        if w.residual[i, x] <= 0:
            w.free[i, j] += 1


# With more classes than this, looking several neighbours ahead takes longer than it saves.
LOOKAHEAD_CLASSES_MAX = 256


@njit(cache=True, fastmath=False, nogil=True)
def _accepts_any(w: Wants, i: int) -> bool:
    """Whether vertex i wants nothing, or accepts some class."""
    if w.stubs[i] <= 0:
        return True
    for b in range(w.columns.shape[0]):  # noqa: SIM110 -- numba compiles no generator
        if accepts(w, i, b, False):
            return True
    return False


# Two equal bodies instead of a recursion: numba's cache does not bear self-recursive kernels.


@njit(cache=True, fastmath=False, nogil=True)
def _leads_on_two(w: Wants, i: int) -> bool:
    """Whether vertex i can get its next two neighbours, or all, from existing classes."""
    if w.stubs[i] <= 0:
        return True
    for b in range(w.columns.shape[0]):
        if accepts(w, i, b, False):
            take(w, i, b)
            possible = _accepts_any(w, i)
            untake(w, i, b)
            if possible:
                return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def _leads_on_three(w: Wants, i: int) -> bool:
    """Whether vertex i can get its next three neighbours, or all, from existing classes."""
    if w.stubs[i] <= 0:
        return True
    for b in range(w.columns.shape[0]):
        if accepts(w, i, b, False):
            take(w, i, b)
            possible = _leads_on_two(w, i)
            untake(w, i, b)
            if possible:
                return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def take_wisely(w: Wants, i: int, cls: int) -> bool:
    """Take an acceptable neighbour of this class unless what remains could not be had.

    Wants are counted per attribute, so the last ones can ask for a combination of values that
    nobody has.
    """
    take(w, i, cls)
    if w.stubs[i] > 3:
        return True
    if w.columns.shape[0] > LOOKAHEAD_CLASSES_MAX:
        possible = _accepts_any(w, i)
    else:
        possible = _leads_on_three(w, i)
    if possible:
        return True
    untake(w, i, cls)
    return False


@njit(cache=True, fastmath=False, nogil=True)
def can_go_on(w: Wants, i: int) -> bool:
    """Whether vertex i wants nothing, or would take a neighbour of some class."""
    if w.stubs[i] <= 0:
        return True
    if w.columns.shape[0] > LOOKAHEAD_CLASSES_MAX:
        return _accepts_any(w, i)
    for b in range(w.columns.shape[0]):
        if accepts(w, i, b, False) and take_wisely(w, i, b):
            untake(w, i, b)
            return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def match(
    g: Working,
    w: Wants,
    class_start: NDArray[np.int64],
    class_members: NDArray[np.int64],
    exactly: bool,
) -> None:
    """Insert edges between wanting vertices where each end wants the other's class.

    Wants come in descending order of stubs, and each class lists its members in that order, so
    the neediest vertex is served first and by the next neediest (Havel and Hakimi). A pair that
    failed once fails for ever, hence only later vertices are candidates.
    """
    head = class_start[:-1].copy()
    n_classes = len(head)
    for i in range(len(w.vertices)):
        v = w.vertices[i]
        a = g.cls[v]
        for step in range(n_classes):
            b = (step + i) % n_classes
            if not accepts(w, i, b, exactly):
                continue
            while head[b] < class_start[b + 1] and class_members[head[b]] <= i:
                head[b] += 1
            for at in range(head[b], class_start[b + 1]):
                other = class_members[at]
                if not accepts(w, other, a, exactly):
                    continue
                u = w.vertices[other]
                if has_edge(g, u, v):
                    continue
                if not take_wisely(w, i, b):
                    break
                if not take_wisely(w, other, a):
                    untake(w, i, b)
                    continue
                insert_edge(g, u, v)
                if not accepts(w, i, b, exactly):
                    break


@njit(cache=True, fastmath=False, nogil=True)
def settle(g: Working, table: Table, rule: Rule, w: Wants) -> None:
    """Place every vertex where it now is; keep the complete ones and the groups already safe.

    A group may be safe before it has all it wants, because targets leave part of the tolerance
    unspent; it then wants nothing more. The incomplete vertices of other groups are lifted again.
    """
    for i in range(len(w.vertices)):
        v = w.vertices[i]
        sensitive = np.int64(g.is_sensitive[v])
        if table.of_vertex[v] != NONE and w.stubs[i] > 0:
            locations.lift(table, rule, v, sensitive)
        if table.of_vertex[v] == NONE:
            locations.place(table, rule, v, g.cls[v], g.degree[v], g.hist[v], sensitive)
    fails = np.zeros(w.group.max() + 1 if len(w.group) else 0, dtype=np.bool_)
    for i in range(len(w.vertices)):
        if w.firm[i]:
            fails[w.group[i]] = True
    changed = True
    while changed:
        changed = False
        for i in range(len(w.vertices)):
            at = table.of_vertex[w.vertices[i]]
            if at != NONE and not locations.is_content(table, rule, at):
                fails[w.group[i]] = True
        for i in range(len(w.vertices)):
            v = w.vertices[i]
            if fails[w.group[i]] and w.stubs[i] > 0 and table.of_vertex[v] != NONE:
                locations.lift(table, rule, v, np.int64(g.is_sensitive[v]))
                changed = True
    for i in range(len(w.vertices)):
        if table.of_vertex[w.vertices[i]] != NONE:
            w.stubs[i] = 0


@njit(cache=True, fastmath=False, nogil=True)
def absorb(
    g: Working,
    table: Table,
    rule: Rule,
    w: Wants,
    by_class: NDArray[np.int32],
    class_start: NDArray[np.int64],
    tries_max: int,
    offset: int,
) -> None:
    """Serve leftover stubs by settled vertices that stay safe, and break no one, with one more.

    `by_class[class_start[b]:class_start[b + 1]]` are the vertices of class b; the search starts
    at a place that depends on `offset` and tries `tries_max` locations in vain per vertex.
    """
    failed = np.full(len(table.cls), NONE, dtype=np.int64)
    row = np.zeros(table.hist.shape[1], dtype=np.int32)
    query = 0
    for i in range(len(w.vertices)):
        v = w.vertices[i]
        tries = 0
        for b in range(len(class_start) - 1):
            length = class_start[b + 1] - class_start[b]
            cap = table.bucket_start[b + 1] - table.bucket_start[b] - 1
            if tries >= tries_max:
                break
            if length == 0 or not accepts(w, i, b, False):
                continue
            query += 1
            for step in range(length):
                u = by_class[class_start[b] + (offset + 7919 * query + step) % length]
                at = table.of_vertex[u]
                if at == NONE or u == v or failed[at] == query or g.degree[u] + 1 > cap:
                    continue
                if not locations.suffices(rule, table.ps_size[at], table.ps_sensitive[at]):
                    continue
                if has_edge(g, u, v):
                    continue
                row[:] = g.hist[u]
                for j in range(g.columns.shape[1]):
                    row[g.columns[g.cls[v], j]] += 1
                sensitive = np.int64(g.is_sensitive[u])
                if not locations.move_is_safe(table, rule, u, g.degree[u] + 1, row, sensitive):
                    failed[at] = query
                    tries += 1
                    if tries >= tries_max:
                        break
                    continue
                if not take_wisely(w, i, b):
                    break
                locations.lift(table, rule, u, sensitive)
                insert_edge(g, u, v)
                locations.place(table, rule, u, b, g.degree[u], g.hist[u], sensitive)
                failed[table.of_vertex[u]] = NONE
                if not accepts(w, i, b, False):
                    break
        if w.stubs[i] == 0 and table.of_vertex[v] == NONE:
            locations.place(
                table, rule, v, g.cls[v], g.degree[v], g.hist[v], np.int64(g.is_sensitive[v])
            )


class Plan(NamedTuple):
    """Vertices to insert: the class of each, and edges (position among them, row of wants)."""

    classes: NDArray[np.int32]
    edges: NDArray[np.int32]
    size: NDArray[np.int64]


@njit(cache=True, fastmath=False, nogil=True)
def _serve(
    g: Working,
    w: Wants,
    cls: int,
    wanted: NDArray[np.int32],
    places: int,
    seekers: NDArray[np.int64],
    n_seekers: int,
    plan: Plan,
    is_trial: bool,
) -> int:
    """Give an inserted vertex of class `cls` the seekers that `wanted` asks for; return how many.

    `wanted` counts what the vertex may take by column and is used up; a trial changes nothing
    else.
    """
    served = 0
    for at in range(n_seekers):
        if served == places:
            break
        i = seekers[at]
        if not accepts(w, i, cls, False):
            continue
        c = g.cls[w.vertices[i]]
        fits = True
        for j in range(g.columns.shape[1]):
            if wanted[g.columns[c, j]] <= 0:
                fits = False
                break
        if not fits:
            continue
        if not is_trial and not take_wisely(w, i, cls):
            continue
        for j in range(g.columns.shape[1]):
            wanted[g.columns[c, j]] -= 1
        served += 1
        if not is_trial:
            plan.edges[plan.size[1], 0] = plan.size[0]
            plan.edges[plan.size[1], 1] = i
            plan.size[1] += 1
    return served


@njit(cache=True, fastmath=False, nogil=True)
def plan_inserted(
    g: Working,
    table: Table,
    w: Wants,
    models: NDArray[np.int32],
    model_start: NDArray[np.int64],
    plan: Plan,
) -> None:
    """Plan inserted vertices that serve the leftover stubs and look like settled ones.

    `models[model_start[b]:model_start[b + 1]]` are safe locations of class b. Each inserted
    vertex copies the one of which the seekers fill most and leave least open. Where no model fits,
    it serves whom it can, and gets a target of its own next round. `plan` must hold one row per
    leftover stub.
    """
    seekers = np.zeros(len(w.vertices), dtype=np.int64)
    wanted = np.zeros(table.hist.shape[1], dtype=np.int32)
    for b in range(g.columns.shape[0]):
        n_seekers = 0
        for i in range(len(w.vertices)):
            if accepts(w, i, b, False):
                seekers[n_seekers] = i
                n_seekers += 1
        while n_seekers > 0:
            best, best_score = NONE, NONE
            for at in range(model_start[b], model_start[b + 1]):
                model = models[at]
                degree = table.degree[model]
                wanted[:] = table.hist[model]
                for j in range(g.columns.shape[1]):
                    wanted[g.columns[b, j]] -= 1
                served = _serve(g, w, b, wanted, degree, seekers, n_seekers, plan, True)
                score = 1000 * served // (degree + 2)
                if served > 0 and score > best_score:
                    best, best_score = model, score
            if best == NONE:
                wanted[:] = n_seekers
                places = max(1, min(n_seekers, 8))
            else:
                places = table.degree[best]
                wanted[:] = table.hist[best]
                for j in range(g.columns.shape[1]):
                    wanted[g.columns[b, j]] -= 1
            if _serve(g, w, b, wanted, places, seekers, n_seekers, plan, False) == 0:
                break
            plan.classes[plan.size[0]] = b
            plan.size[0] += 1
            still = 0
            for at in range(n_seekers):
                if accepts(w, seekers[at], b, False):
                    seekers[still] = seekers[at]
                    still += 1
            n_seekers = still


@njit(cache=True, fastmath=False, nogil=True)
def insert_edges(g: Working, edges: NDArray[np.int32]) -> None:
    """Insert absent edges, shape (m, 2)."""
    for i in range(len(edges)):
        insert_edge(g, edges[i, 0], edges[i, 1])
