"""What records come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.state.changes import Told


class JudgedRecords(NamedTuple):
    """What records come to, one after the other.

    Attributes
    ----------
    changes:
        What each does to the graph; None: nothing. By definition it does nothing where its value
        is null, or a row of another table.
    letters:
        By place, the records that should have been changes, and why they are none. A row that is
        refused is one of them, and ends what it said before all the same.
    dropped:
        By place, how many attributes a change lost.
    """

    changes: list[Told | None]
    letters: dict[int, DeadLetter]
    dropped: dict[int, int]


class RecordJudge(Protocol):
    """Decides what records do to the graph, by the records alone."""

    @property
    def other_tables(self) -> set[str]:
        """Names of tables with rows that mean nothing here."""

    def missing_tables(self) -> set[str]:
        """Return the listed tables of which no row came."""

    def judge(self, records: Sequence[Record]) -> JudgedRecords:
        """Return what records do."""
