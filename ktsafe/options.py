"""How a release is searched for, and what may be done to people whom cohorts protect badly."""

from __future__ import annotations

import dataclasses
from typing import Literal

Effort = Literal["fast", "balanced", "thorough"]


@dataclasses.dataclass(frozen=True)
class AnonymizeOptions:
    """How to search; no option weakens the guarantee.

    Attributes
    ----------
    effort:
        How much search a lower cost is worth.
    strategy:
        A name of `ktsafe.strategies.STRATEGIES`.
    """

    effort: Effort = "balanced"
    strategy: str = "cohort"
