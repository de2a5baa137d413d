"""Kernels that bring vertices home: edges change until nobody is unsafe."""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels import inner_kernel, kernel
from ktsafe.tolerant._locations_core import (
    LocationTable,
    Tolerance,
    Vertices,
    arrive,
    leave,
    row_of,
)

DRAWS = 16
"""Vertices of a class of which the one of highest degree is tried: it bears a change best."""

CHANGES_MAX = 8

TRIES = 40
"""Ways that are tried to bring one home."""

GIVE_UP = 0.3
"""How often a vertex that lacks a neighbour gives one up, to get two others."""

HAND_ON = 0.5
"""How often another of the class takes what a vertex has too much, or gives what it lacks."""


class Mendable(NamedTuple):
    """A release whose edges change, and where its vertices belong.

    Attributes
    ----------
    first, near, held:
        int64, shape (n + 1,), (room,) and (n,): the neighbours of each vertex, and room for more.
    home:
        int64, shape (n, values + 1): the histogram and size that the star of each shall have.
    class_first, members:
        int64, shape (classes + 1,) and (n,): the vertices of each class.
    values:
        int64, shape (classes, attributes): the columns in which a vertex of each class counts.
    """

    first: NDArray[np.int64]
    near: NDArray[np.int64]
    held: NDArray[np.int64]
    home: NDArray[np.int64]
    class_first: NDArray[np.int64]
    members: NDArray[np.int64]
    values: NDArray[np.int64]


Changes = NDArray[np.int64]
"""int64, shape (changes, 3): both ends, and 1 for an edge that comes, -1 for one that goes."""


@inner_kernel
def _adjacent(g: Mendable, u: int, v: int) -> bool:
    """Return whether u and v are one vertex or neighbours."""
    if u == v:
        return True
    if g.held[v] < g.held[u]:
        u, v = v, u
    is_there = False
    for i in range(g.first[u], g.first[u] + g.held[u]):
        is_there = is_there or g.near[i] == v
    return is_there


@inner_kernel
def _change_end(g: Mendable, u: int, v: int, by: int) -> None:
    """Note at u that the edge to v comes or goes."""
    last = g.first[u] + g.held[u]
    if by > 0:
        g.near[last] = v
    else:
        for i in range(g.first[u], last):
            if g.near[i] == v:
                g.near[i] = g.near[last - 1]
                break
    g.held[u] += by


@inner_kernel
def _apart(one: NDArray[np.int64], two: NDArray[np.int64]) -> int:
    """Return how far two rows are apart."""
    return np.abs(one - two).sum()


@inner_kernel
def _changed(
    at: LocationTable,
    vertices: Vertices,
    rule: Tolerance,
    g: Mendable,
    changes: Changes,
    v: int,
    more: int,
) -> bool:
    """Change edges if v comes nearer to its home and at most so many more locations are unsafe.

    Return whether it was done.
    """
    moved = np.empty(2 * len(changes), dtype=np.int64)
    rows = np.empty((2 * len(changes), at.histogram.shape[1] + 1), dtype=np.int64)
    before = np.empty_like(rows)
    n = 0
    for i in range(len(changes)):
        for side in range(2):
            u = changes[i, side]
            j = 0
            while j < n and moved[j] != u:
                j += 1
            if j == n:
                if g.first[u] + g.held[u] + 2 > g.first[u + 1]:
                    return False
                moved[n], rows[n], before[n] = u, row_of(at, u), row_of(at, u)
                n += 1
            for column in vertices.values[changes[i, 1 - side]]:
                rows[j, column] += changes[i, 2]
            rows[j, -1] += changes[i, 2]
    for j in range(n):
        u = moved[j]
        if u == v and _apart(rows[j], g.home[v]) >= _apart(before[j], g.home[v]):
            return False
        # Nobody bears more than the edit distance allows, or it is only deferred.
        if u != v and abs(rows[j, -1] - g.home[u, -1]) > rule.degrees_apart:
            return False
    unsafe = at.unsafe[0]
    for j in range(n):
        leave(at, vertices, rule, moved[j])
    for j in range(n):
        arrive(at, vertices, rule, moved[j], rows[j])
    if at.unsafe[0] > unsafe + more:
        for j in range(n):
            leave(at, vertices, rule, moved[j])
        for j in range(n):
            arrive(at, vertices, rule, moved[j], before[j])
        return False
    for i in range(len(changes)):
        _change_end(g, changes[i, 0], changes[i, 1], changes[i, 2])
        _change_end(g, changes[i, 1], changes[i, 0], changes[i, 2])
    return True


@inner_kernel
def _one_of(g: Mendable, at: LocationTable, c: int, v: int, rng: np.random.Generator) -> int:
    """Draw a vertex of class c that is neither v nor a neighbour of it; -1: none was found."""
    found = -1
    for _ in range(1 + int(rng.random() * DRAWS)):
        width = g.class_first[c + 1] - g.class_first[c]
        x = g.members[g.class_first[c] + int(rng.random() * width)]
        better = found < 0 or at.size[at.of_vertex[x]] > at.size[at.of_vertex[found]]
        # Who shall have no neighbours gets none.
        if better and g.home[x, -1] > 1 and not _adjacent(g, x, v):
            found = x
    return found


