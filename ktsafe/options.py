"""How a release is searched for, and what may be done to people whom cohorts protect badly."""

from __future__ import annotations

import dataclasses
from typing import Literal

from ktsafe.errors import InvalidParams

Effort = Literal["fast", "balanced", "thorough"]
Edits = Literal["insert", "insert+delete"]
Knowledge = Literal["released", "true"]
RareQi = Literal["pad", "suppress", "withhold"]
OverAlpha = Literal["pad", "suppress"]


@dataclasses.dataclass(frozen=True)
class AnonymizeOptions:
    """How to search; no option weakens the guarantee.

    Attributes
    ----------
    effort:
        How much search a lower cost is worth.
    strategy:
        A name of `ktsafe.strategies.STRATEGIES`.
    edits:
        For strategy `cohort`: whether true edges may be deleted where that costs less. Vertices
        and attributes are never deleted or changed by it. Strategy `exact` always may.
    knowledge:
        What an attacker compares with the release: other released vertices, as the definition
        says, or also true neighbourhoods. With `true`, for every original v at least k vertices of
        its protection set have neighbours whose quasi-identifier tuples include those of v's true
        neighbours. Strategy `exact` shows equal neighbours at all members of a cohort instead.
    rare_qi:
        What is done to the members of quasi-identifier classes of fewer than k: inserted vertices
        make up the number, or as many of their quasi-identifiers become missing as they need to
        share a class with k, or they are not published.
    over_alpha:
        What is done to classes more than a share alpha of which is sensitive: inserted vertices
        make up the number, or random members' sensitive attributes become missing.
    real_per_group:
        For strategy `aligned`: at most so many members of a group are originals. Fewer cost more
        and keep degrees nearer to the true ones. None: as many as there are places.
    """

    effort: Effort = "balanced"
    strategy: str = "cohort"
    edits: Edits = "insert"
    knowledge: Knowledge = "released"
    rare_qi: RareQi = "pad"
    over_alpha: OverAlpha = "pad"
    real_per_group: int | None = None

    def __post_init__(self) -> None:
        if self.strategy == "exact":
            # It hides ties in any case, and rows are equal whatever the attacker knows.
            return
        if self.edits == "insert+delete" and self.strategy != "cohort":
            msg = "Only strategy 'cohort' has a choice of edits; 'exact' always hides ties."
            raise InvalidParams(msg, hint="Leave edits at 'insert'.")
        if self.knowledge == "true" and self.strategy not in {"cohort", "aligned"}:
            msg = f"Strategy {self.strategy!r} does not provide for knowledge 'true'."
            raise InvalidParams(msg, hint="Choose strategy 'cohort' or 'aligned'.")
        if self.edits == "insert+delete" and self.knowledge == "true":
            msg = "Deleted edges make neighbourhoods fall short of true ones."
            raise InvalidParams(msg, hint="Choose edits 'insert' or knowledge 'released'.")
