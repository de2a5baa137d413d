"""Kernels that group lifted vertices and choose the neighbourhoods they shall share."""

# mypy: disable-error-code="no-any-return,return-value"
# Compiled code mixes numpy scalars with plain ones; the annotations name the plain kind.

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ktsafe import _locations_core as locations
from ktsafe._locations_core import NONE, Rule, Table


@njit(cache=True, fastmath=False, nogil=True)
def seed(
    is_sensitive: NDArray[np.bool_], size: int, alpha_num: int, alpha_den: int
) -> NDArray[np.int32]:
    """Group one class, given in descending degree, into consecutive cohorts of `size`.

    A cohort that has its fill of sensitive members takes the next others instead; sensitive ones
    wait for the next cohort. Returns the cohort of each vertex; the last may be too small.
    """
    n = len(is_sensitive)
    cohort = np.full(n, NONE, dtype=np.int32)
    sensitive_max = size * alpha_num // alpha_den
    first, current = 0, 0
    while first < n:
        taken, sensitive = 0, 0
        for i in range(first, n):
            if taken == size:
                break
            if cohort[i] != NONE or (is_sensitive[i] and sensitive >= sensitive_max):
                continue
            cohort[i] = current
            taken += 1
            sensitive += is_sensitive[i]
        current += 1
        while first < n and cohort[first] != NONE:
            first += 1
    return cohort


@njit(cache=True, fastmath=False, nogil=True)
def join(
    table: Table,
    rule: Rule,
    cls: int,
    degree: int,
    row: NDArray[np.int32],
    sensitive: int,
    reach: int,
) -> int:
    """Return the cheapest settled location that dominates `row`, at most `reach` edges away.

    A sensitive vertex joins only where its protection set stays within alpha. Returns NONE where
    no location qualifies.
    """
    cap = table.bucket_start[cls + 1] - table.bucket_start[cls] - 1
    for d in range(degree, min(cap, degree + reach) + 1):
        at = table.bucket_head[table.bucket_start[cls] + d]
        while at != NONE:
            dominates = True
            for x in range(len(row)):
                if table.hist[at, x] < row[x]:
                    dominates = False
                    break
            if dominates and locations.can_bear(table, rule, at, sensitive):
                return at
            at = table.bucket_next[at]
    return NONE
