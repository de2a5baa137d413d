"""Records of one partition on their way into the store, with what they come to."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, Protocol

from ktsafe.connectors.base import DeadLetter, Record, Source
from ktsafe.state.changes import Change, ChangeColumns
from ktsafe.state.registers import Origin
from ktsafe.stream.ingest.judge import Judge

JUDGED_AT_ONCE: Final = 256
"""Records of a partition judged together; where it is stopped, what follows is judged again."""

_partition_of: Final = attrgetter("topic", "partition")


class Run(abc.ABC):
    """Records of one partition, in order, with what those that were looked at come to.

    Attributes
    ----------
    changes, letters, dropped:
        Those of `JudgedRecords`, of the records looked at so far.
    """

    def __init__(self) -> None:
        self.changes: list[Change | None] = []
        self.letters: dict[int, DeadLetter] = {}
        self.dropped: dict[int, int] = {}

    @abc.abstractmethod
    def __len__(self) -> int:
        """Return how many records there are."""

    @property
    @abc.abstractmethod
    def records(self) -> Sequence[Record]:
        """The records, as the source gave them."""

    @abc.abstractmethod
    def offset(self, place: int) -> int:
        """Return the offset of the record at a place."""

    @abc.abstractmethod
    def in_columns(self) -> ChangeColumns | None:
        """Return the changes in columns, if that is how they came, and all records are changes."""

    @abc.abstractmethod
    def _judge_more(self) -> None:
        """Look at some records more."""

    def since(self, start: int, end: int) -> Iterator[tuple[int, Change | None]]:
        """Yield place and change of the records from one place to another."""
        while start < end:
            if start == len(self.changes):
                self._judge_more()
            stop = min(end, len(self.changes))
            yield from enumerate(self.changes[start:stop], start)
            start = stop

    def judge_all(self) -> None:
        """Look at all of them."""
        while len(self.changes) < len(self):
            self._judge_more()

    def times_since(self, start: int, oldest_us: int) -> Iterator[int | None]:
        """Yield the times of the records from a place on, None for those that are no events."""
        for _, change in self.since(start, len(self)):
            time_us = None if change is None else change.stamp.time_us
            yield None if time_us is None or time_us < oldest_us else time_us


class PolledRun(Run):
    """Records that are judged as they are looked at."""

    def __init__(self, judge: Judge, records: Sequence[Record]) -> None:
        super().__init__()
        self._judge = judge
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> Sequence[Record]:
        """The records, as the source gave them."""
        return self._records

    def offset(self, place: int) -> int:
        """Return the offset of the record at a place."""
        return self._records[place].offset

    def in_columns(self) -> ChangeColumns | None:
        """Return None: they are judged one by one."""
        return None

    def _judge_more(self) -> None:
        start = len(self.changes)
        judged = self._judge.judge(self._records[start : start + JUDGED_AT_ONCE])
        self.changes += judged.changes
        self.letters.update((start + place, each) for place, each in judged.letters.items())
        self.dropped.update((start + place, each) for place, each in judged.dropped.items())


class Reader(Protocol):
    """Where runs of records come from."""

    def read(self, timeout_s: float, records_max: int) -> list[tuple[Origin, Run]]:
        """Return about `records_max` next records at most, as `Source.poll` does, in runs."""


class PolledSource:
    """Reads a source in this process, and judges what it gave as it is looked at."""

    def __init__(self, source: Source, judge: Judge) -> None:
        self._source = source
        self._judge = judge

    def read(self, timeout_s: float, records_max: int) -> list[tuple[Origin, Run]]:
        """Poll once."""
        records = self._source.poll(timeout_s, records_max)
        runs = itertools.groupby(records, _partition_of)
        return [(partition, PolledRun(self._judge, list(run))) for partition, run in runs]
