"""Intake since the last checkpoint, not durable yet."""

from __future__ import annotations

import dataclasses

from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.state.changes import Told
from ktsafe.stream.ingest.made_of import needs_held


@dataclasses.dataclass(slots=True)
class Held:
    """What was taken in: `records` of them, the first at `since_s`.

    `unsure` are records by the place of their change, of rows that only a row of before explains.
    """

    changes: list[Told] = dataclasses.field(default_factory=list)
    unsure: dict[int, Record] = dataclasses.field(default_factory=dict)
    letters: list[DeadLetter] = dataclasses.field(default_factory=list)
    letter_bytes: int = 0
    partitions: set[tuple[str, int]] = dataclasses.field(default_factory=set)
    records: int = 0
    since_s: float = 0.0

    def set_aside(self, letter: DeadLetter) -> None:
        """Hold a dead letter."""
        self.letters.append(letter)
        self.letter_bytes += len(letter.record.value or b"")

    def take_row(self, change: Told, record: Record) -> None:
        """Hold a record's row, and the record while it may be refused."""
        if needs_held(change):
            self.unsure[len(self.changes)] = record
            self.letter_bytes += len(record.value or b"")
        self.changes.append(change)
