"""How a release is searched for, and what may be done to people whom cohorts protect badly."""

from __future__ import annotations

import dataclasses
from typing import Literal

from ktsafe.errors import InvalidParams

Effort = Literal["fast", "balanced", "thorough"]
RareQi = Literal["withhold", "suppress", "pad"]
OverAlpha = Literal["suppress", "pad"]


@dataclasses.dataclass(frozen=True)
class AnonymizeOptions:
    """How to search; no option weakens the guarantee.

    Attributes
    ----------
    effort:
        How much search a lower cost is worth.
    strategy:
        A name of `ktsafe.strategies.STRATEGIES`.
    rare_qi:
        What is done to the members of quasi-identifier classes of fewer than k: they are not
        published, or as many of their quasi-identifiers become missing as they need to share a
        class with k, or inserted vertices make up the number.
    over_alpha:
        What is done to classes more than a share alpha of which is sensitive: sensitive attributes
        become missing, of harmless members too, or inserted vertices make up the number.
    gamma, s:
        For the paper's own strategies: vertices of a part, and parts that one is divided into.
    """

    effort: Effort = "balanced"
    strategy: str = "exact"
    rare_qi: RareQi = "withhold"
    over_alpha: OverAlpha = "suppress"
    gamma: int = 1000
    s: int = 4

    def __post_init__(self) -> None:
        if not (self.gamma >= 1 and self.s >= 1):
            raise InvalidParams("gamma and s must be at least 1.")


DEFAULTS = AnonymizeOptions()
