"""The kernel that draws inserted edges to where people are close already."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe.index._columns_core import Bands
from ktsafe.polish import _edits_core as edits
from ktsafe.polish._annealing_core import Scene, is_crowded, try_pair
from ktsafe.polish._edits_core import ORIGINAL, Edits
from ktsafe.working._random_core import below

# Pairs of true ties that are looked at, and two-step neighbours that are tried, per end.
PAIRS_MAX = 64
TRIES_MAX = 4


class Ties(NamedTuple):
    """The true ties: the neighbours of v are `indices[indptr[v]:indptr[v + 1]]`, ascending."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


@njit(cache=True, fastmath=False, nogil=True)
def have_common(ties: Ties, u: int, v: int) -> bool:
    """Whether u and v have a neighbour in common, among those that are looked at."""
    n = len(ties.indptr) - 1
    if u >= n or v >= n:
        return False
    i, j = ties.indptr[u], ties.indptr[v]
    for _ in range(PAIRS_MAX):
        if i == ties.indptr[u + 1] or j == ties.indptr[v + 1]:
            return False
        if ties.indices[i] == ties.indices[j]:
            return True
        if ties.indices[i] < ties.indices[j]:
            i += 1
        else:
            j += 1
    return False


@njit(cache=True, fastmath=False, nogil=True)
def _two_steps(ties: Ties, u: int, random: NDArray[np.uint64]) -> int:
    """Return where two random steps from u lead, u itself where there are none."""
    v = u
    for _ in range(2):
        degree = ties.indptr[v + 1] - ties.indptr[v]
        if degree == 0:
            return u
        v = ties.indices[ties.indptr[v] + below(random, degree)]
    return v


@njit(cache=True, fastmath=False, nogil=True)
def _try_closer(
    b: Bands,
    s: Scene,
    e: Edits,
    ties: Ties,
    i: int,
    side: int,
    random: NDArray[np.uint64],
    rows: NDArray[np.int32],
) -> bool:
    """Let one end of an inserted edge go to a two-step neighbour of the other, if all bear it.

    It is of the same class as who was there, so that the other end sees no difference.
    """
    u, v = e.ends[i, side], e.ends[i, 1 - side]
    if u >= len(ties.indptr) - 1:
        return False
    for _ in range(TRIES_MAX):
        w = _two_steps(ties, u, random)
        if s.cls[w] != s.cls[v] or w in (u, v) or edits.find(e, u, w) >= 0:
            continue
        if try_pair(b, s, v, -1, w, 1, (s.cls[u], s.cls[u]), rows):
            edits.toggle(e, u, v)
            edits.toggle(e, u, w)
            return True
    return False


@njit(cache=True, fastmath=False, nogil=True)
def draw_closer(
    b: Bands, s: Scene, e: Edits, ties: Ties, last: int, random: NDArray[np.uint64]
) -> int:
    """Try that for each inserted edge of two without a common neighbour, from `last` downwards.

    Returns the position that is to be tried next where room is short (`is_crowded`), or the
    number of original edges less one.
    """
    rows = np.zeros((3, b.hist.shape[1]), dtype=np.int32)
    i = last
    while i >= e.counts[ORIGINAL] and not is_crowded(b, e):
        if not have_common(ties, e.ends[i, 0], e.ends[i, 1]):
            side = below(random, 2)
            if not _try_closer(b, s, e, ties, i, side, random, rows):
                _try_closer(b, s, e, ties, i, 1 - side, random, rows)
        i -= 1
    return i
