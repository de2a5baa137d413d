"""Kernels that show and hide edges while everybody stays safe."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import inner_kernel, kernel
from ktsafe_lab.tolerant._locations_core import (
    LocationTable,
    Tolerance,
    Vertices,
    arrive,
    is_within,
    leave,
    row_of,
)

FLIPS_MAX = 3

TRIES = 6
"""Edges that are looked at to balance another one."""


class Edges(NamedTuple):
    """Edges that may be shown: true ties, and some others.

    Attributes
    ----------
    ends:
        int32, shape (m, 2).
    is_true, shown:
        bool, shape (m,).
    first, own:
        int64, shape (n + 1,), and int64, shape (2 m,): the edges at each vertex.
    """

    ends: NDArray[np.int32]
    is_true: NDArray[np.bool_]
    shown: NDArray[np.bool_]
    first: NDArray[np.int64]
    own: NDArray[np.int64]


@inner_kernel
def _are_alike(at: LocationTable, rule: Tolerance, c: int, row: NDArray[np.int64], n: int) -> bool:
    """Return whether n class-c vertices have stars like others.

    n or more.
    """
    size, apart, sizes = row[-1], rule.degrees_apart, at.size
    for i in range(at.first[c], at.top[c]):
        if n <= 0:
            break
        if abs(sizes[i] - size) <= apart and is_within(
            at.histogram, at.offsets, rule.t, row, i, sizes[i]
        ):
            n -= at.here[i, 0]
    return n <= 0


@inner_kernel
def _balance(edges: Edges, i: int, v: int, rng: np.random.Generator) -> int:
    """Return an edge at v that balances flipping i, else -1."""
    first, n = edges.first[v], edges.first[v + 1] - edges.first[v]
    found = -1
    for _ in range(TRIES):
        j = edges.own[first + int(rng.random() * n)]
        if j != i and edges.shown[j] != edges.shown[i]:
            found = j
            if edges.shown[j] != edges.is_true[j]:
                break
    return found


@inner_kernel
def _rows_after(
    at: LocationTable, vertices: Vertices, edges: Edges, flips: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Flip edges; return their ends with new histograms and sizes."""
    moved = np.empty(2 * len(flips), dtype=np.int64)
    rows = np.empty((2 * len(flips), at.histogram.shape[1] + 1), dtype=np.int64)
    n = 0
    for i in flips:
        edges.shown[i] = not edges.shown[i]
        for side in range(2):
            v, by = edges.ends[i, side], 1 if edges.shown[i] else -1
            j = 0
            while j < n and moved[j] != v:
                j += 1
            if j == n:
                moved[n] = v
                rows[n] = row_of(at, v)
                n += 1
            for value in vertices.values[edges.ends[i, 1 - side]]:
                rows[j, value] += by
            rows[j, -1] += by
    return moved[:n], rows[:n]


@inner_kernel
def _flip(
    at: LocationTable, vertices: Vertices, rule: Tolerance, edges: Edges, flips: NDArray[np.int64]
) -> bool:
    """Flip edges unless a person becomes unsafe; return whether it was done."""
    moved, rows = _rows_after(at, vertices, edges, flips)
    j, possible = 0, True
    while j < len(moved) and possible:
        # The others that move may come to the same place.
        possible = _are_alike(at, rule, vertices.classes[moved[j]], rows[j], rule.k - len(moved))
        j += 1
    if possible:
        before = np.empty_like(rows)
        for j, v in enumerate(moved):
            before[j] = row_of(at, v)
        for v in moved:
            leave(at, vertices, rule, v)
        for j, v in enumerate(moved):
            arrive(at, vertices, rule, v, rows[j])
        if at.unsafe[0] == 0:
            return True
        for v in moved:
            leave(at, vertices, rule, v)
        for j, v in enumerate(moved):
            arrive(at, vertices, rule, v, before[j])
    for i in flips:
        edges.shown[i] = not edges.shown[i]
    return False


@kernel
def search(
    at: LocationTable,
    vertices: Vertices,
    rule: Tolerance,
    edges: Edges,
    n_trials: int,
    heat: float,
    rng: np.random.Generator,
) -> None:
    """Flip random edges on trial, with others that keep degrees.

    Those of none, one or both ends.

    Those that undo more edits than they make are flipped if everybody stays safe; others as often
    as the heat allows.
    """
    flips = np.empty(FLIPS_MAX, dtype=np.int64)
    for _ in range(n_trials):
        flips[0] = int(rng.random() * len(edges.ends))
        if heat == 0 and edges.shown[flips[0]] == edges.is_true[flips[0]]:
            continue
        n = 1
        for side in range(2):
            if rng.random() < 0.5:
                j = _balance(edges, flips[0], edges.ends[flips[0], side], rng)
                if j >= 0 and j != flips[n - 1]:
                    flips[n] = j
                    n += 1
        gain = 0
        for i in flips[:n]:
            gain += 1 if edges.shown[i] != edges.is_true[i] else -1
        if gain >= 0 or (heat > 0 and rng.random() < np.exp(gain / heat)):
            _flip(at, vertices, rule, edges, flips[:n])
