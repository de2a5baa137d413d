"""Figures of candidate sets as distributions: how many candidates, and how sensitive."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence.candidate_sets import CandidateSets
from ktsafe.params import PrivacyParams


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
