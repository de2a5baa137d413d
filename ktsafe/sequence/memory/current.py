"""The current release: its number, and how it differs from the former one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import edge_keys
from ktsafe.sequence.memory.sequence_tables import Tie
from ktsafe.sequence.memory.sorted_numbers import among


class EdgeList:
    """Edges between places in the order in which they came, each once."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.int64]] = []

    def array(self) -> NDArray[np.int64]:
        """Return the places of their ends, int64, shape (x, 2)."""
        if len(self._parts) != 1:
            self._parts = [np.concatenate((np.zeros((0, 2), dtype=np.int64), *self._parts))]
        return self._parts[0]

    def add(self, edges: NDArray[np.int64]) -> None:
        """Add edges that are not among them."""
        self._parts.append(edges)

    def remove(self, edges: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Remove edges as far as they are among them; return which were."""
        if not len(edges) or not len(known := self.array()):
            return np.zeros(len(edges), dtype=np.bool_)
        stays = ~among(edge_keys(known), edge_keys(edges))
        were = among(edge_keys(edges), edge_keys(known))
        self._parts = [known[stays]]
        return were


class Current:
    """What the last changes did.

    Attributes
    ----------
    number:
        Of the release, 0 for the first.
    gained, lost:
        Edges between places, ascending, that this release shows and the former did not, or the
        other way round.
    returned:
        Edges that were shown before their pair of classes was cleared, of pairs planned afresh now.
    touched:
        Cohorts to which anything happened.
    stale:
        For two classes how many true ties between them came or went since it was last decided what
        they show. Remembered, as the tables are.
    planned:
        For two classes the release in which what they show, or showed last, was planned afresh.
        Remembered, as the tables are; forgotten once it is older than the sequence may show.
    opened:
        Two classes between which somebody's ties were published in this release.
    moved:
        Rows of people who came, left, were published or withheld, or whose ties that are held back
        or whose neighbours' classes changed: the kept kt-tree looks at them anew.
    """

    def __init__(self, number: int, stale: dict[Tie, int], planned: dict[Tie, int]) -> None:
        self.number = number
        self.stale = stale
        self.planned = planned
        self.gained = EdgeList()
        self.lost = EdgeList()
        self.returned: set[Tie] = set()
        self.touched: set[int] = set()
        self.opened: set[Tie] = set()
        self.moved: set[int] = set()

    def following(self) -> Current:
        """Return the next release, of which nothing is known yet."""
        return Current(self.number + 1, dict(self.stale), dict(self.planned))

    def note_shown(self, edges: NDArray[np.int64]) -> None:
        """Note edges that are released."""
        self.gained.add(edges[~self.lost.remove(edges)])

    def note_dropped(self, edges: NDArray[np.int64]) -> None:
        """Note edges that are released no longer."""
        self.lost.add(edges[~self.gained.remove(edges)])

    def note_change(self, classes: Tie, ties: int = 1) -> None:
        """Note that true ties between two classes came or went."""
        self.stale[classes] = self.stale.get(classes, 0) + ties

    def note_opened(self, classes: Tie, ties: int) -> None:
        """Note that true ties between two classes can be shown, since somebody was published."""
        self.note_change(classes, ties)
        self.opened.add(classes)
