"""Kernels on a growing subgraph with counted protection sets.

It grows by fake vertices and edges.

A vertex is *prior* once it has been anonymized. For prior vertices the size of the maximal
protection set and its sensitive members are kept exact under every edit, so "affects the
privacy of v_l" (Algorithm 2, line 19) is a question with an exact answer.
"""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

N, M, FIRST_FAKE, PENDING = range(4)
"""Positions in `Growing.size`."""

EMD, BETA = 0, 1
"""What `Rule.distance` bounds: half L1 per attribute, or the relative change per value."""

HOSTLESS = -1
"""Layer of a duplicate that serves one edge only and is never looked up."""


class Rule(NamedTuple):
    """When two neighbourhoods are similar, and a vertex safe.

    Attributes
    ----------
    epsilon, k:
        As in the definition.
    t, alpha:
        Numerator and denominator.
    distance:
        `EMD` or `BETA`.
    hops:
        0 or 1.
    """

    epsilon: int
    k: int
    t: tuple[int, int]
    alpha: tuple[int, int]
    distance: int
    hops: int


class Growing(NamedTuple):
    """A subgraph under construction.

    N vertices, m edges, room for more of both.

    Attributes
    ----------
    size:
        int64, shape (4,): vertices, edges, the first vertex that was not given, and the one whose
        neighbours are being put together, -1 for none: it is in nobody's protection set yet.
    offsets:
        int64, shape (q + 1,): first histogram column of each attribute.
    columns:
        int64, shape (classes, q): the columns in which a vertex of each class counts.
    cls, degree:
        int32, per vertex: quasi-identifier class, and degree.
    is_sensitive, is_prior:
        bool, per vertex.
    hist:
        int32, per vertex and column: value counts of the closed neighbourhood.
    head:
        int64, per vertex: its first arc or -1. Arc 2e leaves edges[e, 0], arc 2e + 1 edges[e, 1].
    edges, next_arc:
        int32 (room, 2) and int64 (2 * room).
    class_head, class_tail, class_next:
        int64: the vertices of each class, ascending, as a linked list.
    dup_of, dup_head, dup_next, layer:
        int64, per vertex: whose duplicate it is or -1; its own duplicates as a linked list; the
        number of the copy that a duplicate belongs to.
    ps_size, ps_sensitive:
        int64, per prior vertex: its maximal protection set.
    mark:
        int64, per vertex: scratch.
    """

    size: NDArray[np.int64]
    offsets: NDArray[np.int64]
    columns: NDArray[np.int64]
    cls: NDArray[np.int32]
    degree: NDArray[np.int32]
    is_sensitive: NDArray[np.bool_]
    is_prior: NDArray[np.bool_]
    hist: NDArray[np.int32]
    head: NDArray[np.int64]
    edges: NDArray[np.int32]
    next_arc: NDArray[np.int64]
    class_head: NDArray[np.int64]
    class_tail: NDArray[np.int64]
    class_next: NDArray[np.int64]
    dup_of: NDArray[np.int64]
    dup_head: NDArray[np.int64]
    dup_next: NDArray[np.int64]
    layer: NDArray[np.int64]
    ps_size: NDArray[np.int64]
    ps_sensitive: NDArray[np.int64]
    mark: NDArray[np.int64]


@inner_kernel
def star_distance(degree_1: int, degree_2: int) -> int:
    """Return ged(HN(u, 1), HN(v, 1)) of two stars.

    A vertex and an edge per leaf more.
    """
    return 2 * abs(np.int64(degree_1) - np.int64(degree_2))


@inner_kernel
def att_similar(
    hist: NDArray[np.int32],
    v: int,
    other: NDArray[np.int32],
    sizes: tuple[int, int],
    offsets: NDArray[np.int64],
    rule: Rule,
) -> bool:
    """Return whether two rows are within t for every attribute.

    In integers (Eq. 1).
    """
    n1, n2 = sizes
    num, den = rule.t
    for j in range(len(offsets) - 1):
        total = np.int64(0)
        for x in range(offsets[j], offsets[j + 1]):
            one, two = hist[v, x] * n2, other[x] * n1
            gap = abs(one - two)
            if rule.distance == BETA and gap * den > num * min(one, two):
                return False
            total += gap
        if rule.distance == EMD and total * den > 2 * num * n1 * n2:
            return False
    return True


