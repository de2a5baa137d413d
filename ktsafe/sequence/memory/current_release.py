"""The release in the making: how it differs from the former one.

What is remembered (`stale`, `planned`, `turns`) goes into pages by `State.meta`; all else is
forgotten with the release and may be changed. The order in which edges are noted settles bytes
(tests/ktsafe/sequence/test_cover.py).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph.numbering import edge_keys
from ktsafe.sequence.memory.column_table import NOBODY, Numbers, among
from ktsafe.sequence.memory.sequence_tables import Tie
from ktsafe.sequence.memory.turns import Turns


class NumberList:
    """Numbers from 0 in order of arrival, each once."""

    def __init__(self) -> None:
        self._parts: list[Numbers] = []

    def array(self) -> Numbers:
        """Return them, int64, shape (x,)."""
        if len(self._parts) != 1:
            self._parts = [np.concatenate((np.zeros(0, dtype=np.int64), *self._parts))]
        return self._parts[0]

    def add(self, numbers: Numbers) -> None:
        """Add numbers that are not among them."""
        if len(numbers):
            self._parts.append(numbers)

    def remove(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Remove distinct numbers as far as they are among them.

        Return which were.
        """
        known = self.array()
        # Mostly few of many go: the few are sorted, and the many gone through once.
        ordered = np.append(np.sort(numbers), NOBODY)
        goes = ordered[np.searchsorted(ordered[:-1], known)] == known
        if goes.any():
            self._parts = [known[~goes]]
        return among(numbers, known[goes])


@dataclasses.dataclass(eq=False)
class Current:
    """What the last changes did.

    Attributes
    ----------
    number:
        Of the release, 0 for the first.
    gained:
        The rows of the edges that this release shows and the former did not.
    lost:
        The edges that the former release showed and this one does not, as `edge_keys` of places.
    returned:
        Likewise, edges that were shown before their pair of classes was cleared, of pairs planned
        afresh now.
    touched:
        Cohorts to which anything happened.
    stale:
        For two classes how many true ties between them came or went since it was last decided what
        they show. Remembered, as the tables are.
    planned:
        For two classes the release in which what they show, or showed last, was planned afresh.
        Remembered, as the tables are; forgotten once it is older than the sequence may show.
    turns:
        How far turns of planning pairs afresh have gone. Remembered, as the tables are.
    opened:
        Two classes between which somebody's ties were published in this release.
    """

    number: int
    stale: dict[Tie, int]
    planned: dict[Tie, int]
    turns: Turns
    gained: NumberList = dataclasses.field(default_factory=NumberList)
    lost: NumberList = dataclasses.field(default_factory=NumberList)
    returned: NumberList = dataclasses.field(default_factory=NumberList)
    touched: set[int] = dataclasses.field(default_factory=set)
    opened: set[Tie] = dataclasses.field(default_factory=set)

    def following(self) -> Current:
        """Return the next release, of which nothing is known yet."""
        turns = self.turns.copy()
        return Current(self.number + 1, dict(self.stale), dict(self.planned), turns)

    def note_shown(self, rows: Numbers, edges: Numbers) -> None:
        """Note edges that are released.

        Their rows, and their places, shape (x, 2).
        """
        self.gained.add(rows[~self.lost.remove(edge_keys(edges))])

    def note_dropped(self, rows: Numbers, edges: Numbers) -> None:
        """Note edges released no longer; others may take their rows."""
        self.lost.add(edge_keys(edges)[~self.gained.remove(rows)])

    def note_change(self, classes: Tie, ties: int = 1) -> None:
        """Note that true ties between two classes came or went."""
        self.stale[classes] = self.stale.get(classes, 0) + ties

    def note_opened(self, classes: Tie, ties: int) -> None:
        """Note that true ties between two classes can be shown by now."""
        self.note_change(classes, ties)
        self.opened.add(classes)
