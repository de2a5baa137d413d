"""Kernels that plan cohorts whose members have nearly equal counts of each attribute's values."""

# mypy: disable-error-code="assignment,no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels import inner_kernel, kernel

OPPOSITE = 0.6
"""How often another cohort makes the opposite step: what both change together is little."""

INSERTED = 0.8
"""What a neighbour too many in a target counts for, where one too few counts for 1: an inserted
edge is easily undone, a hidden tie seldom."""

SHIFT = 0.7
"""How often one value takes the place of another, where else a neighbour more or less is wanted."""

Steps = NDArray[np.int64]
"""int64, shape (attributes,): a column of each attribute, -1 for none."""


class Targets(NamedTuple):
    """How many neighbours with each value the members of each cohort shall have.

    Attributes
    ----------
    counts:
        int64, shape (n, columns): how many each vertex has in truth; an attribute's values are
        columns in a row.
    members, first:
        int64, shape (n,), and int64, shape (cohorts + 1,): the vertices of each cohort.
    columns:
        int64, shape (cohorts, attributes): the columns in which a member of each counts.
    offsets:
        int64, shape (attributes + 1,): the first column of each attribute.
    wanted:
        int64, shape (cohorts, columns).
    between:
        int64, shape (columns, columns): neighbours with the second value that all vertices with
        the first one shall have together. Of a graph it is symmetric, with an even diagonal.
    """

    counts: NDArray[np.int64]
    members: NDArray[np.int64]
    first: NDArray[np.int64]
    columns: NDArray[np.int64]
    offsets: NDArray[np.int64]
    wanted: NDArray[np.int64]
    between: NDArray[np.int64]


@inner_kernel
def _add(t: Targets, c: int, column: int, by: int) -> tuple[float, int]:
    """Let a cohort want more of a value; return what deviation and asymmetry are more by."""
    deviation, asymmetry = 0.0, 0
    for i in range(t.first[c], t.first[c + 1]):
        lack = t.counts[t.members[i], column] - t.wanted[c, column]
        deviation += max(lack - by, -INSERTED * (lack - by)) - max(lack, -INSERTED * lack)
    t.wanted[c, column] += by
    for own in t.columns[c]:
        x = t.between[own, column] - t.between[column, own]
        y = t.between[own, column]
        t.between[own, column] += by * (t.first[c + 1] - t.first[c])
        if own == column:
            asymmetry += t.between[own, column] % 2 - y % 2
        else:
            asymmetry += abs(x + t.between[own, column] - y) - abs(x)
    return deviation, asymmetry


@inner_kernel
def _step(t: Targets, c: int, less: Steps, more: Steps) -> tuple[float, int]:
    """Take a step of a cohort; return what deviation and asymmetry are more by."""
    deviation, asymmetry = 0.0, 0
    for j in range(len(less)):
        for column, by in ((less[j], -1), (more[j], 1)):
            if column >= 0:
                d, a = _add(t, c, column, by)
                deviation += d
                asymmetry += a
    return deviation, asymmetry


@inner_kernel
def _draw(t: Targets, less: Steps, more: Steps, rng: np.random.Generator) -> None:
    """Draw a step of a cohort."""
    less[:], more[:] = -1, -1
    if rng.random() < SHIFT:
        j = int(rng.random() * len(less))
        width = t.offsets[j + 1] - t.offsets[j]
        less[j] = t.offsets[j] + int(rng.random() * width)
        more[j] = t.offsets[j] + int(rng.random() * width)
    else:
        # The neighbour that is wanted, or wanted no more, is like a member of some cohort.
        drawn = t.columns[int(rng.random() * len(t.columns))]
        if rng.random() < 0.5:
            more[:] = drawn
        else:
            less[:] = drawn


@kernel
def settle(t: Targets, n_trials: int, price: float, heat: float, rng: np.random.Generator) -> None:
    """Try steps of cohorts, one or two opposite ones at a time, that make targets fit better.

    Parameters
    ----------
    t:
        `wanted` and `between` are changed in place.
    n_trials:
        Steps that are tried.
    price:
        What asymmetry costs; deviation from the counts costs a half, shared by the attributes.
    heat:
        A step that costs x is taken with probability exp(-x / heat).
    """
    n_cohorts, n_attributes = t.columns.shape
    less = np.empty(n_attributes, np.int64)
    more = np.empty(n_attributes, np.int64)
    for _ in range(n_trials):
        c = int(rng.random() * n_cohorts)
        d = int(rng.random() * n_cohorts) if rng.random() < OPPOSITE else c
        _draw(t, less, more, rng)
        possible = True
        for j in range(n_attributes):
            if less[j] >= 0 and t.wanted[c, less[j]] == 0:
                possible = False
            if d != c and more[j] >= 0 and t.wanted[d, more[j]] == 0:
                possible = False
        if not possible:
            continue
        deviation, asymmetry = _step(t, c, less, more)
        if d != c:
            other = _step(t, d, more, less)
            deviation += other[0]
            asymmetry += other[1]
        cost = 0.5 / n_attributes * deviation + price * asymmetry
        if cost > 0 and rng.random() >= np.exp(-cost / heat):
            _step(t, c, more, less)
            if d != c:
                _step(t, d, less, more)


