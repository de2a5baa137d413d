"""A small generator for kernels: its state is an argument, so nothing global decides a release."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, fastmath=False, nogil=True)
def next_word(state: NDArray[np.uint64]) -> np.uint64:
    """Advance a SplitMix64 state, shape (1,), and return 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, fastmath=False, nogil=True)
def below(state: NDArray[np.uint64], bound: int) -> int:
    """Return a random whole number from 0 to bound - 1, bound below 2**32."""
    return np.int64(((next_word(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, fastmath=False, nogil=True)
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a random number in [0, 1)."""
    return np.float64(next_word(state) >> np.uint64(11)) * 2.0**-53
