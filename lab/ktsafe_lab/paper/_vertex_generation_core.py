"""Kernels that make one vertex after another kt-safe (Algorithm kt_safety_vertex)."""

# mypy: disable-error-code="no-any-return,return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel
from ktsafe_lab.paper._growing_core import (
    HOSTLESS,
    PENDING,
    Growing,
    M,
    N,
    Rule,
    add_edge,
    add_vertex,
    affects_privacy,
    att_similar,
    count_in,
    far_end,
    is_safe,
    resembles,
    star_distance,
)
from ktsafe_lab.paper._kt_tree_as_published_core import (
    KtTree,
    note_change,
    scan_candidates,
    tree_candidates,
)

PASSES_MAX = 8
"""How often a vertex is topped up; later edits of one pass may cost it an earlier member."""


class Work(NamedTuple):
    """What Algorithm 1 goes through, and scratch space.

    Attributes
    ----------
    queue:
        int32: Q_g, the vertices to anonymize in order.
    spent:
        int64, per queued vertex: vertices and edges inserted for it (u.C_mkt).
    found:
        int64: room for all vertices and tree nodes.
    chosen:
        int64: the classes of rehearsed neighbours; a longer rehearsal is given up.
    trial:
        int32, (2, columns): histograms under consideration.
    attached:
        Whether fake duplicates join the very neighbours where that affects nobody.
    """

    queue: NDArray[np.int32]
    spent: NDArray[np.int64]
    found: NDArray[np.int64]
    chosen: NDArray[np.int64]
    trial: NDArray[np.int32]
    attached: bool


