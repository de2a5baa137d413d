"""How fast pairs of classes are planned afresh.

Constants may be tuned: running sequences follow with the next release. Nothing shown may get older
than `max_age` (tests/ktsafe/sequence/test_ages.py, test_turns.py). What `to_mapping` returns lies
in states.

In a turn each of them goes dark once.

While a pair is dark its ties are missed, and while it is not, its news are: where little changes,
turns are slow. Ages are counted in turns, not in releases, so a pair that waited while they were
slow waits for its share of the next one when they get fast: what is dark never grows at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Self

TURN: Final = 1_000_000
"""A turn, in the parts that are counted."""

EARLY = 0.8
"""Share of the greatest age within which all pairs go in turn."""

PACE = 1.2
"""The age that is aimed at, times the root of the share of ties that changes with a release. What
is dark and what is old are least together at 1.8; news are worth more than that."""

LEAST = 12
"""The least age that is aimed at unless `max_age` is less: where more changes, too much would be
dark."""

UNKNOWN = 0.0018
"""Share of ties that is taken to change with a release before anybody knows. It makes the age that
is aimed at 28, between `LEAST` and the greatest by default. As much is dark in a first release as
then, and what is planned next can make up for it, whichever the age comes to."""

KEPT = 7 / 8
"""What the change of former releases counts with each further one."""


def share_of_turn(changed: float, max_age: int) -> int:
    """Return the share of a turn in one release, in `TURN`s parts.

    Parameters
    ----------
    changed:
        Share of the ties that begins or ends with a release.
    max_age:
        Releases after which a pair of classes goes dark at the latest.

    Examples
    --------
    >>> [round(TURN / share_of_turn(changed, 48), 1) for changed in (0.02, 0.004, 0.0001)]
    [9.6, 15.2, 38.4]
    """
    age = PACE / math.sqrt(changed) if changed > 0 else math.inf
    return math.ceil(TURN / (EARLY * min(max(age, LEAST), max_age)))


class Turns:
    """The progress of turns, and the network's change per release.

    Parameters
    ----------
    passed:
        What had passed of turns as of each of the last releases, the latest last; 0 before the
        first one.
    changed, weight:
        Sum of the shares of ties that changed with each release, and of what each counts.
    """

    def __init__(
        self, passed: list[int] | None = None, changed: float = 0.0, weight: float = 0.0
    ) -> None:
        self._passed = passed or [0]
        self._changed = changed
        self._weight = weight

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Return what `to_mapping` wrote."""
        return cls(mapping["passed"], mapping["changed"], mapping["weight"])

    def to_mapping(self) -> dict[str, Any]:
        """Return all that is remembered, JSON-ready."""
        return {"passed": self._passed, "changed": self._changed, "weight": self._weight}

    def copy(self) -> Turns:
        """Return a copy."""
        return Turns(list(self._passed), self._changed, self._weight)

    @property
    def changed(self) -> float:
        """Share of the ties that changes with a release.

        `UNKNOWN` before anybody knows.

        What is dark is made up for by what the others show. Where that were much more or less at
        first than later, the second release would have too few edges or too many.
        """
        return self._changed / self._weight if self._weight else UNKNOWN

    def note_changed(self, n_changed: int, n_ties: int) -> None:
        """Note how many ties begin or end with this release."""
        if n_ties:
            self._changed = KEPT * self._changed + n_changed / n_ties
            self._weight = KEPT * self._weight + 1

    def go_on(self, max_age: int) -> None:
        """Let pass what passes with this release."""
        self._passed.append(self._passed[-1] + share_of_turn(self.changed, max_age))

    def since(self, n_releases: int) -> int:
        """Return what passed since so many releases ago, in parts of `TURN`."""
        return self._passed[-1] - self._passed[-1 - n_releases]

    def share(self, n_releases: int) -> int:
        """Return the progress so many releases ago, in parts of `TURN`."""
        return self.since(n_releases + 1) - self.since(n_releases)

    def is_last(self, n_releases: int, passing: int = 0) -> bool:
        """Whether plans of so many releases ago have the greatest age.

        Now, or if so much more had passed.
        """
        return self.since(n_releases) + passing >= TURN / EARLY

    def was_last(self, n_releases: int) -> bool:
        """Whether it was that with the release before this one."""
        return self.is_last(n_releases, -self.share(0))

    def forget(self, n_releases: int) -> None:
        """Forget what passed with releases more than so many releases ago."""
        del self._passed[: -2 - n_releases]
