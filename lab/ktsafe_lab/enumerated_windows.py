"""Sets of releases one by one, where there is no certificate.

Their distinct intersections are listed, within a budget; what stays undecided counts as a failure.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import SequenceAuditor, windows
from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.candidate_sets import CandidateSets, Stage
from ktsafe.params import PrivacyParams
from ktsafe_lab import _enumerated_windows_core as core

SETS_MAX = 100_000
"""Distinct intersections looked at per audit before the rest is called undecided."""

SETS_PER_ATOM_MAX = 4_096


class KeptCandidateSets(CandidateSets):
    """Candidate sets with the releases that they are of."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: tuple[Stage, ...] = ()

    def add(self, stage: Stage, n_objects: int) -> None:
        """Intersect with one more release, and keep it."""
        super().add(stage, n_objects)
        self.stages = (*self.stages, stage)


class EnumeratingAuditor(SequenceAuditor):
    """An auditor that lists candidate sets where `SequenceAuditor` is undecided."""

    def _new_view(self) -> CandidateSets:
        return KeptCandidateSets()

    def _decide(self, view: CandidateSets) -> windows.Decision:
        decision = super()._decide(view)
        assert isinstance(view, KeptCandidateSets)
        search, undecided = _Search(view, self._params), np.zeros_like(decision.is_undecided)
        for atom in np.flatnonzero(decision.is_undecided).tolist():
            undecided[atom] = search.may_be_too_sensitive(atom)
        return dataclasses.replace(decision, is_undecided=undecided)


class _Search:
    """Lists candidate sets."""

    def __init__(self, candidates: KeptCandidateSets, params: PrivacyParams) -> None:
        self._candidates = candidates
        sizes = candidates.per_atom(candidates.known)
        self._groups = np.full((len(candidates.stages), candidates.n_atoms), -1, dtype=np.int64)
        self._excess = []
        for groups, stage in zip(self._groups, candidates.stages, strict=True):
            groups[candidates.atom_of[stage.objects]] = stage.group
            sensitive = candidates.per_atom(stage.objects[stage.is_sensitive])
            self._excess.append(windows.excess(sensitive, sizes, params.alpha))
        similar = [stage.similar for stage in candidates.stages]
        n_members = np.cumsum([0, *(len(rows.member) for rows in similar)])
        self._first_row = np.cumsum([0, *(len(rows.pointer) for rows in similar)])[:-1]
        self._similar = Rows(
            np.concatenate([rows.pointer + n for rows, n in zip(similar, n_members, strict=False)]),
            np.concatenate([rows.member for rows in similar]),
        )
        self.sets = 0

    def may_be_too_sensitive(self, atom: int) -> bool:
        """Whether a CS_W of an atom exceeds alpha, or was skipped."""
        for i in np.flatnonzero(self._groups[:, atom] >= 0).tolist():
            members = self._protection_set(i, atom)
            similar = core.similar_members(
                atom, members, self._groups, self._first_row, self._similar
            )
            excess = self._excess[i][members].tolist()
            sets, complete = self._intersections(_masks(similar), (1 << len(members)) - 1)
            insides = ([x for x in range(len(members)) if chosen >> x & 1] for chosen in sets)
            if not complete or any(sum(excess[x] for x in inside) > 0 for inside in insides):
                return True
        return False

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
        """Return the distinct intersections of `whole` with masks.

        Second: whether all of them are there.
        """
        seen, layer = {whole}, [whole]
        self.sets += 1
        while layer:
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


def _masks(flags: NDArray[np.bool_]) -> set[int]:
    """Return the rows as bit masks, each once."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    return {int.from_bytes(row.tobytes(), "little") for row in packed}
