"""The options of a sequence: all but one fixed while it lasts.

Another default, or an option more, changes `inputs_digest` (`stream.release.sequence_inputs`), and
a running service refuses inputs of another digest: it needs a conversion, or a place in `FREE`. An
option is a key of the configuration, too (tests/ktsafe/sequence/test_policies.py). `LEAVING` may be
tuned: `begun` writes the margin into the sequence.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Final, Self, get_args

from ktsafe.anonymization.request import Aim, Effort, Values
from ktsafe.errors import InvalidParams
from ktsafe.params import Mapped

FREE: Final = frozenset({"max_age"})
"""Options that may change while a sequence lasts."""


LEAVING: Final = 20
"""One person in so many is expected to leave while a sequence lasts, unless the owner says more."""


def margin_for(size: int) -> int:
    """Return the default margin of people for cohorts of a size.

    Of `size` people `size / LEAVING` leave in the mean; that and two and a half standard deviations
    of a Poisson distribution, rounded up. About one cohort in 300 loses more.

    Examples
    --------
    >>> [margin_for(size) for size in (1, 3, 5, 10, 12, 20, 50, 100)]
    [1, 2, 2, 3, 3, 4, 7, 11]
    """
    # 2.5 * sqrt(size / LEAVING), times 20 and LEAVING.
    return -(-(size + math.isqrt(25 * LEAVING * size // 4)) // LEAVING)


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceOptions(Mapped):
    """How a sequence reacts to changes.

    Attributes
    ----------
    sybil_margin:
        Newcomers of one quasi-identifier beyond k that must exist before they are published.
    birth_wait_max:
        Releases that people of a class that was never shown wait for ties of like kinds.
    effort:
        How hard the first release is searched; what it saves is saved for ever.
    max_age:
        Releases after which what a pair of classes shows goes dark, to be planned afresh, at the
        latest. Until then ties that ended may still be shown. The more changes, the sooner: see
        `ktsafe.sequence.memory.turns`. It may change from one release to the next.
    aim:
        What is sought among safe releases: see `ktsafe.AnonymizeOptions`.
    values:
        Whether members of a cohort exchange sensitive values: see `ktsafe.AnonymizeOptions`. Whose
        value a place shows is drawn once.
    margin:
        People beyond the least size of a cohort that each begins with, so that as many may leave
        and k people are left; None: as many as `margin_for` says.
    """

    sybil_margin: int = 2  # A greater one lets newcomers of small classes wait for longer.
    birth_wait_max: int = 12  # A year of monthly releases: people without ties are shown then.
    effort: Effort = "balanced"
    max_age: int = 48
    aim: Aim = "balanced"
    values: Values = "exchanged"
    margin: int | None = None

    def __post_init__(self) -> None:
        for name, known in (
            ("effort", get_args(Effort)),
            ("aim", get_args(Aim)),
            ("values", get_args(Values)),
        ):
            if getattr(self, name) not in known:
                raise InvalidParams(f"{name} must be one of {', '.join(known)}.")
        for name in ("sybil_margin", "birth_wait_max", "margin"):
            value = getattr(self, name)
            if value is None and name == "margin":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidParams(f"{name} must be a whole number of at least 0.")
        if isinstance(self.max_age, bool) or not isinstance(self.max_age, int) or self.max_age < 2:
            raise InvalidParams("max_age must be a whole number of at least 2.")

    def begun(self, size: int) -> Self:
        """Return the options of a sequence with cohorts of this least size."""
        if self.margin is not None:
            return self
        return dataclasses.replace(self, margin=margin_for(size))

    def to_fixed(self) -> dict[str, Any]:
        """Return what a sequence fixes, as `to_mapping` does."""
        return {name: value for name, value in self.to_mapping().items() if name not in FREE}
