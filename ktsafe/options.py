"""How a release is searched for, and what may be done to people whom cohorts protect badly."""

from __future__ import annotations

import dataclasses
from typing import Literal

Effort = Literal["fast", "balanced", "thorough"]
Knowledge = Literal["released", "true"]


@dataclasses.dataclass(frozen=True)
class AnonymizeOptions:
    """How to search; no option weakens the guarantee.

    Attributes
    ----------
    effort:
        How much search a lower cost is worth.
    strategy:
        A name of `ktsafe.strategies.STRATEGIES`.
    knowledge:
        What an attacker compares with the release: other released vertices, as the definition
        says, or also true neighbourhoods. With `true`, for every original v at least k vertices of
        its protection set have neighbours whose quasi-identifier tuples include those of v's true
        neighbours.
    real_per_group:
        For strategy `aligned`: at most so many members of a group are originals. Fewer cost more
        and keep degrees nearer to the true ones. None: as many as there are places.
    """

    effort: Effort = "balanced"
    strategy: str = "cohort"
    knowledge: Knowledge = "released"
    real_per_group: int | None = None
