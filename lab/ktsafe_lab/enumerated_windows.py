"""Sets of releases one by one, where neither certificate nor bound decides.

The distinct intersections that are left are listed, within a budget; what stays undecided counts
as a failure.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import SequenceAuditor, windows
from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.candidate_sets import CandidateSets
from ktsafe.params import PrivacyParams
from ktsafe_lab import _enumerated_windows_core as core

SETS_MAX = 100_000
"""Distinct intersections looked at per audit before the rest is called undecided."""

SETS_PER_ATOM_MAX = 4_096


class EnumeratingAuditor(SequenceAuditor):
    """An auditor that lists candidate sets where `SequenceAuditor` is undecided."""

    def _decide(self, view: CandidateSets) -> windows.Decision:
        decision = super()._decide(view)
        if not view.keeps_stages or not decision.is_undecided.any():
            return decision
        search = _Search(view, self._params)
        few, rich = decision.has_too_few.copy(), decision.is_too_sensitive.copy()
        undecided = np.zeros_like(few)
        for atom in np.flatnonzero(decision.is_undecided).tolist():
            found = search.enumerate(atom)
            rich[atom] |= found.is_too_sensitive and not few[atom]
            undecided[atom] = found.is_undecided
        return dataclasses.replace(
            decision,
            method="enumeration",
            has_too_few=few,
            is_too_sensitive=rich,
            is_undecided=undecided & ~few & ~rich,
        )


@dataclasses.dataclass(slots=True)
class _Found:
    is_too_sensitive: bool = False
    is_undecided: bool = False


class _Search:
    """Lists candidate sets."""

    def __init__(self, candidates: CandidateSets, params: PrivacyParams) -> None:
        self._bounds = windows.Bounds(candidates, params)
        self._open_at = self._bounds.open_at()
        similar = [stage.similar for stage in candidates.stages]
        n_members = np.cumsum([0, *(len(rows.member) for rows in similar)])
        self._first_row = np.cumsum([0, *(len(rows.pointer) for rows in similar)])[:-1]
        self._similar = Rows(
            np.concatenate([rows.pointer + n for rows, n in zip(similar, n_members, strict=False)]),
            np.concatenate([rows.member for rows in similar]),
        )
        self.sets = 0

    def enumerate(self, atom: int) -> _Found:
        """Look at every distinct CS_W of an atom for open releases."""
        found = _Found()
        for i in np.flatnonzero(
            (self._bounds.groups[:, atom] >= 0) & self._open_at[:, atom]
        ).tolist():
            members = self._protection_set(i, atom)
            similar = core.similar_members(
                atom, members, self._bounds.groups, self._first_row, self._similar
            )
            excess = self._bounds.excess[i][members].tolist()
            sets, complete = self._intersections(_masks(similar), (1 << len(members)) - 1)
            found.is_undecided |= not complete
            for chosen in sets:
                inside = [x for x in range(len(members)) if chosen >> x & 1]
                found.is_too_sensitive |= sum(excess[x] for x in inside) > 0
        return found

    def _protection_set(self, stage: int, atom: int) -> NDArray[np.int64]:
        """Return the atoms of PS_i of an atom that is present."""
        groups = self._bounds.groups[stage]
        similar = self._bounds.candidates.stages[stage].similar
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
