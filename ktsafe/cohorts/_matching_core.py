"""Kernels that serve wants: vertex to vertex, vertex to settled vertex, plans for inserted ones."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.cohorts._wants_core import Wants, accepts, take_wisely, untake
from ktsafe.index import _table_core as locations
from ktsafe.index._table_core import NONE, Rule, Table
from ktsafe.working._graph_core import Working, has_edge, insert_edge


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
