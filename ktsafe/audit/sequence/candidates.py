"""Candidate sets over a sequence.

The possible vertices of a person after all releases so far.

Objects are numbers. u ~_i v iff both are absent from release i or u is in PS_i(v), and CS_all(v) is
the intersection over all releases. Similarity is not transitive, so these are no classes; but
objects that no release tells apart (equal presence, equal protection sets) form *atoms*, every
protection set is a union of atoms, and the pairs of atoms that are similar everywhere are CS_all.

Atoms are therefore the coarsest partition of the objects of which every PS_i is a union, and any
certificate by cohorts refines them.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import _candidates_core as core
from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.audited_release import CopyOnExtend, grown
from ktsafe.params import PrivacyParams

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
    stages:
        The releases, if they are kept: only they tell the sets of releases apart.
    is_owned:
        bool, by object: whether the last release shows it with an owner.
    """

    NOT_SAVED = frozenset({"stages", "keeps_stages"})

    def __init__(self, *, keeps_stages: bool = True) -> None:
        self.keeps_stages = keeps_stages
        self.n_releases = 0
        self.atom_of = np.zeros(0, dtype=np.int64)
        self.pairs = Rows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self.ever_sensitive = np.zeros(0, dtype=np.bool_)
        self.stages: tuple[Stage, ...] = ()
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
        if self.keeps_stages:
            self.stages = (*self.stages, stage)

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


# Figures of candidate sets as distributions: how many candidates, and how sensitive.


