"""Attackers that discount edges: by common neighbours, or by age.

The attacker first guesses which shown ties are true, then matches.

Inserted ties that join strangers close few triangles. The attacker sorts the shown ties into bins
by common neighbours in the release, gives each bin the share of true ties that it holds, and
compares what is known of a person with the *expected true* neighbours of each released vertex.
Where all members of a cohort show equal neighbours, this can still tell them apart.

Other weights or bins may be tried, if they find more. Expectations stay whole numbers, by `UNIT`
(tests/ktsafe/assess/attacks/test_denoised.py has the naive one).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.history import History, tie_keys
from ktsafe.assess.attacks.common.nearest import LACK_WEIGHS_3, SAME, standings
from ktsafe.assess.attacks.common.propagation import both_ways, common_neighbours
from ktsafe.assess.attacks.common.result import Result, auc_result
from ktsafe.assess.attacks.membership import chances_of_truth
from ktsafe.assess.attacks.neighbourhoods import guess_result, joint_rows, marginal_rows
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

BINS = 20
UNIT = 64
"""A sure tie counts 64: expectations are whole numbers, so equal distances are exactly equal."""


def denoised(case: Case, params: PrivacyParams, rng: np.random.Generator) -> list[Result]:
    """Return the people found after denoising, and the quality of telling ties.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k.
    rng:
        Draws nothing here: attacks share the chances of `membership_of_ties`.

    Returns
    -------
    list of Result
        `denoised.ties.<source>`: AUC of the expected truth of a shown tie. It has no promise.
        `denoised.<variant>.<source>`: see `standing_result`; variants `marginal`, `joint`,
        `joint3` as in `one_hop`, and `sure`, which drops ties that are rather inserted than true.
        Sources: `oracle`, bins with the shares of the truth, which favours the attacker; `model`,
        the chances of `membership_of_ties`.
    """
    results = []
    sources = {"oracle": _chances_by_bins(case), "model": chances_of_truth(case, rng)}
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


def _chances_by_bins(case: Case) -> NDArray[np.float64]:
    """Return shown ties' chances of truth, by bins of closeness.

    Bins hold about equally many ties; ties with equal scores share a bin.
    """
    scores = _closeness(case.released)
    if not len(scores):
        return scores
    borders = np.unique(np.quantile(scores, np.arange(1, BINS) / BINS))
    bins = np.searchsorted(borders, scores, side="right")
    true, size = np.bincount(bins, weights=case.is_true_edge), np.bincount(bins)
    return true[bins] / size[bins]


def _closeness(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return common neighbours over the root of the degrees' product (Salton's cosine)."""
    ends = graph.degrees[graph.edges].astype(np.float64)
    return common_neighbours(graph) / np.sqrt(np.maximum(ends[:, 0] * ends[:, 1], 1.0))


# Age: how long a tie was shown, as a sign of truth.
#
# The attacker follows every tie of the last release back through those before it, guesses by that
# which ties are true, and then names people by what is left of their neighbourhoods.

TOPS = (0.01, 0.05)
"""Shares of the oldest, and of the most often returned ties, of which the truth is told."""


def age(history: History, params: PrivacyParams, rng: np.random.Generator) -> list[Result]:
    """Return how well age ranks ties, and whether it finds people.

    The age of a tie is the number of releases in succession, the last one included, that show it.
    An area below one half tells as much as one that is as far above.

    Parameters
    ----------
    history:
        The releases and the truth.
    params:
        Its k gives the promise 1/k.
    rng:
        Draws what `membership_of_ties` draws.

    Returns
    -------
    list of Result
        `age`, an AUC; its `figures`: `oldest_1` and `oldest_5`, the share of truth among the 1% and
        5% of the ties that the most releases show, and `returned_1` and `returned_5` among those
        that were gone and came back most often. `denoised_by_age.ties`: the AUC of a model that
        knows ages and all that `membership_of_ties` knows, and learns from the truth of other ties.
        `denoised_by_age.marginal` to `.sure`: people found as in `denoised`, by that model's
        chances. Nothing with fewer than two releases.
    """
    if len(history.cases) < 2:
        return []
    case = history.cases[-1]
    releases = zip(history.ids, history.cases, strict=True)
    keys = [tie_keys(ids, case.released) for ids, case in releases]
    is_shown = np.array([np.isin(keys[-1], shown) for shown in keys])
    lasts = np.cumprod(is_shown[::-1], axis=0).sum(axis=0)
    total = is_shown.sum(axis=0)
    is_known = np.cumsum(is_shown, axis=0)[:-1] > 0
    returns = (is_shown[1:] & ~is_shown[:-1] & is_known).sum(axis=0)
    figures = {
        f"{name}_{round(100 * top)}": _precision(scores, case.is_true_edge, top)
        for name, scores in (("oldest", total), ("returned", returns))
        for top in TOPS
    }
    seen = np.column_stack((lasts, total, returns, is_shown[0])).astype(np.float64)
    chance = chances_of_truth(case, rng, more=seen)
    found = weighted_guesses(case, params, chance)
    return [
        auc_result("age", lasts.astype(np.float64), case.is_true_edge, figures=figures),
        auc_result("denoised_by_age.ties", chance, case.is_true_edge),
        *(
            dataclasses.replace(result, attack=f"denoised_by_age.{result.attack}")
            for result in found
        ),
    ]


def _precision(scores: NDArray[np.int64], is_true: NDArray[np.bool_], top: float) -> float:
    """Return the share of truth among a share of highest scores.

    Cases that are as high as the last of them count by their own share of truth.
    """
    n = max(round(top * len(scores)), 1)
    if not len(scores):
        return 0.0
    least = np.sort(scores)[-n]
    above, level = scores > least, scores == least
    hits = is_true[above].sum() + (n - above.sum()) * is_true[level].mean()
    return float(hits / n)
