"""Whether a safe release is worth publishing; one that is not is withheld like an unsafe one.

Publishing gives something away for ever. What is farther from the truth than a release without any
edge gives it away for nothing.
"""

from __future__ import annotations

from typing import Final

from ktsafe.audit import Usefulness
from ktsafe.errors import BelowMinimumUtility

HINT: Final = "Fewer quasi-identifiers or a smaller k let more ties be shown."


def check_utility(found: Usefulness, min_f1: float) -> None:
    """Refuse a release that says less of the true ties than it should.

    Parameters
    ----------
    min_f1:
        The owner's floor for the F1 of edges, from 0 to 1. Where neither graph has an edge there
        is nothing to judge.

    Raises
    ------
    BelowMinimumUtility
        If its edge cost exceeds the number of true ties, or its F1 falls below the floor.
    """
    if found.costs_more_than_nothing:
        raise BelowMinimumUtility("costs_more_than_nothing", hint=HINT)
    f1 = found.edges.f1
    if f1 is not None and f1 < min_f1:
        raise BelowMinimumUtility("below_min_f1", hint=HINT)
