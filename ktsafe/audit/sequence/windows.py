"""k and alpha for every set W, mostly without listing sets.

CS_W(v) shrinks as W grows, so k for W = all releases implies k for every W. Alpha does not carry
over: a larger set may be richer in sensitive vertices. It is decided in two steps, each exact:

1. *Certificate*: every atom has at least m = max(k, ceil(1/alpha)) members, of which at most alpha
   were ever sensitive. Every CS_W is a union of atoms, so all of them are safe. Atoms are the
   coarsest partition that could certify anything, so no other one can where this one does not.
2. *Bound*: for each release i, whatever W contains it, CS_W lies between CS_all and PS_i and is a
   union of atoms. If CS_all and all atoms of PS_i that are too sensitive together do not exceed
   alpha, no W does.
What is left is undecided, which counts as a failure. `ktsafe_lab.enumerated_windows` lists the
distinct intersections that are left.

Alpha is not asked of a vertex that has too few candidates: it fails already.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence.candidate_sets import CandidateSets, Stage, row_sums
from ktsafe.params import PrivacyParams


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


def decide(candidates: CandidateSets, params: PrivacyParams) -> Decision:
    """Return whether every |CS_W| >= k and every sensitive share <= alpha."""
    sizes = candidates.per_atom(candidates.known)
    ever = candidates.per_atom(np.flatnonzero(candidates.ever_sensitive))
    has_few = candidates.over_candidates(sizes) < params.k
    too_rich = _excess(ever, sizes, params.alpha) > 0
    none = np.zeros(len(sizes), dtype=np.bool_)
    if not too_rich.any() and (sizes >= params.group_size_min).all():
        return Decision(True, "certificate", none, none, none)
    if not candidates.keeps_stages:
        return Decision(False, "not at all", has_few, none, ~has_few)
    bounds = Bounds(candidates, params)
    is_open = bounds.open_at().any(axis=0)
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
