"""Candidate sets: the possible vertices of a person over all releases.

Objects are numbers. u ~_i v iff both are absent from release i or u is in PS_i(v), and CS_all(v) is
the intersection over all releases. Similarity is not transitive, so these are no classes; but
objects that no release tells apart (equal presence, equal protection sets) form *atoms*, every
protection set is a union of atoms, and the pairs of atoms that are similar everywhere are CS_all.

Atoms are therefore the coarsest partition of the objects of which every PS_i is a union, and any
certificate by cohorts refines them.

How atoms are kept may be changed, except in what `saved_state` writes; the sets may not
(tests/ktsafe/audit/sequence/test_auditor.py).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import _candidates_core as core
from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.audited_release import CopyOnExtend, grown

ABSENT = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Stage:
    """One release as the candidates need it.

    Attributes
    ----------
    objects:
        int64, shape (n,): the objects that are present.
    group:
        int64, shape (n,): objects of one group have equal protection sets.
    similar:
        For each group those that make up its protection set.
    is_sensitive:
        bool, shape (n,).
    """

    objects: NDArray[np.int64]
    group: NDArray[np.int64]
    similar: Rows
    is_sensitive: NDArray[np.bool_]


class CandidateSets(CopyOnExtend):
    """CS_all of every object, carried from release to release.

    Attributes
    ----------
    atom_of:
        int64, by object: its atom, `ABSENT` if it was never present.
    pairs:
        For each atom the atoms of its CS_all, itself included.
    ever_sensitive:
        bool, by object: whether any release showed it sensitive.
    n_releases:
        How many releases there were.
    is_owned:
        bool, by object: whether the last release shows it with an owner.
    """

    def __init__(self) -> None:
        self.n_releases = 0
        self.atom_of = np.zeros(0, dtype=np.int64)
        self.pairs = Rows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self.ever_sensitive = np.zeros(0, dtype=np.bool_)
        self.is_owned = np.zeros(0, dtype=np.bool_)

    @property
    def n_atoms(self) -> int:
        """Number of atoms."""
        return len(self.pairs.pointer) - 1

    @property
    def known(self) -> NDArray[np.int64]:
        """The objects that were ever present, ascending."""
        return np.flatnonzero(self.atom_of >= 0)

    def add(self, stage: Stage, n_objects: int) -> None:
        """Intersect with one more release; object numbers are below `n_objects`."""
        atom_of = grown(self.atom_of, n_objects, ABSENT)
        ever = grown(self.ever_sensitive, n_objects, 0).copy()
        ever[stage.objects] |= stage.is_sensitive
        group_of = np.full(n_objects, ABSENT, dtype=np.int64)
        group_of[stage.objects] = stage.group
        n_former = self.n_atoms
        known = np.flatnonzero((atom_of >= 0) | (group_of >= 0))
        former = np.where(atom_of[known] >= 0, atom_of[known], n_former)
        n_groups = len(stage.similar.pointer)
        split, atom = np.unique(former * n_groups + group_of[known] + 1, return_inverse=True)
        parent, group = split // n_groups, split % n_groups - 1
        counts = np.bincount(parent, minlength=n_former + 1)
        children = Rows(np.concatenate(([0], np.cumsum(counts))), np.arange(len(split)))
        self.atom_of = np.full(n_objects, ABSENT, dtype=np.int64)
        self.atom_of[known] = atom.reshape(-1)
        self.pairs = _survivors(self.pairs, children, parent, group, stage.similar)
        self.ever_sensitive = ever
        self.n_releases += 1

    def settle(self) -> None:
        """Number atoms by least objects, independent of their history."""
        known = self.known
        _, first = np.unique(self.atom_of[known], return_index=True)
        number = np.empty(self.n_atoms, dtype=np.int64)
        number[np.argsort(first)] = np.arange(self.n_atoms)
        atom_of = self.atom_of.copy()
        atom_of[known] = number[self.atom_of[known]]
        row = np.repeat(number, np.diff(self.pairs.pointer))
        keys = np.sort((row << 32) | number[self.pairs.member])
        counts = np.bincount(row, minlength=self.n_atoms)
        self.atom_of = atom_of
        self.pairs = Rows(np.concatenate(([0], np.cumsum(counts))), keys & 0xFFFFFFFF)

    def mark_owned(self, objects: NDArray[np.int64], n_objects: int) -> None:
        """Note which objects have an owner in the last release."""
        self.is_owned = np.zeros(n_objects, dtype=np.bool_)
        self.is_owned[objects] = True

    def per_atom(self, objects: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many of `objects` each atom holds, int64, shape (atoms,)."""
        return np.bincount(self.atom_of[objects], minlength=self.n_atoms).astype(np.int64)

    def over_candidates(self, per_atom: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return sums of `per_atom` over atoms' CS_all, int64, (atoms,)."""
        return row_sums(self.pairs, per_atom)


def row_sums(rows: Rows, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each row the sum of `values` over its members, exactly."""
    total = np.concatenate(([0], np.cumsum(values[rows.member], dtype=np.int64)))
    return total[rows.pointer[1:]] - total[rows.pointer[:-1]]


def _survivors(
    before: Rows,
    children: Rows,
    parent: NDArray[np.int64],
    group: NDArray[np.int64],
    similar: Rows,
) -> Rows:
    pointer = np.zeros(len(parent) + 1, dtype=np.int64)
    nobody = np.zeros(0, dtype=np.int64)
    core.surviving_pairs(before, children, parent, group, similar, pointer, nobody)
    if pointer[-1] == 0:
        return Rows(pointer, nobody)
    member = np.empty(int(pointer[-1]), dtype=np.int64)
    core.surviving_pairs(before, children, parent, group, similar, pointer, member)
    return Rows(pointer, member)
