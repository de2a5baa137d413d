"""Releases of any radius, read by a private certificate.

A shift that maps each onto itself.

Beyond stars nobody can compare all neighbourhoods at any price. But vertices that an automorphism
takes to each other have isomorphic neighbourhoods of every radius, in both readings, so they are in
each other's protection set, and every protection set is a union of orbits. Here an orbit stands for
the protection set of its members: what is found is what is *proven* alike, at least. If the orbits
of all releases together leave groups of at least m, at most the share alpha of each ever sensitive,
then every union of them is safe, too; that is the only way in which these releases can pass.

The check of the shift shares no code with what made it, nor with the verifier's.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import AuditedRelease, SequenceAuditor, windows
from ktsafe.audit.sequence import _profiles_core as core
from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.audited_release import grown, stable_codes
from ktsafe.audit.sequence.candidate_sets import CandidateSets
from ktsafe.audit.sequence.profiles import Structure, StructureReader, edge_keys
from ktsafe.audit.sequence.windows import Violations
from ktsafe.errors import InvalidGraph, InvalidParams
from ktsafe.params import PrivacyParams
from ktsafe.verify import Verdict
from ktsafe_lab.verify_hops import verify


def is_symmetry(
    shift: NDArray[np.int64], codes: NDArray[np.int64], edges: NDArray[np.integer[Any]]
) -> bool:
    """Return whether positions map to equal codes and keep edges.

    Parameters
    ----------
    shift:
        int64, shape (n,): the image of every position.
    codes:
        int64, shape (n, q).
    edges:
        Integers, shape (m, 2): positions, each edge once.
    """
    n = len(codes)
    if shift.shape != (n,) or not np.array_equal(np.sort(shift), np.arange(n)):
        return False
    if not np.array_equal(codes[shift], codes):
        return False
    moved, keys = edge_keys(shift, edges), edge_keys(np.arange(n), edges)
    return np.array_equal(np.sort(moved), np.sort(keys))


def orbits_of(shift: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return positions' orbits under a permutation, by least members."""
    image = shift.tolist()
    orbit = np.full(len(image), -1, dtype=np.int64)
    n_orbits = 0
    for start in range(len(image)):
        if orbit[start] >= 0:
            continue
        vertex = start
        while orbit[vertex] < 0:
            orbit[vertex] = n_orbits
            vertex = image[vertex]
        n_orbits += 1
    return orbit


@dataclasses.dataclass(frozen=True, eq=False)
class AlignedRelease(AuditedRelease):
    """A release with its certificate.

    Attributes
    ----------
    shift:
        Private: for each position another one, a map that is claimed to take the release onto
        itself; it is checked.
    """

    shift: NDArray[np.int64] = dataclasses.field(kw_only=True)


class AlignedAuditor(SequenceAuditor):
    """An auditor of releases of any radius, by their certificates."""

    def _new_reader(self, release: AuditedRelease) -> StructureReader:
        return SymmetryReader(release.params, len(release.categories), self._workers)

    def _verdict(self, release: AuditedRelease, found: Violations) -> Verdict:
        """Judge by the checked shift, else by the identity."""
        shift = checked_shift(release)
        if shift is None:
            found.whole("certificate_broken")
            shift = np.arange(len(release.ids))
        graph = release.codes, release.is_sensitive, release.edges
        return verify(*graph, self._params, certificate=shift, workers=self._workers)

    def _decide(self, view: CandidateSets) -> windows.Decision:
        """Count what the certificate does not prove as undecided.

        Candidates may be missing.
        """
        decision = super()._decide(view)
        few = decision.has_too_few
        none = np.zeros_like(few)
        return dataclasses.replace(
            decision,
            has_too_few=none,
            is_undecided=none if decision.has_certificate else few | decision.is_undecided,
        )


def checked_shift(release: AuditedRelease) -> NDArray[np.int64] | None:
    """Return the shift of a release if it holds.

    Raises
    ------
    InvalidParams
        If the release comes without.
    """
    if not isinstance(release, AlignedRelease):
        msg = "Beyond one hop a sequence is audited by its private certificates only."
        raise InvalidParams(msg)
    shift = np.asarray(release.shift, dtype=np.int64)
    return shift if is_symmetry(shift, release.codes, release.edges) else None


class SymmetryReader(StructureReader):
    """Reads the releases of one sequence, in order, each with its shift."""

    def __init__(
        self, params: PrivacyParams, n_attributes: int, workers: int | None = None
    ) -> None:
        super().__init__(params, n_attributes, workers)
        # Only ever added to, so copies may share them.
        self._tuples: dict[bytes, int] = {}
        self._tuple = np.zeros(0, dtype=np.int64)
        self._edges = np.zeros(0, dtype=np.int64)

    def read(
        self, release: AuditedRelease, vertices: NDArray[np.int64], n_numbers: int
    ) -> Structure:
        """Take the next release, see `StructureReader.read`; orbits are its groups."""
        shift = checked_shift(release)
        orbit = orbits_of(np.arange(len(release.ids)) if shift is None else shift)
        codes, edges = stable_codes(release, self._values), release.edges
        keys = np.sort(edge_keys(vertices, edges))
        if np.any(keys[1:] == keys[:-1]):
            raise InvalidGraph("An edge is given twice.")
        gained, lost = core.difference(keys, self._edges)
        tuples = np.full(n_numbers, -1, dtype=np.int64)
        tuples[vertices] = [
            self._tuples.setdefault(row.tobytes(), len(self._tuples))
            for row in np.ascontiguousarray(codes)
        ]
        n_orbits = int(orbit.max(initial=-1)) + 1
        structure = Structure(
            vertices,
            orbit,
            Rows(np.arange(n_orbits + 1), np.arange(n_orbits)),
            keys,
            gained,
            lost,
            tuples,
            grown(self._tuple, n_numbers, -1),
        )
        self._tuple, self._edges = tuples, keys
        return structure
