"""Kernels that count protection sets exactly after every move.

The sets are the maximal ones of the definition, over the whole class. All vertices on one location
(class and histogram) have the same set, so locations are counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel

NOWHERE = -(2**30)
"""Size of the stars of a location where nobody is: alike to no other."""


Row = NDArray[np.int64]
"""Histogram of stars, and at last their size: shape (values + 1,)."""


class Tolerance(NamedTuple):
    """When stars are alike and protection sets safe.

    Attributes
    ----------
    k, degrees_apart:
        Least size of a protection set, greatest difference of degrees.
    alpha, t:
        Numerator and denominator.
    """

    k: int
    degrees_apart: int
    alpha: tuple[int, int]
    t: tuple[int, int]


class LocationTable(NamedTuple):
    """Where vertices are, and what protection sets the locations have.

    Attributes
    ----------
    of_vertex:
        int64, shape (n,): the location of each vertex, -1 where it has none yet.
    first, top:
        int64, shape (classes,): locations of a class are first..top-1; some may be free.
    size:
        int64, shape (n,): vertices of the stars, the centre included; `NOWHERE` where it is free.
    histogram:
        int64, shape (n, values): how often each value occurs in them.
    offsets:
        int64, shape (attributes + 1,): first value of each attribute.
    here, in_set:
        int64, shape (n, 3): vertices there and in their protection set: all, sensitive, real.
    floor:
        int64, shape (classes,): real members that protection sets need.
    unsafe:
        int64, shape (1,): locations with vertices that are not safe.
    found:
        int64, shape (n,): room for a list of locations.
    """

    of_vertex: NDArray[np.int64]
    first: NDArray[np.int64]
    top: NDArray[np.int64]
    size: NDArray[np.int64]
    histogram: NDArray[np.int64]
    offsets: NDArray[np.int64]
    here: NDArray[np.int64]
    in_set: NDArray[np.int64]
    floor: NDArray[np.int64]
    unsafe: NDArray[np.int64]
    found: NDArray[np.int64]


class Vertices(NamedTuple):
    """What does not change of vertices.

    Attributes
    ----------
    classes:
        int64, shape (n,).
    values:
        int64, shape (n, attributes): column of the histograms for each of its values.
    counts_as:
        int64, shape (n, 3): 1, whether it is sensitive, whether it is real.
    """

    classes: NDArray[np.int64]
    values: NDArray[np.int64]
    counts_as: NDArray[np.int64]


@inner_kernel
def is_within(
    histogram: NDArray[np.int64],
    offsets: NDArray[np.int64],
    t: tuple[int, int],
    row: Row,
    i: int,
    size: int,
) -> bool:
    """Return whether a location's distributions are within t of others.

    Of other stars.
    """
    bound = 2 * t[0] * row[-1] * size
    for a in range(len(offsets) - 1):
        off = 0
        for j in range(offsets[a], offsets[a + 1]):
            off += abs(row[j] * size - histogram[i, j] * row[-1])
        if off * t[1] > bound:
            return False
    return True


@inner_kernel
def find_alike(at: LocationTable, rule: Tolerance, c: int, row: Row) -> int:
    """List locations of class c with stars alike to others; count them."""
    n, size, apart, sizes = 0, row[-1], rule.degrees_apart, at.size
    for i in range(at.first[c], at.top[c]):
        if abs(sizes[i] - size) <= apart and is_within(
            at.histogram, at.offsets, rule.t, row, i, sizes[i]
        ):
            at.found[n] = i
            n += 1
    return n


@kernel
def row_of(at: LocationTable, v: int) -> Row:
    """Return the histogram and size of the star of a vertex."""
    i = at.of_vertex[v]
    return np.append(at.histogram[i], at.size[i])


@inner_kernel
def _is_unsafe(in_set: NDArray[np.int64], rule: Tolerance, floor: int) -> bool:
    """Return whether a protection set of these members is deficient."""
    size, sensitive, real = in_set[0], in_set[1], in_set[2]
    is_sensitive = sensitive * rule.alpha[1] > rule.alpha[0] * size
    return bool(size < rule.k or is_sensitive or real < floor)


@inner_kernel
def _count(at: LocationTable, rule: Tolerance, v_class: int, n: int, kind: Row, by: int) -> None:
    """Add or remove a vertex in the listed n locations' sets."""
    floor = at.floor[v_class]
    for i in at.found[:n]:
        was = at.here[i, 0] > 0 and _is_unsafe(at.in_set[i], rule, floor)
        for j in range(3):
            at.in_set[i, j] += by * kind[j]
        now = at.here[i, 0] > 0 and _is_unsafe(at.in_set[i], rule, floor)
        at.unsafe[0] += int(now) - int(was)


@inner_kernel
def _stand(at: LocationTable, rule: Tolerance, v_class: int, i: int, kind: Row, by: int) -> None:
    """Add or remove a vertex at a location, whatever its sets."""
    was = at.here[i, 0] > 0
    for j in range(3):
        at.here[i, j] += by * kind[j]
    if _is_unsafe(at.in_set[i], rule, at.floor[v_class]):
        at.unsafe[0] += int(at.here[i, 0] > 0) - int(was)


@kernel
def leave(at: LocationTable, vertices: Vertices, rule: Tolerance, v: int) -> None:
    """Take a vertex from where it is."""
    own, c, kind = at.of_vertex[v], vertices.classes[v], vertices.counts_as[v]
    n = find_alike(at, rule, c, row_of(at, v))
    _count(at, rule, c, n, kind, -1)
    at.of_vertex[v] = -1
    _stand(at, rule, c, own, kind, -1)
    if at.here[own, 0] == 0:
        at.size[own] = NOWHERE


@kernel
def arrive(at: LocationTable, vertices: Vertices, rule: Tolerance, v: int, row: Row) -> None:
    """Put a vertex where stars have a histogram and size."""
    c, kind = vertices.classes[v], vertices.counts_as[v]
    n = find_alike(at, rule, c, row)
    own = -1
    for i in at.found[:n]:
        if at.size[i] == row[-1] and np.array_equal(at.histogram[i], row[:-1]):
            own = i
    if own < 0:
        own = at.first[c]
        while own < at.top[c] and at.size[own] != NOWHERE:
            own += 1
        at.top[c] = max(at.top[c], own + 1)
        at.size[own] = row[-1]
        at.histogram[own] = row[:-1]
        at.in_set[own] = 0
        for i in at.found[:n]:
            at.in_set[own] += at.here[i]
        at.found[n] = own
        n += 1
    at.of_vertex[v] = own
    _count(at, rule, c, n, kind, 1)
    _stand(at, rule, c, own, kind, 1)