@inner_kernel
def _neighbour_of(g: Mendable, w: int, classes: NDArray[np.int64], c: int, v: int) -> int:
    """Return a neighbour of w in class c that is neither v nor a neighbour of v; -1: none."""
    for i in range(g.first[w], g.first[w] + g.held[w]):
        x = g.near[i]
        if classes[x] == c and not _adjacent(g, x, v):
            return x
    return -1


@inner_kernel
def _class_like(g: Mendable, lack: NDArray[np.int64], rng: np.random.Generator) -> int:
    """Draw a class among those that have most of the values that are lacking, above 0 in lack."""
    best, found, equal = -1, -1, 0
    for c in range(len(g.values)):
        fit = 0
        for column in g.values[c]:
            fit += int(lack[column] > 0)
        equal = 1 if fit > best else equal + int(fit == best)
        if fit > best or (fit == best and rng.random() * equal < 1):
            best, found = fit, c
    return found


@inner_kernel
def _worst(
    g: Mendable,
    classes: NDArray[np.int64],
    lack: NDArray[np.int64],
    v: int,
    w: int,
    rng: np.random.Generator,
) -> int:
    """Draw a neighbour of v, none of w, among those of whose values v has most too much; or -1."""
    best, found, equal = -1, -1, 0
    for i in range(g.first[v], g.first[v] + g.held[v]):
        y = g.near[i]
        if _adjacent(g, y, w) and w != v:
            continue
        fit = 0
        for column in g.values[classes[y]]:
            fit += int(lack[column] < 0)
        equal = 1 if fit > best else equal + int(fit == best)
        if fit > best or (fit == best and rng.random() * equal < 1):
            best, found = fit, y
    return found


@inner_kernel
def _drawn(
    at: LocationTable, vertices: Vertices, g: Mendable, v: int, rng: np.random.Generator
) -> Changes:
    """Draw changes that may bring v nearer to its home; none if none was found."""
    classes = vertices.classes
    changes = np.empty((CHANGES_MAX, 3), dtype=np.int64)
    lack = g.home[v] - row_of(at, v)
    n = 0
    n_less = int(lack[-1] <= 0) + int(rng.random() < GIVE_UP)
    for _ in range(n_less):
        w = _one_of_class(g, at, classes[v], v, rng) if rng.random() < HAND_ON else v
        y = _worst(g, classes, lack, v, w, rng)
        if y < 0 or (changes[:n, :2] == y).any():
            return changes[:0]
        changes[n] = v, y, -1
        n += 1
        if w != v:
            changes[n] = w, y, 1
            n += 1
        for column in g.values[classes[y]]:
            lack[column] += 1
        lack[-1] += 1
    while lack[-1] > 0 and n + 2 <= CHANGES_MAX:
        c = _class_like(g, lack, rng)
        w = _one_of_class(g, at, classes[v], v, rng) if rng.random() < HAND_ON else v
        x = _one_of(g, at, c, v, rng) if w == v else _neighbour_of(g, w, classes, c, v)
        if x < 0 or (changes[:n, :2] == x).any():
            return changes[:0]
        if w != v:
            changes[n] = w, x, -1
            n += 1
        changes[n] = v, x, 1
        n += 1
        for column in g.values[c]:
            lack[column] -= 1
        lack[-1] -= 1
    return changes[:n]


@inner_kernel
def _one_of_class(g: Mendable, at: LocationTable, c: int, v: int, rng: np.random.Generator) -> int:
    """Draw another vertex of v's own class, of high degree; v itself if there is none."""
    found = v
    for _ in range(1 + int(rng.random() * DRAWS)):
        width = g.class_first[c + 1] - g.class_first[c]
        x = g.members[g.class_first[c] + int(rng.random() * width)]
        better = found == v or at.size[at.of_vertex[x]] > at.size[at.of_vertex[found]]
        if x != v and better and g.home[x, -1] > 1:
            found = x
    return found


@kernel
def bring_home(
    at: LocationTable,
    vertices: Vertices,
    rule: Tolerance,
    g: Mendable,
    order: NDArray[np.int64],
    heat: float,
    rng: np.random.Generator,
) -> None:
    """Let vertices come home one after another, if fewer locations are unsafe then.

    Parameters
    ----------
    at, vertices, rule:
        Where vertices are; changed in place.
    g:
        The edges; changed in place.
    order:
        int64: vertices that are not at home.
    heat:
        0: only if fewer are. Else as many may be, and one more with this probability.
    rng:
        Draws the ways.
    """
    for v in order:
        for _ in range(TRIES):
            if at.unsafe[0] == 0:
                return
            if (g.home[v] == row_of(at, v)).all():
                break
            changes = _drawn(at, vertices, g, v, rng)
            if len(changes):
                more = int(heat > 0) + int(rng.random() < heat) - 1
                _changed(at, vertices, rule, g, changes, v, more)
