"""Sybils: planted accounts that count themselves out among candidates.

The attacker is taken to recognise all of its own accounts in the release, which favours it: planted
ties may be hidden or drowned.

Source: the active attack of Backstrom, Dwork and Kleinberg, "Wherefore art thou R3579X?" (WWW
2007); sybils as in Douceur, "The Sybil attack" (IPTPS 2002).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.result import Result, share_result
from ktsafe.assess.attacks.membership_of_vertices import candidates
from ktsafe.params import PrivacyParams


def sybils(
    case: Case, params: PrivacyParams, accounts: NDArray[np.int64], *, is_promised: bool
) -> list[Result]:
    """Return the people found by a guess among the remaining candidates.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k.
    accounts:
        Integers: the true vertices that are the attacker's own. They are no targets.
    is_promised:
        Whether they are so few that the release promises to stand them.

    Returns
    -------
    list of Result
        `sybils`: the share of people that a uniform guess finds among those alike that are not the
        attacker's; its control is the same guess without accounts. `figures`: the share of people
        with fewer than k candidates left, the least number, and how many accounts are published.
    """
    is_own = np.isin(case.original_of, accounts)
    alike = candidates(case)
    size = np.bincount(alike)
    left = np.bincount(alike, weights=~is_own, minlength=len(size)).astype(np.int64)
    targets = case.places[~is_own[case.places]]
    of_target = left[alike[targets]]
    some = len(targets) > 0
    return [
        share_result(
            "sybils",
            1 / of_target,
            control=float((1 / size[alike[targets]]).mean()) if some else 0.0,
            promise=1 / params.k if is_promised else None,
            figures={
                "below_k": float((of_target < params.k).mean()) if some else 0.0,
                "left_min": int(of_target.min(initial=case.released.n_vertices)),
                "published": int(is_own.sum()),
            },
        )
    ]
