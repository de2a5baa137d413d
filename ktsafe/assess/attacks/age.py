"""Age: how long a tie was shown, as a sign of truth.

The attacker follows every tie of the last release back through those before it, guesses by that
which ties are true, and then names people by what is left of their neighbourhoods.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.history import History, tie_keys
from ktsafe.assess.attacks.common.result import Result, auc_result
from ktsafe.assess.attacks.denoised import weighted_guesses
from ktsafe.assess.attacks.membership_of_ties import chances_of_truth
from ktsafe.params import PrivacyParams

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
