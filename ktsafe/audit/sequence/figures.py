"""Figures of candidate sets as distributions: how many candidates, and how sensitive.

Figures may be added: they stand in private audits (`stream.files.audit_model`), and nothing is
withheld by them. None may name an id.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence.candidate_sets import CandidateSets
from ktsafe.params import PrivacyParams


class ObjectCounts(msgspec.Struct, frozen=True):
    """Numbers of objects' candidates; None without objects."""

    vertices: int
    min: int | None = None
    p1: int | None = None
    p5: int | None = None
    median: int | None = None
    below_k: int = 0

    @property
    def share(self) -> float | None:
        """The share of those with fewer than k."""
        return self.below_k / self.vertices if self.vertices else None


class Shares(msgspec.Struct, frozen=True):
    """Sensitive shares of candidates; `above_alpha` counts those above it, on integers."""

    max: float | None = None
    median: float | None = None
    above_alpha: int = 0


class Candidates(msgspec.Struct, frozen=True):
    """Candidates over all objects, and people among them over owned ones."""

    candidates: ObjectCounts
    candidates_real_leavers_known: ObjectCounts


class Published(Candidates, frozen=True):
    """The same of published ids, with sensitive shares of people."""

    alpha_real_leavers_known: Shares


class ChangeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates that changed alike: with any release, and with this one."""

    k_delta_all: ObjectCounts
    alpha_alike: Shares
    k_delta: ObjectCounts


class ValueFigures(msgspec.Struct, frozen=True):
    """Candidates with an equal change of value: in this release, in any."""

    k_value: ObjectCounts
    k_value_all: ObjectCounts


class ContainmentFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Differences of a release from the truth, counted; private."""

    withheld_people: int
    withheld_releases_max: int
    withheld_releases_median: int
    missing_ties: int
    missing_releases_max: int
    held_changes: int


class Persistence(msgspec.Struct, frozen=True):
    """Areas by which age and survival tell true ties from inserted ones.

    Age is that of the last release, survival of all. None where there is nothing to compare.
    """

    age_auc: float | None
    survival_auc: float | None


class SequenceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Private figures; of linked ids and of the truth where known."""

    changes: ChangeFigures
    values: ValueFigures
    published: Published
    newcomers: ObjectCounts
    linked: Candidates | msgspec.UnsetType = msgspec.UNSET
    containment: ContainmentFigures | msgspec.UnsetType = msgspec.UNSET
    persistence: Persistence | msgspec.UnsetType = msgspec.UNSET


def counts(
    values: NDArray[np.int64], k: int, times: NDArray[np.int64] | None = None
) -> ObjectCounts:
    """Summarize numbers of candidates; quantiles are lower ones, so each was seen.

    `times` says how often each value counts.
    """
    if not len(values):
        return ObjectCounts(0)
    if times is None:
        times = np.ones(len(values), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    until = np.cumsum(times[order])
    n = int(until[-1])
    p1, p5, median = _at(values[order], until, [(n - 1) // 100, (n - 1) // 20, (n - 1) // 2])
    return ObjectCounts(n, int(values.min()), p1, p5, median, int(times[values < k].sum()))


def shares(
    values: NDArray[np.float64], n_above: int, times: NDArray[np.int64] | None = None
) -> Shares:
    """Summarize shares; how many exceed alpha was decided on integers.

    `times` says how often each value counts.
    """
    if not len(values):
        return Shares()
    if times is None:
        times = np.ones(len(values), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    until = np.cumsum(times[order])
    n = int(until[-1])
    # The higher one, so it was seen.
    (median,) = _at(values[order].round(6), until, [n // 2])
    return Shares(round(float(values.max()), 6), median, n_above)


def _at(values: NDArray[Any], until: NDArray[np.int64], places: list[int]) -> list[Any]:
    """Return values at list places that stand until some place."""
    found: list[Any] = values[np.searchsorted(until, places, side="right")].tolist()
    return found


def sizes(candidates: CandidateSets, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return |CS_all| of some objects."""
    per_atom = candidates.over_candidates(candidates.per_atom(candidates.known))
    found: NDArray[np.int64] = per_atom[candidates.atom_of[objects]]
    return found


def sensitive_shares(candidates: CandidateSets, params: PrivacyParams) -> Shares:
    """Summarize the share of CS_all that was ever sensitive, over all objects."""
    sizes = candidates.over_candidates(candidates.per_atom(candidates.known))
    ever = candidates.per_atom(np.flatnonzero(candidates.ever_sensitive))
    sensitive = candidates.over_candidates(ever)
    alpha: Fraction = params.alpha
    above = sensitive * alpha.denominator > sizes * alpha.numerator
    atom = candidates.atom_of[candidates.known]
    return shares((sensitive / np.maximum(sizes, 1))[atom], int(np.count_nonzero(above[atom])))


def candidate_figures(candidates: CandidateSets, params: PrivacyParams) -> Candidates:
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
    counted = counts(sizes[atom[known]], params.k)
    people = real_candidates(candidates, params, owned)
    return Candidates(counted, people)


def real_candidates(
    candidates: CandidateSets, params: PrivacyParams, objects: NDArray[np.int64]
) -> ObjectCounts:
    """Summarize for some objects how many members of CS_all are people today."""
    return counts(_people(candidates)[candidates.atom_of[objects]], params.k)


def sensitive_people(
    candidates: CandidateSets, params: PrivacyParams, sensitive: NDArray[np.int64]
) -> Shares:
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
