"""One partition's records on their way to the store, with results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.state.changes import Told
from ktsafe.stream.ingest.judged import RecordJudge

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