@inner_kernel
def resembles(g: Growing, rule: Rule, v: int, hist: NDArray[np.int32], degree: int) -> bool:
    """Return whether v's neighbourhood is similar to one so described.

    By histogram and degree.
    """
    if rule.hops == 0:
        return True
    own = np.int64(g.degree[v])
    if star_distance(own, degree) > rule.epsilon:
        return False
    return att_similar(g.hist, v, hist, (own + 1, np.int64(degree) + 1), g.offsets, rule)


@inner_kernel
def is_safe(rule: Rule, members: int, sensitive: int) -> bool:
    """Return whether a protection set is large and harmless enough (Definition 4)."""
    return members >= rule.k and sensitive * rule.alpha[1] <= members * rule.alpha[0]


# The loops below read arrays, not `g`: handing the whole tuple to a call per pair costs far more
# than comparing the pair.


@inner_kernel
def count_members(
    g: Growing, rule: Rule, v: int, other: NDArray[np.int32], other_degree: int
) -> tuple[int, int]:
    """Return v's set size and sensitive members for a given neighbourhood.

    Without the pending vertex: whom it resembles is known when it is counted in.
    """
    members, sensitive = np.int64(1), np.int64(g.is_sensitive[v])
    hist, degree, offsets, follow = g.hist, g.degree, g.offsets, g.class_next
    size, pending = np.int64(other_degree) + 1, g.size[PENDING]
    u = g.class_head[g.cls[v]]
    while u >= 0:
        own = np.int64(degree[u]) + 1
        if u not in (v, pending) and (
            rule.hops == 0
            or (
                star_distance(own, size) <= rule.epsilon
                and att_similar(hist, u, other, (own, size), offsets, rule)
            )
        ):
            members += 1
            sensitive += g.is_sensitive[u]
        u = follow[u]
    return members, sensitive


@inner_kernel
def affects_privacy(
    g: Growing, rule: Rule, v: int, other: NDArray[np.int32], other_degree: int
) -> bool:
    """Return whether this neighbourhood of v makes prior vertices unsafe.

    Line 19.

    A prior vertex that is not safe yet is the one at work; it must lose no member.
    """
    if rule.hops == 0:
        return False
    if g.is_prior[v]:
        members, sensitive = count_members(g, rule, v, other, other_degree)
        now = is_safe(rule, g.ps_size[v], g.ps_sensitive[v])
        if not now or not is_safe(rule, members, sensitive):
            return True
    hist, degree, offsets, follow = g.hist, g.degree, g.offsets, g.class_next
    is_prior, ps_size, ps_sensitive = g.is_prior, g.ps_size, g.ps_sensitive
    row, weight = hist[v], np.int64(g.is_sensitive[v])
    before, after = np.int64(degree[v]) + 1, np.int64(other_degree) + 1
    stop = g.size[FIRST_FAKE]
    u = g.class_head[g.cls[v]]
    while 0 <= u < stop:
        # Most prior vertices can gain or lose any one member; they need no comparison.
        at_stake = is_prior[u] and not (
            is_safe(rule, ps_size[u] - 1, ps_sensitive[u] - weight)
            and is_safe(rule, ps_size[u] + 1, ps_sensitive[u] + weight)
            and is_safe(rule, ps_size[u], ps_sensitive[u])
        )
        if at_stake and u != v:
            own = np.int64(degree[u]) + 1
            was = star_distance(own, before) <= rule.epsilon and att_similar(
                hist, u, row, (own, before), offsets, rule
            )
            will = star_distance(own, after) <= rule.epsilon and att_similar(
                hist, u, other, (own, after), offsets, rule
            )
            if was != will:
                step = 1 if will else -1
                if is_safe(rule, ps_size[u], ps_sensitive[u]):
                    if not is_safe(rule, ps_size[u] + step, ps_sensitive[u] + step * weight):
                        return True
                elif was:
                    return True
        u = follow[u]
    return False


