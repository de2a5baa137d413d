"""Kernels of the candidate sets: pairs of atoms over one more release.

Bounds are checked by the caller. An *atom* is a set of objects that no release has told apart.

Loops may be made faster: tests/ktsafe/audit/sequence/test_auditor.py compares sets and atoms with
the definition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.kernels.compiler import kernel


class Rows(NamedTuple):
    """Sets of numbers: row r holds `member[pointer[r]:pointer[r + 1]]`, ascending."""

    pointer: NDArray[np.int64]
    member: NDArray[np.int64]


@kernel
def surviving_pairs(
    before: Rows,
    children: Rows,
    parent: NDArray[np.int64],
    group: NDArray[np.int64],
    similar: Rows,
    pointer: NDArray[np.int64],
    member: NDArray[np.int64],
) -> None:
    """Count or list the candidates of every atom after a release.

    Parameters
    ----------
    before:
        The candidates of every former atom.
    children:
        The atoms that each former atom has become; the last row holds the newborn ones, of which
        a group has one at most.
    parent:
        Former atom of each atom; for a newborn one the number of former atoms.
    group:
        Group of equal protection sets of each atom in this release, -1 if it is absent.
    similar:
        For each group the groups that make up its protection set.
    pointer:
        Offsets of the rows, filled in if `member` is empty, else used.
    member:
        Gets the candidates if it is not empty.
    """
    n_former = before.pointer.shape[0] - 1
    marked = np.full(similar.pointer.shape[0], -1, dtype=np.int64)
    newborn_of = np.full(similar.pointer.shape[0], -1, dtype=np.int64)
    for c in range(children.pointer[n_former], children.pointer[n_former + 1]):
        newborn_of[group[children.member[c]]] = children.member[c]
    listing = member.shape[0] > 0
    for x in range(parent.shape[0]):
        own = group[x]
        former = parent[x]
        count = 0
        if own >= 0:
            for s in range(similar.pointer[own], similar.pointer[own + 1]):
                marked[similar.member[s]] = x
                newborn = newborn_of[similar.member[s]]
                # In a first release all are newborn: nobody is looked for among all of them.
                if former == n_former and newborn >= 0:
                    if listing:
                        member[pointer[x] + count] = newborn
                    count += 1
        first = 0 if former == n_former else before.pointer[former]
        last = 0 if former == n_former else before.pointer[former + 1]
        for p in range(first, last):
            other = before.member[p]
            for c in range(children.pointer[other], children.pointer[other + 1]):
                y = children.member[c]
                there = group[y]
                if (own < 0 and there < 0) or (own >= 0 and there >= 0 and marked[there] == x):
                    if listing:
                        member[pointer[x] + count] = y
                    count += 1
        if listing:
            member[pointer[x] : pointer[x] + count].sort()
        else:
            pointer[x + 1] = pointer[x] + count
