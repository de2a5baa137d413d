"""One hop, denoised.

The attacker first guesses which shown ties are true, then matches.

Inserted ties that join strangers close few triangles. The attacker sorts the shown ties into bins
by common neighbours in the release, gives each bin the share of true ties that it holds, and
compares what is known of a person with the *expected true* neighbours of each released vertex.
Where all members of a cohort show equal neighbours, this can still tell them apart.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import both_ways, common_neighbours
from ktsafe.assess.attacks.common.nearest import LACK_WEIGHS_3, SAME, standings
from ktsafe.assess.attacks.common.result import Result, auc_result
from ktsafe.assess.attacks.membership_of_ties import chances_of_truth
from ktsafe.assess.attacks.one_hop import guess_result, joint_rows, marginal_rows
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

BINS = 20
UNIT = 64
"""A sure tie counts 64: expectations are whole numbers, so equal distances are exactly equal."""


def denoised(
    case: Case, params: PrivacyParams, rng: np.random.Generator, another: Case | None = None
) -> list[Result]:
    """Return the people found after denoising, and the quality of telling ties.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k.
    rng:
        Draws what is learned from of `another`.
    another:
        Another release with its truth, to learn from.

    Returns
    -------
    list of Result
        `denoised.ties.<source>`: AUC of the expected truth of a shown tie. It has no promise.
        `denoised.<variant>.<source>`: see `standing_result`; variants `marginal`, `joint`,
        `joint3` as in `one_hop`, and `sure`, which drops ties that are rather inserted than true.
        Sources: `oracle`, bins with the shares of this release's own truth, which favours the
        attacker; `learned`, with those of `another`, if given; `model`, the chances of
        `membership_of_ties`.
    """
    results = []
    sources = {"oracle": _chances_by_bins(case, case.released)}
    if another is not None:
        sources["learned"] = _chances_by_bins(another, case.released)
    sources["model"] = chances_of_truth(case, rng, another)
    for source, chance in sources.items():
        results.append(auc_result(f"denoised.ties.{source}", chance, case.is_true_edge))
        found = weighted_guesses(case, params, chance)
        results += [dataclasses.replace(r, attack=f"denoised.{r.attack}.{source}") for r in found]
    return results


def weighted_guesses(
    case: Case, params: PrivacyParams, chance: NDArray[np.float64]
) -> list[Result]:
    """Return the people found when ties count by their chance of truth.

    Parameters
    ----------
    case, params:
        As in `denoised`.
    chance:
        float64, shape (released edges,).

    Returns
    -------
    list of Result
        The variants of `denoised`, under their own names.
    """
    worth = both_ways(case.released, np.rint(chance * UNIT).astype(np.int64))
    sure = np.where(2 * worth >= UNIT, UNIT, 0).astype(np.int64)
    results = []
    for rows, weightings in (
        (marginal_rows(case, worth), {"marginal": SAME}),
        (joint_rows(case, worth), {"joint": SAME, "joint3": LACK_WEIGHS_3}),
        (joint_rows(case, sure), {"sure": SAME}),
    ):
        known, seen = rows
        found = standings(
            known * UNIT, seen, case.places, case.tuples[1], list(weightings.values())
        )
        results += [
            guess_result(name, case, params, standing)
            for name, standing in zip(weightings, found, strict=True)
        ]
    return results


def _chances_by_bins(teacher: Case, released: AttributedGraph) -> NDArray[np.float64]:
    """Return shown ties' chances of truth, by bins of the teacher's release.

    Bins hold about equally many of the teacher's ties; ties with equal scores share a bin.
    """
    taught = _closeness(teacher.released)
    if not len(taught):
        return np.full(released.n_edges, 0.5)
    borders = np.unique(np.quantile(taught, np.arange(1, BINS) / BINS))
    bins = np.searchsorted(borders, taught, side="right")
    size = np.bincount(bins, minlength=len(borders) + 1)
    true = np.bincount(bins, weights=teacher.is_true_edge, minlength=len(borders) + 1)
    prior = float(teacher.is_true_edge.mean())
    share = np.where(size > 0, true / np.maximum(size, 1), prior)
    return share[np.searchsorted(borders, _closeness(released), side="right")]


def _closeness(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return common neighbours over the root of the degrees' product (Salton's cosine)."""
    ends = graph.degrees[graph.edges].astype(np.float64)
    return common_neighbours(graph) / np.sqrt(np.maximum(ends[:, 0] * ends[:, 1], 1.0))