def counts(
    values: NDArray[np.int64], k: int, times: NDArray[np.int64] | None = None
) -> dict[str, Any]:
    """Summarize numbers of candidates; quantiles are lower ones, so each was seen.

    `times` says how often each value counts.
    """
    if not len(values):
        return {"vertices": 0, "min": None, "p1": None, "p5": None, "median": None, "below_k": 0}
    if times is None:
        times = np.ones(len(values), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    until = np.cumsum(times[order])
    n = int(until[-1])
    p1, p5, median = _at(values[order], until, [(n - 1) // 100, (n - 1) // 20, (n - 1) // 2])
    return {
        "vertices": n,
        "min": int(values.min()),
        "p1": p1,
        "p5": p5,
        "median": median,
        "below_k": int(times[values < k].sum()),
    }


def shares(
    values: NDArray[np.float64], n_above: int, times: NDArray[np.int64] | None = None
) -> dict[str, Any]:
    """Summarize shares; how many exceed alpha was decided on integers.

    `times` says how often each value counts.
    """
    if not len(values):
        return {"max": None, "p99": None, "p95": None, "median": None, "above_alpha": 0}
    if times is None:
        times = np.ones(len(values), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    until = np.cumsum(times[order])
    n = int(until[-1])
    # Higher quantiles, so each was seen.
    places = [-(-99 * (n - 1) // 100), -(-95 * (n - 1) // 100), n // 2]
    p99, p95, median = _at(values[order].round(6), until, places)
    return {
        "max": round(float(values.max()), 6),
        "p99": p99,
        "p95": p95,
        "median": median,
        "above_alpha": n_above,
    }


def _at(values: NDArray[Any], until: NDArray[np.int64], places: list[int]) -> list[Any]:
    """Return values at list places that stand until some place."""
    found: list[Any] = values[np.searchsorted(until, places, side="right")].tolist()
    return found


def sizes(candidates: CandidateSets, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return |CS_all| of some objects."""
    per_atom = candidates.over_candidates(candidates.per_atom(candidates.known))
    found: NDArray[np.int64] = per_atom[candidates.atom_of[objects]]
    return found


def sensitive_shares(candidates: CandidateSets, params: PrivacyParams) -> dict[str, Any]:
    """Summarize CS_all's greatest sensitive share at any release.

    Over all objects.

    Complexity: releases times (objects plus pairs of atoms).
    """
    sizes = candidates.over_candidates(candidates.per_atom(candidates.known))
    worst = np.zeros(candidates.n_atoms, dtype=np.int64)
    for stage in candidates.stages:
        sensitive = candidates.over_candidates(
            candidates.per_atom(stage.objects[stage.is_sensitive])
        )
        # Members of CS_all have equal presence: where v is absent, none of them counts.
        worst = np.maximum(worst, sensitive)
    alpha: Fraction = params.alpha
    above = worst * alpha.denominator > sizes * alpha.numerator
    atom = candidates.atom_of[candidates.known]
    return shares((worst / np.maximum(sizes, 1))[atom], int(np.count_nonzero(above[atom])))


def candidate_figures(candidates: CandidateSets, params: PrivacyParams) -> dict[str, Any]:
    """Summarize candidates over all objects, and people over owned ones.

    Candidates are |CS_all|.

    An attacker that knows the departed people excludes the places that they left behind, and so
    does this count: of the candidates that all releases since the place appeared leave, those that
    are people today.
    """
    known = candidates.known
    sizes = candidates.over_candidates(candidates.per_atom(known))
    atom = candidates.atom_of
    owned = known[candidates.is_owned[known]]
    per_atom = candidates.per_atom(known)
    return {
        "atoms": candidates.n_atoms,
        "atom_size_min": int(per_atom.min()) if len(per_atom) else None,
        "candidates": counts(sizes[atom[known]], params.k),
        "candidates_real_leavers_known": real_candidates(candidates, params, owned),
    }


def real_candidates(
    candidates: CandidateSets, params: PrivacyParams, objects: NDArray[np.int64]
) -> dict[str, Any]:
    """Summarize for some objects how many members of CS_all are people today."""
    return counts(_people(candidates)[candidates.atom_of[objects]], params.k)


def sensitive_people(
    candidates: CandidateSets, params: PrivacyParams, sensitive: NDArray[np.int64]
) -> dict[str, Any]:
    """Summarize the sensitive share of people in owners' CS_all.

    Parameters
    ----------
    sensitive:
        int64: the objects with an owner whose own value was ever shown as sensitive, wherever.
    """
    people, alpha = _people(candidates), params.alpha
    among = candidates.over_candidates(candidates.per_atom(sensitive))
    known = candidates.known
    atom = candidates.atom_of[known[candidates.is_owned[known]]]
    above = among * alpha.denominator > people * alpha.numerator
    return shares((among / np.maximum(people, 1))[atom], int(np.count_nonzero(above[atom])))


def _people(candidates: CandidateSets) -> NDArray[np.int64]:
    """Return for each atom how many members of CS_all are people today."""
    known = candidates.known
    return candidates.over_candidates(candidates.per_atom(known[candidates.is_owned[known]]))


# k and alpha for every set W, mostly without listing sets.
#
# CS_W(v) shrinks as W grows, so k for W = all releases implies k for every W. Alpha does not carry
# over: a larger set may be richer in sensitive vertices. It is decided in two steps, each exact:
#
# 1. *Certificate*: every atom has at least m = max(k, ceil(1/alpha)) members, of which at most
# alpha were ever sensitive. Every CS_W is a union of atoms, so all of them are safe. Atoms are the
# coarsest partition that could certify anything, so no other one can where this one does not. 2.
# *Bound*: for each release i, whatever W contains it, CS_W lies between CS_all and PS_i and is a
# union of atoms. If CS_all and all atoms of PS_i that are too sensitive together do not exceed
# alpha, no W does. What is left is undecided, which counts as a failure.
# `ktsafe_lab.enumerated_windows` lists the distinct intersections that are left.
#
# Alpha is not asked of a vertex that has too few candidates: it fails already. For a window w below
# the number of releases, W has at most w members; a set that is too small for W = all is then left.


@dataclasses.dataclass(frozen=True, eq=False)
class Decision:
    """What holds for every W, atom by atom.

    Attributes
    ----------
    has_certificate:
        Whether all atoms satisfy the certificate for w = all.
    method:
        How alpha was decided: "certificate", "bound", or "not at all" where former releases are not
        kept and there is no certificate.
    has_too_few, is_too_sensitive, is_undecided:
        bool, shape (atoms,).
    """

    has_certificate: bool
    method: str
    has_too_few: NDArray[np.bool_]
    is_too_sensitive: NDArray[np.bool_]
    is_undecided: NDArray[np.bool_]


def decide(candidates: CandidateSets, params: PrivacyParams, window: int | None) -> Decision:
    """Return whether every |CS_W| >= k and every sensitive share <= alpha.

    Parameters
    ----------
    window:
        Greatest number of releases in W; None means any.
    """
    sizes = candidates.per_atom(candidates.known)
    ever = candidates.per_atom(np.flatnonzero(candidates.ever_sensitive))
    has_few = candidates.over_candidates(sizes) < params.k
    too_rich = _excess(ever, sizes, params.alpha) > 0
    none = np.zeros(len(sizes), dtype=np.bool_)
    if not too_rich.any() and (sizes >= params.group_size_min).all():
        return Decision(True, "certificate", none, none, none)
    if not candidates.keeps_stages:
        return Decision(False, "not at all", has_few, none, ~has_few)
    if window is not None and window >= candidates.n_releases:
        window = None
    bounds = Bounds(candidates, params)
    is_open = bounds.open_at().any(axis=0)
    if window is not None:
        return Decision(False, "bound", none, none, is_open | has_few)
    rich = bounds.too_sensitive_for_all() & ~has_few
    return Decision(False, "bound", has_few, rich, is_open & ~rich & ~has_few)


class Bounds:
    """The step beyond the certificate."""

    def __init__(self, candidates: CandidateSets, params: PrivacyParams) -> None:
        self.candidates = candidates
        self.sizes = candidates.per_atom(candidates.known)
        self.groups = np.array(
            [_groups_of_atoms(candidates, stage) for stage in candidates.stages], dtype=np.int64
        )
        self.excess = [
            _excess(
                candidates.per_atom(stage.objects[stage.is_sensitive]), self.sizes, params.alpha
            )
            for stage in candidates.stages
        ]

    def open_at(self) -> NDArray[np.bool_]:
        """Return per release and atom whether a W could exceed alpha."""
        candidates, open_at = self.candidates, []
        for stage, group, excess in zip(candidates.stages, self.groups, self.excess, strict=True):
            worst = np.maximum(excess, 0)
            is_there = group >= 0
            n_groups = len(stage.similar.pointer) - 1
            by_group = np.zeros(n_groups, dtype=np.int64)
            np.add.at(by_group, group[is_there], worst[is_there])
            around = np.zeros(len(group), dtype=np.int64)
            around[is_there] = row_sums(stage.similar, by_group)[group[is_there]]
            base = candidates.over_candidates(excess - worst)
            open_at.append(is_there & (around + base > 0))
        return np.array(open_at, dtype=np.bool_).reshape(len(open_at), candidates.n_atoms)

    def too_sensitive_for_all(self) -> NDArray[np.bool_]:
        """Return the atoms with a CS_all that exceeds alpha at some release.

        The array is bool, shape (atoms,).
        """
        rich = np.zeros(self.candidates.n_atoms, dtype=np.bool_)
        for group, excess in zip(self.groups, self.excess, strict=True):
            rich |= (group >= 0) & (self.candidates.over_candidates(excess) > 0)
        return rich


def _groups_of_atoms(candidates: CandidateSets, stage: Stage) -> NDArray[np.int64]:
    """Return each atom's group in a release, -1 if absent."""
    group = np.full(candidates.n_atoms, -1, dtype=np.int64)
    group[candidates.atom_of[stage.objects]] = stage.group
    return group


def _excess(
    part: NDArray[np.int64], whole: NDArray[np.int64], alpha: Fraction
) -> NDArray[np.int64]:
    """Return an additive number, positive iff the share exceeds alpha."""
    return part * alpha.denominator - whole * alpha.numerator
