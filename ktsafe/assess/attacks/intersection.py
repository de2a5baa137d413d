"""Intersection: an attacker with true neighbours at every release.

The nearest candidate is named by the sum, over releases, of the distances of `one_hop.joint`.
"""

from __future__ import annotations

from ktsafe.assess.attacks.common.history import History
from ktsafe.assess.attacks.common.nearest import SAME, standings
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.common.together import Together
from ktsafe.params import PrivacyParams


def intersection(history: History, params: PrivacyParams) -> list[Result]:
    """Return the people of the last release found by all together.

    Returns
    -------
    list of Result
        `intersection.joint`, see `standing_result`; nothing without releases. Its control
        is a uniform guess among the candidates. `candidates_min` is the least number of them,
        `candidates_below_k` the share of people with fewer than k.
    """
    if not history.cases:
        return []
    it = Together.of(history)
    (standing,) = standings(it.known(), it.seen(), it.own, it.classes, [SAME])
    result = it.guessed("intersection.joint", params, standing, is_promised=True)
    sizes = it.candidates
    result.figures.update(
        {
            "candidates_min": int(sizes.min(initial=history.n_ids)),
            "candidates_below_k": float((sizes < params.k).mean()) if len(sizes) else 0.0,
        }
    )
    return [result]
