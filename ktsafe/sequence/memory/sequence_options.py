"""The options of a sequence of releases; fixed for as long as it lasts."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Literal, get_args

from ktsafe.errors import InvalidParams
from ktsafe.options import Aim, Effort
from ktsafe.params import LATER, Mapped, exact

Births = Literal["withhold", "pad"]
QiChange = Literal["hold", "rebirth"]


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceOptions(Mapped):
    """How a sequence reacts to changes.

    Attributes
    ----------
    sybil_margin:
        Newcomers of one quasi-identifier beyond k that must exist before they are published.
    birth_wait_max:
        Releases that people of a class that was never shown wait for ties of like kinds, and after
        which `births` decides about newcomers that still wait.
    births:
        "withhold": they wait on. "pad": inserted vertices fill their cohort.
    qi_change:
        "hold": the old quasi-identifier stays published until a group of one cohort moves to the
        same new one. "rebirth": the person leaves its place at once and joins anew.
    alpha_reserve:
        Share of alpha that cohorts leave free when they are formed, for later sensitive updates.
    real_floor:
        A cohort with fewer real members, but some, is retired: its people are published anew. Who
        links both lives of one of them finds fewer than k candidates, and the auditor does.
        None: no cohort is retired; the audit tells how many of a cohort are people.
    effort:
        How hard the first release is searched; what it saves is saved for ever.
    max_age:
        Releases after which what a pair of classes shows goes dark, to be planned afresh, at the
        latest. Until then ties that ended may still be shown.
    aim:
        What is sought among safe releases: see `ktsafe.AnonymizeOptions`.
    """

    sybil_margin: int = 2
    birth_wait_max: int = 12
    births: Births = "withhold"
    qi_change: QiChange = "hold"
    alpha_reserve: Fraction = Fraction(0)
    real_floor: int | None = None
    effort: Effort = "balanced"
    max_age: int = dataclasses.field(default=12, metadata=LATER)
    aim: Aim = dataclasses.field(default="balanced", metadata=LATER)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha_reserve", exact(self.alpha_reserve, "alpha_reserve"))
        if not 0 <= self.alpha_reserve < 1:
            raise InvalidParams("alpha_reserve must be at least 0 and below 1.")
        for name, known in (
            ("births", get_args(Births)),
            ("qi_change", get_args(QiChange)),
            ("effort", get_args(Effort)),
            ("aim", get_args(Aim)),
        ):
            if getattr(self, name) not in known:
                raise InvalidParams(f"{name} must be one of {', '.join(known)}.")
        for name in ("sybil_margin", "birth_wait_max", "real_floor"):
            value = getattr(self, name)
            if name == "real_floor" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidParams(f"{name} must be a whole number of at least 0.")
        if isinstance(self.max_age, bool) or not isinstance(self.max_age, int) or self.max_age < 2:
            raise InvalidParams("max_age must be a whole number of at least 2.")
