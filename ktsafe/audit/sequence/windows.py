"""Judgement of a sequence for every set of releases, and findings.

Meanings may be reworded. A new kind of finding is a row of `KINDS`: unless it begins with `linked_`
it withholds releases (`stream.release.linked`), and tests/stream/release/test_linked.py runs over
all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Literal, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence.audited_release import AuditedRelease
from ktsafe.audit.sequence.candidate_sets import CandidateSets
from ktsafe.audit.sequence.figures import SequenceFigures
from ktsafe.params import PrivacyParams
from ktsafe.verify import Verdict

# k and alpha for every set W, without listing sets.
#
# CS_W(v) shrinks as W grows, so k for W = all releases implies k for every W. Alpha does not carry
# over: a larger set may be richer in sensitive vertices. It is certified where every atom has at
# least m = max(k, ceil(1/alpha)) members, of which at most alpha were ever sensitive: every CS_W is
# a union of atoms, so all of them are safe. Atoms are the coarsest partition that could certify
# anything, so no other one can where this one does not. Everything without a certificate is
# undecided, which counts as a failure; `ktsafe_lab.enumerated_windows` lists its distinct
# intersections.
#
# Alpha is not asked of a vertex that has too few candidates: it fails already.


@dataclasses.dataclass(frozen=True, eq=False)
class Decision:
    """What holds for every W, atom by atom.

    Attributes
    ----------
    has_certificate:
        Whether all atoms satisfy the certificate for w = all.
    has_too_few, is_undecided:
        bool, shape (atoms,).
    """

    has_certificate: bool
    has_too_few: NDArray[np.bool_]
    is_undecided: NDArray[np.bool_]


def decide(candidates: CandidateSets, params: PrivacyParams) -> Decision:
    """Return whether every |CS_W| >= k and every sensitive share <= alpha."""
    sizes = candidates.per_atom(candidates.known)
    ever = candidates.per_atom(np.flatnonzero(candidates.ever_sensitive))
    has_few = candidates.over_candidates(sizes) < params.k
    too_rich = excess(ever, sizes, params.alpha) > 0
    if not too_rich.any() and (sizes >= params.group_size_min).all():
        none = np.zeros(len(sizes), dtype=np.bool_)
        return Decision(True, none, none)
    return Decision(False, has_few, ~has_few)


def excess(part: NDArray[np.int64], whole: NDArray[np.int64], alpha: Fraction) -> NDArray[np.int64]:
    """Return an additive number, positive iff the share exceeds alpha."""
    return part * alpha.denominator - whole * alpha.numerator


# The auditor's findings on a sequence, with published ids only.

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "not_kt_safe": "fails the strict verifier in this release",
        "too_few_candidates": "has fewer than k candidates over some set of releases",
        "certificate_broken": "the private certificate does not map the release onto itself",
        "undecided": "is not certified to stay within alpha over every set of releases",
        "linked_too_few_candidates": "has fewer than k candidates if a person's ids are followed",
        "linked_undecided": "is not certified to stay within alpha if ids are followed",
        "change_uncovered": "visibly changed its ties, and fewer than k candidates changed alike",
        "cover_lost": "visibly changed in a former release, and too few that changed alike remain",
        "value_uncovered": "shows another value though its owner left, and too few changed alike",
        "id_reassigned": "has another owner than its id had before",
        "owner_twice": "has an owner that has another id in the same release too",
        "owner_unknown": "has an owner that does not exist in the true graph",
        "mapping_incomplete": "the private mapping does not list exactly the ids of the release",
        "person_missing": "more people are missing from the release than were declared",
        "tie_missing": "more ties are missing from the release than were declared",
        "tie_overdue": "lacks a tie for longer than was declared",
        "attribute_differs": "shows other quasi-identifiers than the true ones, undeclared",
        "sensitive_differs": "shows a sensitive value that is neither the true one nor missing",
        "release_repeated": "a release id occurs twice",
        "time_order": "nominal times do not ascend",
        "sequence_reopened": "a sequence goes on after another one began",
        "params_changed": "parameters changed within a sequence",
        "schema_changed": "the schema changed within a sequence",
        "guarantee_changed": "the promised window or cover changed within a sequence",
    }
)
"""Every kind of violation, and what it means."""


class Violation(msgspec.Struct, frozen=True):
    """One kind of violation at one release.

    Attributes
    ----------
    kind, meaning:
        A key of `KINDS`, and what is said there.
    count:
        Vertices concerned, or 1 where it concerns the release as a whole.
    examples:
        Published ids of some of them.
    """

    kind: str
    meaning: str
    release_id: str
    count: int
    examples: tuple[str, ...] = ()

    @classmethod
    def of(cls, kind: str, release_id: str, count: int = 1, examples: tuple[str, ...] = ()) -> Self:
        """Say what the kind means."""
        return cls(kind, KINDS[kind], release_id, count, examples)


class Checked(msgspec.Struct, frozen=True):
    """What was promised, and whether a certificate decides it.

    Of published ids, and of people followed over several; unset where each release stands alone.
    """

    window: Literal[1, "all"]
    cover: bool
    certificate: bool | msgspec.UnsetType = msgspec.UNSET
    linked_certificate: bool | msgspec.UnsetType = msgspec.UNSET


class SequenceAudit(msgspec.Struct, frozen=True):
    """Findings as a private audit has them; `releases` were judged."""

    release_id: str
    safe: bool
    violations: list[Violation]
    checked: Checked
    figures: SequenceFigures
    releases: int | msgspec.UnsetType = msgspec.UNSET


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """The auditor's findings at a release, on the sequence so far.

    Attributes
    ----------
    violations:
        Empty iff the sequence up to this release keeps what is promised.
    verdict:
        The strict verifier's, on this release by itself.
    n_true_edges:
        How many released edges are true ties; None without a true graph.
    """

    release_id: str
    violations: Sequence[Violation]
    checked: Checked
    figures: SequenceFigures
    verdict: Verdict
    n_true_edges: int | None = None

    @property
    def is_safe(self) -> bool:
        """Whether nothing was found."""
        return not self.violations

    def told(self) -> SequenceAudit:
        """Return all but the verdict and the count."""
        found = list(self.violations)
        return SequenceAudit(self.release_id, self.is_safe, found, self.checked, self.figures)


class Violations:
    """Collects the violations of one release."""

    def __init__(self, release: AuditedRelease, examples_max: int) -> None:
        self._release = release
        self._examples_max = examples_max
        self.violations: list[Violation] = []

    def whole(self, kind: str, count: int = 1) -> None:
        """Add a violation of the release as a whole."""
        self.violations.append(Violation.of(kind, self._release.release_id, count))

    def add(self, kind: str, positions: NDArray[np.int64], *, absent: int = 0) -> None:
        """Add a violation at some vertices, `absent` of which are unshown."""
        count = len(positions) + absent
        if count:
            names = tuple(self._ids(positions[: self._examples_max].tolist()))
            self.violations.append(Violation.of(kind, self._release.release_id, count, names))

    def _ids(self, positions: Iterable[int]) -> Iterable[str]:
        return map(self._release.id_of, positions)
