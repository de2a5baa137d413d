"""Figures of freshness: changes by age, and those a release shows.

`AGES` may be changed, but is more than a constant here: ages are labels of metrics and of private
audits (`stream.files.release_figures`), the last is how long changes are remembered. What counts
as shown is compared with plain sets in tests/ktsafe/audit/test_freshness.py.
"""

from __future__ import annotations

import dataclasses
from typing import Final, Self

import msgspec
import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from ktsafe.audit.cost import Overlap, share

AGES: Final = (1, 2, 4, 8, 12)
"""The ages that are reported, in releases."""
AGE_MAX: Final = AGES[-1]
RECENT: Final = "recent"
"""All ages up to `AGE_MAX` together."""

Numbers = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Aged:
    """Changes by age, from 0 to `AGE_MAX`.

    How many there are, and how many are shown.
    """

    count: tuple[int, ...]
    shown: tuple[int, ...]

    @classmethod
    def of(cls, ages: Numbers, shown: NDArray[np.bool_]) -> Self:
        """Count rows by age."""
        return cls(
            tuple(np.bincount(ages, minlength=AGE_MAX + 1).tolist()),
            tuple(np.bincount(ages[shown], minlength=AGE_MAX + 1).tolist()),
        )

    def at(self, age: int | str) -> tuple[int, int]:
        """Return the number of an age, or of all (`RECENT`), and shown."""
        if age == RECENT:
            return sum(self.count), sum(self.shown)
        return self.count[int(age)], self.shown[int(age)]

    def up_to(self, age: int | str) -> tuple[int, int]:
        """Return the number of this age or less, and how many shown."""
        top = (AGE_MAX if age == RECENT else int(age)) + 1
        return sum(self.count[:top]), sum(self.shown[:top])


class AgedFigures(msgspec.Struct, frozen=True):
    """Changes of one age: their number, and the share shown."""

    count: int
    shown: float | None

    @classmethod
    def of(cls, found: Aged, age: str) -> Self:
        """Work out the share."""
        count, shown = found.at(age)
        return cls(count, share(shown, count))


class AgedTiesFigures(AgedFigures, frozen=True):
    """Likewise of ties that hold; `ratio` to older ones' share."""

    ratio: float | None


class TiesOfAge(AgedTiesFigures, frozen=True):
    """The same, and of those between two published people."""

    published: AgedTiesFigures


class Changed(msgspec.Struct, frozen=True):
    """Edges that came and went with the release."""

    came: int
    gone: int
    came_true: int
    came_true_share: float | None


class ToldFreshness(msgspec.Struct, frozen=True):
    """How far a release follows the network, by age; see `Freshness`."""

    ties: dict[str, TiesOfAge]
    ended: dict[str, AgedFigures]
    ended_by_leaving: dict[str, AgedFigures]
    newcomers: dict[str, AgedFigures]
    leavers: dict[str, AgedFigures]
    changed: Changed
    latest: Overlap


@dataclasses.dataclass(frozen=True, slots=True)
class AgedTies:
    """Ties that hold, by the age of those that began lately.

    `count` and `shown` of all ties.
    """

    began: Aged
    count: int
    shown: int

    def told(self, age: int | str) -> AgedTiesFigures:
        """Return an age's shown share, and its ratio to older ties'."""
        count, shown = self.began.at(age)
        young, young_shown = self.began.up_to(age)
        older, n_older = self.shown - young_shown, self.count - young
        ratio = share(shown * n_older, count * older)
        return AgedTiesFigures(count, share(shown, count), ratio)


@dataclasses.dataclass(frozen=True, slots=True)
class Freshness:
    """How far a release follows the changes before it. Secret.

    These are statistics of edits.

    Attributes
    ----------
    ties, ties_published:
        Existing ties: all, and those between two published people.
    ended:
        Ties that ended while they were shown, by ages, between two people that are still present.
        `shown` counts those that are still shown.
    ended_by_leaving:
        The same, where one of the two people left.
    newcomers:
        Present people that joined lately. `shown` counts the published ones.
    leavers:
        People that left while they were published. `shown` counts vertices that are still shown.
    came, gone:
        Edges that appeared with this release, and that disappeared.
    came_true:
        Of the edges that appeared, those that are true ties.
    latest:
        The edges of the latest graph (`ktsafe.graph.latest_graph`) beside all true ties.
    """

    ties: AgedTies
    ties_published: AgedTies
    ended: Aged
    ended_by_leaving: Aged
    newcomers: Aged
    leavers: Aged
    came: int
    gone: int
    came_true: int
    latest: Overlap

    def told(self) -> ToldFreshness:
        """Return figures by age and for all recent changes."""
        ages = (*map(str, AGES), RECENT)
        ties = {
            age: TiesOfAge(**asdict(self.ties.told(age)), published=self.ties_published.told(age))
            for age in ages
        }
        ended, by_leaving, newcomers, leavers = (
            {age: AgedFigures.of(found, age) for age in ages}
            for found in (self.ended, self.ended_by_leaving, self.newcomers, self.leavers)
        )
        came_true = share(self.came_true, self.came)
        changed = Changed(self.came, self.gone, self.came_true, came_true)
        return ToldFreshness(ties, ended, by_leaving, newcomers, leavers, changed, self.latest)