@inner_kernel
def count_in(g: Growing, rule: Rule, v: int, step: int) -> None:
    """Add v to prior vertices' protection sets, or take it out.

    Step 1 or -1.

    The protection set of v itself, if it is prior, is counted anew when it is added.
    """
    hist, degree, offsets, follow = g.hist, g.degree, g.offsets, g.class_next
    is_prior, ps_size, ps_sensitive = g.is_prior, g.ps_size, g.ps_sensitive
    row, size, weight = hist[v], np.int64(degree[v]) + 1, np.int64(g.is_sensitive[v])
    stop = g.size[FIRST_FAKE]
    u = g.class_head[g.cls[v]]
    while 0 <= u < stop:
        if is_prior[u] and u != v:
            own = np.int64(degree[u]) + 1
            if rule.hops == 0 or (
                star_distance(own, size) <= rule.epsilon
                and att_similar(hist, u, row, (own, size), offsets, rule)
            ):
                ps_size[u] += step
                ps_sensitive[u] += step * weight
        u = follow[u]
    if is_prior[v] and step > 0:
        ps_size[v], ps_sensitive[v] = count_members(g, rule, v, row, degree[v])


@inner_kernel
def add_vertex(g: Growing, cls: int, dup_of: int, layer: int) -> int:
    """Append an isolated non-sensitive vertex, not counted in yet.

    The caller reserved room.
    """
    v = g.size[N]
    g.size[N] += 1
    g.cls[v], g.degree[v] = cls, 0
    g.is_sensitive[v], g.is_prior[v] = False, False
    g.hist[v] = 0
    for j in range(g.columns.shape[1]):
        g.hist[v, g.columns[cls, j]] = 1
    g.head[v], g.class_next[v], g.dup_head[v], g.mark[v] = -1, -1, -1, -1
    if g.class_tail[cls] >= 0:
        g.class_next[g.class_tail[cls]] = v
    else:
        g.class_head[cls] = v
    g.class_tail[cls] = v
    g.dup_of[v], g.layer[v], g.dup_next[v] = dup_of, layer, -1
    if layer != HOSTLESS:
        g.dup_next[v] = g.dup_head[dup_of]
        g.dup_head[dup_of] = v
    return v


@inner_kernel
def add_edge(g: Growing, u: int, v: int) -> None:
    """Insert an edge that does not exist.

    Protection sets are the caller's business.
    """
    e = g.size[M]
    g.size[M] += 1
    g.edges[e, 0], g.edges[e, 1] = u, v
    g.next_arc[2 * e], g.next_arc[2 * e + 1] = g.head[u], g.head[v]
    g.head[u], g.head[v] = 2 * e, 2 * e + 1
    g.degree[u] += 1
    g.degree[v] += 1
    for j in range(g.columns.shape[1]):
        g.hist[u, g.columns[g.cls[v], j]] += 1
        g.hist[v, g.columns[g.cls[u], j]] += 1


@inner_kernel
def far_end(g: Growing, arc: int) -> int:
    """Return the vertex that an arc leads to."""
    return np.int64(g.edges[arc >> 1, 1 - (arc & 1)])


@kernel
def load(g: Growing, classes: NDArray[np.int32], edges: NDArray[np.int32]) -> None:
    """Fill an empty subgraph with given vertices and edges."""
    g.size[PENDING] = -1
    for v in range(len(classes)):
        add_vertex(g, classes[v], -1, HOSTLESS)
    for e in range(len(edges)):
        add_edge(g, edges[e, 0], edges[e, 1])
    g.size[FIRST_FAKE] = g.size[N]
