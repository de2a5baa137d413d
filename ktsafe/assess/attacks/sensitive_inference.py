"""Sensitive inference: claims "is sensitive" from a person's true neighbours.

The chance that it holds for the person is read off the released vertices that could be the person.
kt-safety promises that at most a share alpha of the *definition's* candidates is sensitive; the
attacker may choose other candidates. The attacker says so of people, not of places, so everything
here is judged by the truth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import adjacency
from ktsafe.assess.attacks.common.nearest import SAME, nearest_share
from ktsafe.assess.attacks.common.result import Result, area_under_curve, auc_result, share_result
from ktsafe.assess.attacks.common.without_target import right_of_highest, sensitive_without
from ktsafe.assess.attacks.one_hop import joint_rows
from ktsafe.params import PrivacyParams


def sensitive_inference(
    case: Case, params: PrivacyParams, rng: np.random.Generator
) -> list[Result]:
    """Return how well the sensitive people are found.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its alpha is the promise.
    rng:
        Draws the folds of what is said without the person (`common.without_target`).

    Returns
    -------
    list of Result
        `sensitive_inference.prior`: AUC of the share of sensitive vertices among the released ones
        of the person's tuple: what quasi-identifiers alone tell.
        `sensitive_inference.candidates`: AUC of the share among the nearest candidates by
        `one_hop.joint`.
        `sensitive_inference.neighbours`: AUC of the share among all released neighbours of the
        nearest candidates, weighed evenly: friends are often alike.
        `sensitive_inference.named`: of the people whose nearest candidates are mostly sensitive,
        the share that is; its control is the share of sensitive people, its promise alpha.
    """
    truth = case.original.is_sensitive[case.people]
    flags = case.released.is_sensitive.astype(np.float64)
    shown = case.tuples[1]
    n_shown = np.bincount(shown)
    prior = (np.bincount(shown, weights=flags) / np.maximum(n_shown, 1))[shown[case.places]]
    ties = np.maximum(case.released.degrees, 1)
    beside = (adjacency(case.released).astype(np.float64) @ flags) / ties
    found = nearest_share(
        *joint_rows(case), case.places, shown, SAME, np.column_stack((flags, beside))
    )
    scores = {"prior": prior, "candidates": found[:, 0], "neighbours": found[:, 1]}
    without = sensitive_without(case, case.people, rng)
    area = area_under_curve(without, truth)
    results = [
        auc_result(f"sensitive_inference.{name}", score, truth, without_target=area)
        for name, score in scores.items()
    ]
    named = found[:, 0] > 0.5
    share = float(truth.mean()) if len(truth) else 0.0
    right: NDArray[np.float64] = truth[named].astype(np.float64)
    results.append(
        share_result(
            "sensitive_inference.named",
            right,
            control=share,
            promise=float(params.alpha),
            figures={"named": int(named.sum()), "sensitive": int(truth.sum())},
            without_target=right_of_highest(without, truth, int(named.sum())),
        )
    )
    return results