@kernel
def anonymize_queue(g: Growing, tree: KtTree, rule: Rule, work: Work, begin: int) -> int:
    """Make queued vertices kt-safe from `begin` on.

    Return where it stopped for lack of room.
    """
    for position in range(begin, len(work.queue)):
        v = np.int64(work.queue[position])
        if len(tree.parent):
            count = tree_candidates(tree, g, rule, v, work.found)
        else:
            count = scan_candidates(g, rule, v, work.found)
        members, sensitive = np.int64(0), np.int64(0)
        others = np.int64(0)
        for x in range(count):  # lines 1-11: the initial protection set
            u = work.found[x]
            if u == v or resembles(g, rule, u, g.hist[v], g.degree[v]):
                members += 1
                sensitive += g.is_sensitive[u]
            else:
                work.found[others] = u
                others += 1
        if not has_room(g, rule, work, v, members, sensitive):
            return position
        before = g.size[N] + g.size[M]
        g.is_prior[v], g.ps_size[v], g.ps_sensitive[v] = True, members, sensitive
        for x in range(others):  # lines 12-23
            if g.ps_size[v] >= rule.k:
                break
            convert(g, tree, rule, work, v, work.found[x])
        for _ in range(PASSES_MAX):
            if is_safe(rule, g.ps_size[v], g.ps_sensitive[v]):
                break
            # Lines 24-26, then 27-29.
            duplicate(g, tree, rule, work, v, rule.k - g.ps_size[v])
            enough = -((-g.ps_sensitive[v] * rule.alpha[1]) // rule.alpha[0])
            duplicate(g, tree, rule, work, v, enough - g.ps_size[v])
        work.spent[position] = g.size[N] + g.size[M] - before
    return len(work.queue)


@inner_kernel
def has_room(g: Growing, rule: Rule, work: Work, v: int, members: int, sensitive: int) -> bool:
    """Return whether the arrays hold whatever making v safe can insert."""
    if is_safe(rule, members, sensitive):
        return True
    lacking = max(0, rule.k - members)
    worst = (sensitive + lacking) * rule.alpha[1] // rule.alpha[0] + 1
    # A conversion may copy a larger candidate with its neighbours, and add the rehearsed ones.
    largest = int(min(np.int64(g.degree[v]) + rule.epsilon, g.size[N])) + 1
    needed = PASSES_MAX * (lacking + worst) * (largest + 1) + lacking * (largest + len(work.chosen))
    return g.size[N] + needed <= len(g.cls) and g.size[M] + needed <= len(g.edges)


@inner_kernel
def convert(g: Growing, tree: KtTree, rule: Rule, work: Work, v: int, u: int) -> bool:
    """Rehearse u's fake neighbours into v.PS, and insert them (17-23).

    The neighbours are chosen one by one among the classes of v's neighbourhood, the one that
    brings the distributions closest first. Nothing is inserted unless conditions 1 and 2 of
    Definition 3 still hold at the end.
    """
    if rule.hops == 0:
        return False
    trial = work.trial[0]
    trial[:] = g.hist[u]
    degree, limit = np.int64(g.degree[u]), np.int64(g.degree[v])
    added = np.int64(0)
    while not att_similar(g.hist, v, trial, (limit + 1, degree + 1), g.offsets, rule):
        too_large = degree >= limit and star_distance(degree + 1, limit) > rule.epsilon
        if too_large or added == len(work.chosen):
            return False
        cls = closest_class(g, work, v, degree + 1)
        shift_class(g, trial, cls, 1)
        degree += 1
        work.chosen[added] = cls
        added += 1
    if star_distance(degree, limit) > rule.epsilon or added == 0:
        return False
    target = u
    if affects_privacy(g, rule, u, trial, degree):
        # Lines 19-22: the edit is carried out on a duplicate of u.
        target = add_vertex(g, g.cls[u], u, free_layer(g, u))
        connect_like(g, tree, rule, work, u, target)
    else:
        count_in(g, rule, u, -1)
    for x in range(added):
        leaf = add_vertex(g, work.chosen[x], -1, HOSTLESS)
        add_edge(g, target, leaf)
        count_in(g, rule, leaf, 1)
        note_change(tree, g, leaf)
    count_in(g, rule, target, 1)
    note_change(tree, g, target)
    return True


@inner_kernel
def shift_class(g: Growing, hist: NDArray[np.int32], cls: int, step: int) -> None:
    """Add a class's vertex to a histogram, or remove one."""
    for j in range(g.columns.shape[1]):
        hist[g.columns[cls, j]] += step


@inner_kernel
def closest_class(g: Growing, work: Work, v: int, degree: int) -> int:
    """Return the class in HN(v, 1) that brings the trial closest."""
    trial, wanted = work.trial[0], g.hist[v]
    n1, n2 = np.int64(g.degree[v]) + 1, np.int64(degree) + 1
    best, best_gap = np.int64(g.cls[v]), np.int64(-1)
    arc = g.head[v]
    cls = np.int64(g.cls[v])
    while True:
        shift_class(g, trial, cls, 1)
        gap = np.int64(0)
        for x in range(len(trial)):
            gap += abs(wanted[x] * n2 - trial[x] * n1)
        shift_class(g, trial, cls, -1)
        if best_gap < 0 or gap < best_gap or (gap == best_gap and cls < best):
            best, best_gap = cls, gap
        if arc < 0:
            return best
        cls = np.int64(g.cls[far_end(g, arc)])
        arc = g.next_arc[arc]


@inner_kernel
def copy_in_layer(g: Growing, v: int, layer: int) -> int:
    """Return v's duplicate in a layer, -1 without one."""
    u = g.dup_head[v]
    while u >= 0:
        if g.layer[u] == layer:
            return u
        u = g.dup_next[u]
    return np.int64(-1)


@inner_kernel
def free_layer(g: Growing, v: int) -> int:
    """Return the first layer in which v has no duplicate."""
    layer = np.int64(0)
    while copy_in_layer(g, v, layer) >= 0:
        layer += 1
    return layer


@kernel
def duplicate(g: Growing, tree: KtTree, rule: Rule, work: Work, v: int, count: int) -> None:
    """Add `count` fake duplicates of v with non-sensitive values.

    Lines 25 and 28.

    A duplicate that other vertices' duplicates have begun, as their neighbour, is completed.
    """
    layer = np.int64(0)
    while count > 0:
        copy = copy_in_layer(g, v, layer)
        if copy < 0:
            copy = add_vertex(g, g.cls[v], v, layer)
            connect_like(g, tree, rule, work, v, copy)
            count_in(g, rule, copy, 1)
            note_change(tree, g, copy)
            count -= 1
        elif (
            g.degree[copy] < g.degree[v]
            and not resembles(g, rule, v, g.hist[copy], g.degree[copy])
            and is_part_of(g, v, copy)
            and not affects_privacy(g, rule, copy, g.hist[v], g.degree[v])
        ):
            count_in(g, rule, copy, -1)
            connect_like(g, tree, rule, work, v, copy)
            count_in(g, rule, copy, 1)
            note_change(tree, g, copy)
            count -= 1
        layer += 1


@inner_kernel
def is_part_of(g: Growing, v: int, copy: int) -> bool:
    """Return whether copies' neighbours stand for v's other neighbours.

    Marks the neighbours of v that are represented with the copy's number.
    """
    expected = -2 - copy
    arc = g.head[v]
    while arc >= 0:
        g.mark[far_end(g, arc)] = expected
        arc = g.next_arc[arc]
    arc = g.head[copy]
    while arc >= 0:
        behind = far_end(g, arc)
        if g.mark[behind] != expected:
            behind = g.dup_of[behind]
            if behind < 0 or g.mark[behind] != expected:
                return False
        g.mark[behind] = copy
        arc = g.next_arc[arc]
    return True


@inner_kernel
def connect_like(g: Growing, tree: KtTree, rule: Rule, work: Work, v: int, copy: int) -> None:
    """Give a duplicate of v the edges of v that it lacks.

    The duplicate is not counted in.
    """
    if rule.hops == 0:
        return
    is_part_of(g, v, copy)
    g.size[PENDING] = copy
    layer = g.layer[copy]
    arc = g.head[v]
    while arc >= 0:
        w = far_end(g, arc)
        arc = g.next_arc[arc]
        if g.mark[w] != copy:
            host = free_host(g, rule, work, w, copy, layer)
            if host >= 0:
                count_in(g, rule, host, -1)
            else:
                taken = copy_in_layer(g, w, layer) >= 0
                host = add_vertex(g, g.cls[w], w, HOSTLESS if taken else layer)
            add_edge(g, copy, host)
            count_in(g, rule, host, 1)
            note_change(tree, g, host)
    g.size[PENDING] = -1


@inner_kernel
def free_host(g: Growing, rule: Rule, work: Work, w: int, copy: int, layer: int) -> int:
    """Return a harmless stand-in for w beside the copy, else -1.

    It is w itself where duplicates are `attached`, else w's duplicate in the copy's layer.
    """
    trial = work.trial[1]
    # A neighbour of v may be the duplicate of another one, and so be a host already.
    if work.attached and not is_adjacent(g, copy, w):
        trial[:] = g.hist[w]
        shift_class(g, trial, g.cls[copy], 1)
        if not affects_privacy(g, rule, w, trial, g.degree[w] + 1):
            return w
    host = copy_in_layer(g, w, layer)
    if host < 0 or host == copy or is_adjacent(g, copy, host):
        return np.int64(-1)
    trial[:] = g.hist[host]
    shift_class(g, trial, g.cls[copy], 1)
    if affects_privacy(g, rule, host, trial, g.degree[host] + 1):
        return np.int64(-1)
    return host


@inner_kernel
def is_adjacent(g: Growing, u: int, v: int) -> bool:
    """Return whether an edge joins u and v."""
    if g.degree[u] > g.degree[v]:
        u, v = v, u
    arc = g.head[u]
    while arc >= 0:
        if far_end(g, arc) == v:
            return True
        arc = g.next_arc[arc]
    return False
