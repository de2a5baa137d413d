"""k and alpha for every set W, mostly without listing sets.

CS_W(v) shrinks as W grows, so k for W = all releases implies k for every W. Alpha does not carry
over: a larger set may be richer in sensitive vertices. It is decided in three steps, each exact:

1. *Certificate*: every atom has at least m = max(k, ceil(1/alpha)) members, of which at most alpha
   were ever sensitive. Every CS_W is a union of atoms, so all of them are safe. Atoms are the
   coarsest partition that could certify anything, so no other one can where this one does not.
2. *Bound*: for each release i, whatever W contains it, CS_W lies between CS_all and PS_i and is a
   union of atoms. If CS_all and all atoms of PS_i that are too sensitive together do not exceed
   alpha, no W does.
3. *Enumeration* of the distinct intersections that are left, within a budget; what stays undecided
   counts as a failure.

Alpha is not asked of a vertex that has too few candidates: it fails already.

For a window w below the number of releases, W has at most w members; a set that is too small for
W = all is then enumerated too.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit import _candidates_core as core
from ktsafe.sequence_audit._candidates_core import Rows
from ktsafe.sequence_audit.candidate_sets import CandidateSets, Stage, row_sums

SETS_MAX = 100_000
"""Distinct intersections looked at per audit before the rest is called undecided."""

SETS_PER_ATOM_MAX = 4_096


@dataclasses.dataclass(frozen=True, eq=False)
class Decision:
    """What holds for every W, atom by atom.

    Attributes
    ----------
    has_certificate:
        Whether all atoms satisfy the certificate for w = all.
    method:
        How alpha was decided: "certificate", "bound", "enumeration", or "not at all" where former
        releases are not kept and there is no certificate.
    has_too_few, is_too_sensitive, is_undecided:
        bool, shape (atoms,).
    sets_enumerated:
        Distinct intersections looked at.
    """

    has_certificate: bool
    method: str
    has_too_few: NDArray[np.bool_]
    is_too_sensitive: NDArray[np.bool_]
    is_undecided: NDArray[np.bool_]
    sets_enumerated: int


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
        return Decision(True, "certificate", none, none, none, 0)
    if not candidates.keeps_stages:
        return Decision(False, "not at all", has_few, none, ~has_few, 0)
    if window is not None and window >= candidates.n_releases:
        window = None
    search = _Search(candidates, params, window)
    open_at = search.bounds()
    if window is None:
        few = has_few
        rich = search.too_sensitive_for_all() & ~few
    else:
        few, rich = none.copy(), none.copy()
    undecided = none.copy()
    is_open = (open_at.any(axis=0) & ~rich & ~few) | (has_few & ~few)
    for atom in np.flatnonzero(is_open):
        found = search.enumerate(int(atom), open_at[:, atom], check_k=window is not None)
        few[atom] |= found.has_too_few
        rich[atom] |= found.is_too_sensitive and not found.has_too_few
        undecided[atom] = found.is_undecided
    method = "enumeration" if is_open.any() else "bound"
    return Decision(False, method, few, rich, undecided & ~few & ~rich, search.sets)


@dataclasses.dataclass(slots=True)
class _Found:
    has_too_few: bool = False
    is_too_sensitive: bool = False
    is_undecided: bool = False


class _Search:
    """The steps beyond the certificate."""

    def __init__(
        self, candidates: CandidateSets, params: PrivacyParams, window: int | None
    ) -> None:
        self._candidates = candidates
        self._params = params
        self._window = window
        self._sizes = candidates.per_atom(candidates.known)
        self._groups = np.array(
            [_groups_of_atoms(candidates, stage) for stage in candidates.stages], dtype=np.int64
        )
        self._excess = [
            _excess(
                candidates.per_atom(stage.objects[stage.is_sensitive]), self._sizes, params.alpha
            )
            for stage in candidates.stages
        ]
        similar = [stage.similar for stage in candidates.stages]
        n_members = np.cumsum([0, *(len(rows.member) for rows in similar)])
        self._first_row = np.cumsum([0, *(len(rows.pointer) for rows in similar)])[:-1]
        self._similar = Rows(
            np.concatenate([rows.pointer + n for rows, n in zip(similar, n_members, strict=False)]),
            np.concatenate([rows.member for rows in similar]),
        )
        self.sets = 0

    def bounds(self) -> NDArray[np.bool_]:
        """Return per release and atom whether a W could exceed alpha."""
        candidates, open_at = self._candidates, []
        for stage, group, excess in zip(candidates.stages, self._groups, self._excess, strict=True):
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
        rich = np.zeros(self._candidates.n_atoms, dtype=np.bool_)
        for group, excess in zip(self._groups, self._excess, strict=True):
            rich |= (group >= 0) & (self._candidates.over_candidates(excess) > 0)
        return rich

    def enumerate(self, atom: int, open_at: NDArray[np.bool_], *, check_k: bool) -> _Found:
        """Look at every distinct CS_W of an atom for open releases."""
        found = _Found()
        for i in np.flatnonzero((self._groups[:, atom] >= 0) & (open_at | check_k)).tolist():
            members = self._protection_set(i, atom)
            similar = core.similar_members(
                atom, members, self._groups, self._first_row, self._similar
            )
            sizes = self._sizes[members].tolist()
            excess = self._excess[i][members].tolist()
            sets, complete = self._intersections(_masks(similar), (1 << len(members)) - 1)
            found.is_undecided |= not complete
            for chosen in sets:
                inside = [x for x in range(len(members)) if chosen >> x & 1]
                found.is_too_sensitive |= sum(excess[x] for x in inside) > 0
                few = sum(sizes[x] for x in inside) < self._params.k
                found.has_too_few |= check_k and few
        return found

    def _protection_set(self, stage: int, atom: int) -> NDArray[np.int64]:
        """Return the atoms of PS_i of an atom that is present."""
        groups = self._groups[stage]
        similar = self._candidates.stages[stage].similar
        own = similar.member[similar.pointer[groups[atom]] : similar.pointer[groups[atom] + 1]]
        is_similar = np.zeros(len(similar.pointer), dtype=np.bool_)
        is_similar[own] = True
        # The last entry stands for absent atoms, whose group is -1; it is never set.
        return np.flatnonzero(is_similar[groups])

    def _intersections(self, masks: set[int], whole: int) -> tuple[set[int], bool]:
        """Return the distinct intersections of `whole` with fewer masks than the window.

        Second: whether all of them are there.
        """
        seen, layer, depth = {whole}, [whole], 0
        self.sets += 1
        while layer and (self._window is None or depth < self._window - 1):
            depth += 1
            fresh: list[int] = []
            for chosen in layer:
                for mask in masks:
                    smaller = chosen & mask
                    if smaller in seen:
                        continue
                    if len(seen) >= SETS_PER_ATOM_MAX or self.sets >= SETS_MAX:
                        return seen, False
                    seen.add(smaller)
                    self.sets += 1
                    fresh.append(smaller)
            layer = fresh
        return seen, True


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


def _masks(flags: NDArray[np.bool_]) -> set[int]:
    """Return the rows as bit masks, each once."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    return {int.from_bytes(row.tobytes(), "little") for row in packed}
