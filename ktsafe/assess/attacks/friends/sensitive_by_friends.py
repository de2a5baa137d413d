"""Sensitive by friends.

The attacker says "is sensitive" by what a person's friends have.

As `friends_values` with all friends known. kt-safety bounds the share of sensitive ones among the
candidates of an attacker that knows no values; this one chooses among them by values.
"""

from __future__ import annotations

import numpy as np

from ktsafe.assess.attacks.common.history import History
from ktsafe.assess.attacks.common.nearest import SAME, nearest_share
from ktsafe.assess.attacks.common.result import Result, share_result
from ktsafe.assess.attacks.common.together import Together
from ktsafe.assess.attacks.common.without_target import right_of_highest, sensitive_without
from ktsafe.assess.attacks.friends.friends_values import kinds_with_values
from ktsafe.params import PrivacyParams


def sensitive_by_friends(
    history: History,
    params: PrivacyParams,
    rng: np.random.Generator,
    name: str = "sensitive_by_friends",
) -> list[Result]:
    """Return how often "is sensitive" is right in the last release.

    Parameters
    ----------
    history:
        The releases, or one, and the truth.
    params:
        Its alpha is told beside the figure; nothing is promised.
    rng:
        Draws the folds of what is said without the person (`common.without_target`).
    name:
        What the result is called.

    Returns
    -------
    list of Result
        `named`: of the people whose nearest vertices, by the quasi-identifiers and values of all
        their friends, added over the releases, mostly show a sensitive value, the share that is
        sensitive. Its control is the share of all people; without the target as many are named by
        the chance that they are sensitive. `figures` tells alpha. Nothing without releases.
    """
    if not history.cases:
        return []
    it, kinds, last = Together.of(history), kinds_with_values(history), history.cases[-1]
    flags = np.zeros((history.n_ids, 1))
    flags[history.ids[-1], 0] = last.released.is_sensitive
    share = nearest_share(it.known(kinds), it.seen(kinds), it.own, it.classes, SAME, flags)[:, 0]
    truth = last.original.is_sensitive[it.vertices]
    named = share > 0.5
    without = sensitive_without(last, it.vertices, rng)
    return [
        share_result(
            f"{name}.named",
            truth[named].astype(np.float64),
            control=float(truth.mean()) if len(truth) else 0.0,
            figures={
                "named": int(named.sum()),
                "sensitive": int(truth.sum()),
                "alpha": float(params.alpha),
            },
            without_target=right_of_highest(without, truth, int(named.sum())),
        )
    ]
