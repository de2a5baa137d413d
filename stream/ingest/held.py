"""Records held back, and the kinds of records of a feed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.state.changes import RowChange, TieRow, Told
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateMismatch
from ktsafe.stream.ingest.debezium import RowJudge, Tables
from ktsafe.stream.ingest.judge import Judge, RecordJudge

UNKNOWN_ROW: Final = (
    "unknown_row",
    "no such row is held: give records their key, or the table its key, or REPLICA IDENTITY FULL",
)
"""Why a row is set aside that only a row of before explains."""


def judge_of(
    tables: Tables,
    schema: Schema,
    kinds: Iterable[str],
    *,
    record_bytes_max: int,
    wall_us: Callable[[], int],
) -> RecordJudge:
    """Return what decides what records do, given known kinds."""
    if tables:
        return RowJudge(tables, schema, record_bytes_max=record_bytes_max)
    return Judge(schema, record_bytes_max=record_bytes_max, kinds=kinds, wall_us=wall_us)


def check_made_of(store: GraphStore, *, rows: bool) -> None:
    """Refuse events for a graph of tables, or the reverse.

    Raises
    ------
    StateMismatch
    """
    if store.holds_rows == rows or (rows and store.is_blank):
        return
    hint = (
        "It was made of events, and what rows said is not known. Begin with a new state folder, "
        "and let the connector take its snapshot again."
        if rows
        else "It was made of rows of tables: give [[source.tables]] again."
    )
    raise StateMismatch("read the feed", "the state", hint)


def needs_held(change: Told) -> bool:
    """Whether a row says of something that it is as it was."""
    if not isinstance(change, RowChange):
        return False
    row = change.row
    if isinstance(row, TieRow):
        return change.needs_former or row.source is None or row.target is None
    return change.needs_former or (row is not None and (row.id is None or bool(row.untold)))


# Intake since the last checkpoint, not durable yet.


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


# One partition's records on their way to the store, with results.

JUDGED_AT_ONCE: Final = 256
"""Records of a partition judged together; where it is stopped, what follows is judged again."""


class Run:
    """Records of one partition, in order, judged as they are looked at.

    Attributes
    ----------
    changes, letters, dropped:
        Those of `JudgedRecords`, of the records looked at so far.
    """

    def __init__(self, judge: RecordJudge, records: Sequence[Record]) -> None:
        self._judge = judge
        self.records = records
        self.changes: list[Told | None] = []
        self.letters: dict[int, DeadLetter] = {}
        self.dropped: dict[int, int] = {}

    def since(self, start: int, end: int) -> Iterator[tuple[int, Told | None]]:
        """Yield place and change of the records from one place to another."""
        while start < end:
            if start == len(self.changes):
                self._judge_more()
            stop = min(end, len(self.changes))
            yield from enumerate(self.changes[start:stop], start)
            start = stop

    def times_since(self, start: int, oldest_us: int) -> Iterator[int | None]:
        """Yield times of records from a place on, None for non-events."""
        for _, change in self.since(start, len(self.records)):
            time_us = None if change is None else change.stamp.time_us
            yield None if time_us is None or time_us < oldest_us else time_us

    def _judge_more(self) -> None:
        start = len(self.changes)
        judged = self._judge.judge(self.records[start : start + JUDGED_AT_ONCE])
        self.changes += judged.changes
        self.letters.update((start + place, each) for place, each in judged.letters.items())
        self.dropped.update((start + place, each) for place, each in judged.dropped.items())
