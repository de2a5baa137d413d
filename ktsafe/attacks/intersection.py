"""Intersection: the attacker knows a person's true neighbours at every release, and adds up.

Candidates are the ids that are in the same releases as the person's own, with the same published
tuples. The nearest one is named by the sum, over releases, of the distances of `one_hop.joint`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ktsafe.attacks.common.history import ABSENT, History
from ktsafe.attacks.common.nearest import standings
from ktsafe.attacks.common.result import Result
from ktsafe.attacks.one_hop import SAME, standing_result
from ktsafe.numbering import classes_of
from ktsafe.params import PrivacyParams


def intersection(history: History, params: PrivacyParams) -> list[Result]:
    """Return how many people of the last release are found by all releases together.

    Returns
    -------
    list of Result
        `intersection.joint`, see `one_hop.standing_result`; nothing without releases. Its control
        is a uniform guess among the candidates. `candidates_min` is the least number of them,
        `candidates_below_k` the share of people with fewer than k.
    """
    if not history.cases:
        return []
    releases = range(len(history.cases))
    classes = classes_of([history.tuples_of_ids(i) for i in releases])
    owners = history.owners(len(history.cases) - 1)
    own = np.flatnonzero(owners != ABSENT)
    known = sparse.hstack([history.known(i) for i in releases], format="csr")[owners[own]]
    seen = sparse.hstack([history.seen(i) for i in releases], format="csr")
    (standing,) = standings(known, seen, own, classes, [SAME])
    sizes = np.bincount(classes)[classes[own]] if len(own) else np.zeros(0)
    control = float((1 / sizes).mean()) if len(own) else 0.0
    result = standing_result("intersection.joint", params, standing, control=control)
    result.figures.update(
        {
            "candidates_min": int(sizes.min(initial=history.n_ids)),
            "candidates_below_k": float((sizes < params.k).mean()) if len(own) else 0.0,
        }
    )
    return [result]