@kernel
def show(
    ties: NDArray[np.int32],
    order: NDArray[np.int64],
    columns: NDArray[np.int64],
    room: NDArray[np.int64],
    shown: NDArray[np.bool_],
) -> None:
    """Show ties in their order where both ends have room for all values of the other.

    Parameters
    ----------
    ties:
        int32, shape (m, 2).
    order:
        int64: ties, in the order in which they are tried.
    columns:
        int64, shape (n, attributes): the columns in which each vertex counts.
    room:
        int64, shape (n, columns): neighbours with each value that a vertex lacks; changed in place.
    shown:
        bool, shape (m,): changed in place.
    """
    for e in order:
        fits = True
        for side in range(2):
            for column in columns[ties[e, 1 - side]]:
                fits = fits and room[ties[e, side], column] > 0
        if fits:
            shown[e] = True
            for side in range(2):
                for column in columns[ties[e, 1 - side]]:
                    room[ties[e, side], column] -= 1


class Stubs(NamedTuple):
    """A stub for each neighbour that a vertex lacks, and the tuple that this neighbour shall have.

    Attributes
    ----------
    of_vertex:
        int64, shape (stubs,): ascending.
    first:
        int64, shape (n + 1,): the stubs of each vertex.
    values:
        int64, shape (stubs, attributes): which value, counted in its attribute.
    radix:
        int64, shape (attributes,): the tuple of values is the sum of their products with it.
    classes:
        int64, shape (n,).
    class_of, tuple_of:
        int64, shape (tuples,) and (classes,): -1 where no vertex has a tuple.
    number:
        int64, shape (classes, tuples): stubs of the members of a class for each tuple.
    """

    of_vertex: NDArray[np.int64]
    first: NDArray[np.int64]
    values: NDArray[np.int64]
    radix: NDArray[np.int64]
    classes: NDArray[np.int64]
    class_of: NDArray[np.int64]
    tuple_of: NDArray[np.int64]
    number: NDArray[np.int64]


@inner_kernel
def _surplus(s: Stubs, a: int, tuple_: int) -> int:
    """Return how many stubs of class a for a tuple find no partner; below 0: partners find none."""
    b = s.class_of[tuple_]
    if b < 0:
        return s.number[a, tuple_]
    if b == a:
        return s.number[a, tuple_] % 2
    return s.number[a, tuple_] - s.number[b, s.tuple_of[a]]


@inner_kernel
def _bump(s: Stubs, a: int, tuple_: int, by: int) -> int:
    """Count stubs of a class for a tuple; return how many more find no partner."""
    before = abs(_surplus(s, a, tuple_))
    s.number[a, tuple_] += by
    return abs(_surplus(s, a, tuple_)) - before


@inner_kernel
def _exchange(s: Stubs, a: int, one: int, two: int, step: int) -> int:
    """Count two stubs of class a that exchange a value; return how many more find no partner."""
    return (
        _bump(s, a, one, -1)
        + _bump(s, a, two, -1)
        + _bump(s, a, one + step, 1)
        + _bump(s, a, two - step, 1)
    )


@inner_kernel
def _tuple(s: Stubs, p: int) -> int:
    """Return the tuple of a stub."""
    found = 0
    for j in range(len(s.radix)):
        found += s.values[p, j] * s.radix[j]
    return found


@kernel
def pair_up(s: Stubs, order: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Let stubs that find no partner exchange values with others of their vertex, if that helps.

    Parameters
    ----------
    s:
        `values` and `number` are changed in place.
    order:
        int64: stubs, in the order in which they are tried.
    rng:
        Draws among equally good exchanges.
    """
    n_attributes = len(s.radix)
    for p in order:
        v = s.of_vertex[p]
        a, own = s.classes[v], _tuple(s, p)
        if _surplus(s, a, own) <= 0:
            continue
        best, other, at, equal = 1, -1, 0, 0
        for q in range(s.first[v], s.first[v + 1]):
            for j in range(n_attributes):
                step = (s.values[q, j] - s.values[p, j]) * s.radix[j]
                if step == 0:
                    continue
                two = _tuple(s, q)
                worse = _exchange(s, a, own, two, step)
                _exchange(s, a, own + step, two - step, -step)
                equal = 1 if worse < best else equal + int(worse == best)
                if worse < best or (worse == best and rng.random() * equal < 1):
                    best, other, at = worse, q, j
        if other >= 0 and best <= 0:
            step = (s.values[other, at] - s.values[p, at]) * s.radix[at]
            _exchange(s, a, own, _tuple(s, other), step)
            s.values[p, at], s.values[other, at] = s.values[other, at], s.values[p, at]
