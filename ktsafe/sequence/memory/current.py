"""The current release: its number, and how it differs from the former one."""

from __future__ import annotations

Tie = tuple[int, int]


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
    changed:
        Likewise in this release, among people who were published before.
    opened:
        Two classes between which somebody's ties were published in this release.
    moved:
        Rows of people who came, left, were published or withheld, or whose ties that are held back
        or whose neighbours' classes changed: the kept kt-tree looks at them anew.
    """

    def __init__(self) -> None:
        self.number = 0
        self.gained: dict[Tie, None] = {}
        self.lost: dict[Tie, None] = {}
        self.returned: set[Tie] = set()
        self.touched: set[int] = set()
        self.stale: dict[Tie, int] = {}
        self.changed: dict[Tie, int] = {}
        self.opened: set[Tie] = set()
        self.moved: set[int] = set()

    def begin(self, number: int) -> None:
        """Begin a release: nothing has changed yet."""
        self.number = number
        for edges in (self.gained, self.lost, self.changed):
            edges.clear()
        for noted in (self.returned, self.touched, self.opened, self.moved):
            noted.clear()

    def note_change(self, classes: Tie) -> None:
        """Note that a true tie between two classes came or went."""
        self.stale[classes] = self.stale.get(classes, 0) + 1
        self.changed[classes] = self.changed.get(classes, 0) + 1

    def note_opened(self, classes: Tie) -> None:
        """Note that a true tie between two classes can be shown, since somebody was published."""
        self.stale[classes] = self.stale.get(classes, 0) + 1
        self.opened.add(classes)
