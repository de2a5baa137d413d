"""Sybils: accounts of the attacker are counted out among the candidates.

The active attack of Backstrom, Dwork and Kleinberg, "Wherefore art thou R3579X?" (WWW 2007); sybils
as in Douceur, "The Sybil attack" (IPTPS 2002). The attacker is taken to recognise all its accounts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.membership import candidates


def left(case: Case, accounts: NDArray[np.int64]) -> list[int]:
    """Return how many candidates each target has that are not the attacker's."""
    is_own, alike = np.isin(case.original_of, accounts), candidates(case)
    others = np.bincount(alike, weights=~is_own).astype(int)
    found: list[int] = others[alike[case.places[~is_own[case.places]]]].tolist()
    return found
