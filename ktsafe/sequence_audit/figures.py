"""Figures of candidate sets as distributions: how many candidates, and how sensitive."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.params import PrivacyParams
from ktsafe.sequence_audit.candidate_sets import CandidateSets


def counts(values: NDArray[np.int64], k: int) -> dict[str, Any]:
    """Summarize numbers of candidates; quantiles are lower ones, so that each was seen."""
    if not len(values):
        return {"vertices": 0, "min": None, "p1": None, "p5": None, "median": None, "below_k": 0}
    p1, p5, median = np.quantile(values, [0.01, 0.05, 0.5], method="lower").tolist()
    return {
        "vertices": len(values),
        "min": int(values.min()),
        "p1": p1,
        "p5": p5,
        "median": median,
        "below_k": int(np.count_nonzero(values < k)),
    }


def shares(values: NDArray[np.float64], n_above: int) -> dict[str, Any]:
    """Summarize shares; how many exceed alpha was decided on integers."""
    if not len(values):
        return {"max": None, "p99": None, "p95": None, "median": None, "above_alpha": 0}
    p99, p95, median = np.quantile(values, [0.99, 0.95, 0.5], method="higher").round(6).tolist()
    return {
        "max": round(float(values.max()), 6),
        "p99": p99,
        "p95": p95,
        "median": median,
        "above_alpha": n_above,
    }


def sizes(candidates: CandidateSets, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return |CS_all| of some objects."""
    per_atom = candidates.over_candidates(candidates.per_atom(candidates.known))
    found: NDArray[np.int64] = per_atom[candidates.atom_of[objects]]
    return found


def sensitive_shares(candidates: CandidateSets, params: PrivacyParams) -> dict[str, Any]:
    """Summarize, over all objects, the greatest sensitive share of CS_all at any release.

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


def candidate_figures(
    candidates: CandidateSets,
    params: PrivacyParams,
    is_owned: NDArray[np.bool_],
    was_owned: NDArray[np.bool_],
) -> dict[str, Any]:
    """Summarize |CS_all| over all objects, and its real members over the objects with an owner.

    Parameters
    ----------
    is_owned, was_owned:
        bool, by object: whether a person is behind it now, and whether one ever was. An
        attacker that knows the departed people excludes the places they left behind.
    """
    known = candidates.known
    sizes = candidates.over_candidates(candidates.per_atom(known))
    atom = candidates.atom_of
    owned = known[is_owned[known]]
    per_atom = candidates.per_atom(known)
    return {
        "atoms": candidates.n_atoms,
        "atom_size_min": int(per_atom.min()) if len(per_atom) else None,
        "candidates": counts(sizes[atom[known]], params.k),
        "candidates_real": real_candidates(candidates, params, was_owned, owned),
        "candidates_real_leavers_known": real_candidates(candidates, params, is_owned, owned),
    }


def real_candidates(
    candidates: CandidateSets,
    params: PrivacyParams,
    is_real: NDArray[np.bool_],
    objects: NDArray[np.int64],
) -> dict[str, Any]:
    """Summarize for some objects how many members of CS_all are real, as `is_real` says."""
    known = candidates.known
    real = candidates.over_candidates(candidates.per_atom(known[is_real[known]]))
    return counts(real[candidates.atom_of[objects]], params.k)
