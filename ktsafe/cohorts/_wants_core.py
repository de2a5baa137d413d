"""What lifted vertices still lack to their targets, and whether that can still be had."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# With more classes than this, looking several neighbours ahead takes longer than it saves.
LOOKAHEAD_CLASSES_MAX = 256


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
