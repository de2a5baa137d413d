"""A strategy's worth, and its weakness against the whole network."""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.seeds import seeds
from ktsafe.audit import Traced, usefulness

STRATEGIES: Final = ("exact", "robust", "aligned")
"""Those that an owner chooses among for one hop, by ever fewer ties and people found."""


@dataclasses.dataclass(frozen=True, slots=True)
class StrategyPrice:
    """What a release by a strategy is worth.

    Attributes
    ----------
    f1:
        F1 of ties.
    people:
        Share of people that are shown.
    found:
        Share of the other people whom an attacker finds that knows every true tie, and where 5% of
        the people are. Nothing is promised about this attacker.
    """

    f1: float
    people: float
    found: float


def strategy_price(made: Traced, *, seed: int = 0) -> StrategyPrice:
    """Return a release's worth, and people found with the whole network.

    Parameters
    ----------
    made:
        The release beside its truth.
    seed:
        Draws the people whom the attacker knows.

    Examples
    --------
    >>> from ktsafe import PrivacyParams
    >>> from ktsafe.datasets import uniform
    >>> from ktsafe.assess.generalization.quick_release import quick_release
    >>> graph = uniform(60, 200, rng=np.random.default_rng(0), n_tuples=2)
    >>> priced = strategy_price(quick_release(graph, PrivacyParams(k=5), strategy="aligned"))
    >>> priced.people, 0 <= priced.found <= 1
    (1.0, True)
    """
    worth = usefulness(made)
    case = Case(made.original, made.released, made.behind)
    found = 0.0
    if len(case.places):
        attacked = seeds(case, np.random.default_rng(seed))
        found = {result.attack: result.value for result in attacked}["seeds.5%"]
    return StrategyPrice(worth.edges.f1 or 0.0, worth.vertices.recall or 0.0, found)
