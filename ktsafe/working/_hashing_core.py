"""Kernels that hash: edges into open-addressing sets, histograms into chains and runs."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, fastmath=False, nogil=True)
def edge_key(u: int, v: int) -> int:
    """Return smaller << 32 | greater: one number for an edge, whatever its direction."""
    return (np.int64(min(u, v)) << 32) | np.int64(max(u, v))


@njit(cache=True, fastmath=False, nogil=True)
def home_slot(key: int, slots: int) -> int:
    """Return where the search for a key begins; `slots` is a power of two."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(slots - 1))


@njit(cache=True, fastmath=False, nogil=True)
def row_hash(row: NDArray[np.int32], salt: int) -> np.uint64:
    """Return 64 bits of the counts of one histogram (FNV-1a); `salt` tells classes apart."""
    value = np.uint64(14695981039346656037) ^ np.uint64(salt)
    for x in range(len(row)):
        value = (value * np.uint64(1099511628211)) ^ np.uint64(row[x])
    return value


@njit(cache=True, fastmath=False, nogil=True)
def location_chain(cls: int, row: NDArray[np.int32], chains: int) -> int:
    """Return the hash chain of a location; `chains` is a power of two."""
    value = row_hash(row, cls)
    value ^= value >> np.uint64(29)
    return np.int64(value & np.uint64(chains - 1))
