"""Seeds: an attacker with the network and a few people's places.

kt-safety promises nothing against this attacker; the figure says how far it would get.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.propagation import propagate
from ktsafe.assess.attacks.common.result import Result, share_result

SHARES = {"1%": 0.01, "5%": 0.05}
ROUNDS = 30


def seeds(case: Case, rng: np.random.Generator) -> list[Result]:
    """Return the share of others found from 1% and 5% known.

    Parameters
    ----------
    case:
        The release and the truth.
    rng:
        Draws the known people, uniformly among the published ones; at least one.

    Returns
    -------
    list of Result
        `seeds.1%` and `seeds.5%`: the share of published people, seeds left out, whom the place
        with the best score names, by the links of the last round. Its control is a uniform guess
        in the class; `figures` counts the seeds and the share of final links that are right.
    """
    results = []
    for name, share in SHARES.items():
        known = drawn(case, share, rng)
        guesses = propagate(case, known, rounds=ROUNDS)
        is_other = ~np.isin(case.people, known)
        linked = np.setdiff1d(np.flatnonzero(guesses.link >= 0), known)
        is_right = guesses.link[linked] == case.own_place[linked]
        right = float(is_right.mean()) if len(linked) else 0.0
        results.append(
            share_result(
                f"seeds.{name}",
                guesses.chances[case.people[is_other]],
                control=case.by_chance,
                figures={"seeds": len(known), "linked": len(linked), "linked_right": right},
                bands=case.bands(guesses.chances[case.people], is_other),
            )
        )
    return results


def drawn(case: Case, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return so many published people, drawn uniformly.

    At least one if there is anybody.
    """
    published = case.original_of[case.published]
    n = len(published)
    drawn: NDArray[np.int64] = rng.choice(
        published, min(max(round(share * n), 1), n), replace=False
    )
    return drawn
