"""A source that another process reads and judges, while this one keeps the graph.

    this process                                     the other one
    read   ── read, so many ──────────────────────▶  poll, decode, judge
           ◀───────────────────── runs, in columns ──
    merge, write                                     poll, decode, judge what comes next
    pause  ── pause ──────────────────────────────▶  at once; what was read ahead is dropped

One request is answered after the other. While records are merged, one `read` is on its way; any
other call ends it first, and what it gave is given next.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, Record, Source, TopicPartition
from ktsafe.connectors.errors import Unavailable
from ktsafe.state.changes import ChangeColumns
from ktsafe.state.registers import Origin
from ktsafe.stream.ingest.envelopes import Wrapping
from ktsafe.stream.ingest.runs import Run

PROGRAM: Final = "ktsafe.stream.ingest.reader_process"
CLOSING_S: Final = 10.0
"""How long the other process may take to let go of its source."""
ENDED: Final = "Start again: nothing is lost. If it ends again, its memory may have been exhausted."

_BETWEEN: Final = "\x00"
"""What separates ids: none holds a control character (`events.check_id`)."""


PlainRecord: TypeAlias = tuple[
    str, int, int, int | None, bytes | None, bytes | None, Sequence[tuple[str, bytes]]
]
"""The fields of a `Record`."""


class ReaderPlan(NamedTuple):
    """What the other process needs; it is pickled."""

    source: Callable[[], Source]
    schema: Schema
    record_bytes_max: int
    event_format: Wrapping
    log_level: str
    log_format: Literal["text", "json"]


class JudgedColumns(NamedTuple):
    """A run of judged records.

    Attributes
    ----------
    number:
        By which the records themselves are asked for, as long as they are of the last `read` or the
        last but one.
    nothing:
        The places of records that come to nothing, ascending.
    ends, people:
        Those of the changes, in one text: quicker to pickle than texts by the thousand.
    changes:
        What the others come to, without these.
    letters:
        By place, records that are to be dead letters.
    """

    number: int
    offsets: NDArray[np.int64]
    nothing: list[int]
    ends: str
    people: str
    changes: ChangeColumns
    letters: dict[int, tuple[PlainRecord, str, str]]
    dropped: dict[int, int]


class ReadAnswer(NamedTuple):
    """What a `read` gave, and how the source stood after it."""

    runs: list[JudgedColumns]
    identity: dict[str, str]
    partitions: list[TopicPartition]
    not_at_end: frozenset[Origin]


def plain(record: Record) -> PlainRecord:
    """Return a record as what is pickled quickly."""
    topic, partition, offset = record.topic, record.partition, record.offset
    time_ms, key, value, headers = record.timestamp_ms, record.key, record.value, record.headers
    return topic, partition, offset, time_ms, key, value, headers


def in_columns(number: int, partition: Origin, run: Run) -> JudgedColumns:
    """Return records of one partition, all of them judged."""
    changes = ChangeColumns.of(*partition, [each for each in run.changes if each is not None])
    return JudgedColumns(
        number,
        np.array([record.offset for record in run.records], dtype=np.int64),
        [place for place, change in enumerate(run.changes) if change is None],
        _BETWEEN.join(changes.ends),
        _BETWEEN.join(changes.people),
        changes._replace(ends=[], people=[]),
        {p: (plain(each.record), each.reason, each.detail) for p, each in run.letters.items()},
        run.dropped,
    )


def _partition(run: JudgedColumns) -> Origin:
    return run.changes.topic, run.changes.partition


class ReadRun(Run):
    """Records of one partition that another process judged."""

    def __init__(self, given: JudgedColumns, fetch: Callable[[int], list[PlainRecord]]) -> None:
        super().__init__()
        self._records: Sequence[Record] = ()
        self._given = given
        self._fetch = fetch
        ends, people = (x.split(_BETWEEN) if x else [] for x in (given.ends, given.people))
        self._columns = given.changes._replace(ends=ends, people=people)
        self.dropped = given.dropped
        self.letters = {
            place: DeadLetter(Record(*record), reason, detail)
            for place, (record, reason, detail) in given.letters.items()
        }

    def __len__(self) -> int:
        return len(self._given.offsets)

    @property
    def records(self) -> Sequence[Record]:
        """The records, as the source gave them."""
        if not self._records:
            self._records = [Record(*each) for each in self._fetch(self._given.number)]
        return self._records

    def offset(self, place: int) -> int:
        """Return the offset of the record at a place."""
        return int(self._given.offsets[place])

    def in_columns(self) -> ChangeColumns | None:
        """Return the changes in columns, if all records are changes."""
        return None if self._given.nothing else self._columns

    def _judge_more(self) -> None:
        self.changes = list(self._columns.each())
        for place in self._given.nothing:
            self.changes.insert(place, None)


class ReadAhead:
    """A source (`ktsafe.connectors.base.Source`) and a reader (`runs.Reader`) in one.

    Parameters
    ----------
    plan:
        How the other process makes the source, and judges.

    Raises
    ------
    ktsafe.connectors.errors.Unavailable
        By any method, where the other process is gone; and whatever its source raises.
    """

    def __init__(self, plan: ReaderPlan) -> None:
        self._plan = plan
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Connection | None = None
        self._is_reading = False
        self._ahead: list[JudgedColumns] = []
        self._failed: Exception | None = None
        self._stood: ReadAnswer | None = None

    def open(self, positions: Mapping[TopicPartition, int], identity: Mapping[str, str]) -> None:
        """Start the other process, and open the source there."""
        here, there = socket.socketpair()
        with there:
            # Its configuration goes through the socket: a command line is there for all to see.
            self._process = subprocess.Popen(  # noqa: S603 -- our own
                [sys.executable, "-m", PROGRAM, str(there.fileno())],
                pass_fds=[there.fileno()],
            )
        self._wire = Connection(here.detach())
        try:
            self._send(self._plan)
            self._ask("open", dict(positions), dict(identity))
        except BaseException:
            self.close()
            raise

    def read(self, timeout_s: float, records_max: int) -> list[tuple[Origin, Run]]:
        """Return the runs that were read ahead, and let the next ones be read meanwhile."""
        if not self._ahead and self._failed is None:
            if not self._is_reading:
                self._begin_reading(timeout_s, records_max)
            if not self._answers(timeout_s):
                return []
            self._end_reading()
        given, self._ahead = self._ahead, []
        if given:
            self._begin_reading(timeout_s, records_max)
        elif self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        return [(_partition(run), ReadRun(run, self._fetch)) for run in given]

    def poll(self, timeout_s: float, records_max: int) -> list[Record]:
        """Return the next records; they may be as many as the last call asked for."""
        runs = self.read(timeout_s, records_max)
        return [record for _, run in runs for record in run.records]

    def identity(self) -> dict[str, str]:
        """Return what tells this source from another."""
        if self._stood is None:
            found: dict[str, str] = self._ask("identity")
            return found
        return self._stood.identity

    def partitions(self) -> list[TopicPartition]:
        """Return all partitions, paused ones included."""
        if self._stood is None:
            found: list[TopicPartition] = self._ask("partitions")
            return found
        return self._stood.partitions

    def at_end(self, partition: TopicPartition) -> bool:
        """Whether every record that exists now has been given."""
        if self._stood is not None and partition in self._stood.not_at_end:
            return False
        is_at_end: bool = self._ask("at_end", partition)
        return is_at_end and all(_partition(run) != partition for run in self._ahead)

    def pause(self, partition: TopicPartition, at_offset: int) -> None:
        """Stop a partition; what was read ahead of it is dropped."""
        self._ask("pause", partition, at_offset)
        self._ahead = [run for run in self._ahead if _partition(run) != partition]
        self._stood = None

    def resume(self, partition: TopicPartition) -> None:
        """Let a partition go on."""
        self._ask("resume", partition)
        self._stood = None

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return the records not yet given, by partition; None where that is not known."""
        lag: dict[TopicPartition, int | None] = self._ask("lag")
        for run in self._ahead:
            at = TopicPartition(*_partition(run))
            if (before := lag.get(at)) is not None:
                lag[at] = before + len(run.offsets)
        return lag

    def ends(self) -> dict[TopicPartition, int]:
        """Return the offset of the record that will come next to each partition."""
        ends: dict[TopicPartition, int] = self._ask("ends")
        return ends

    def acknowledge(self, positions: Mapping[TopicPartition, int]) -> None:
        """Tell the source which next offsets are durable, without waiting for it."""
        self._send(("acknowledge", (dict(positions),)))

    def close(self) -> None:
        """Let the other process end."""
        if self._wire is not None:
            self._wire.close()
        if self._process is not None:
            try:
                self._process.wait(CLOSING_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._wire = self._process = None

    def _fetch(self, number: int) -> list[PlainRecord]:
        records: list[PlainRecord] = self._ask("records", number)
        return records

    def _begin_reading(self, timeout_s: float, records_max: int) -> None:
        self._send(("read", (timeout_s, records_max)))
        self._is_reading = True

    def _end_reading(self) -> None:
        """Take the answer to a `read`; an error is told with the next one."""
        self._is_reading = False
        try:
            answer: ReadAnswer = self._receive()
        except Exception as error:  # noqa: BLE001 -- of whatever kind, it is raised later
            self._failed = error
        else:
            self._stood = answer
            self._ahead += answer.runs

    def _ask(self, name: str, *given: Any) -> Any:
        # What is asked first ends a `read` that waits for records.
        self._send((name, given))
        if self._is_reading:
            self._end_reading()
        return self._receive()

    def _send(self, message: Any) -> None:
        assert self._wire is not None
        with self._told():
            self._wire.send(message)

    def _receive(self) -> Any:
        assert self._wire is not None
        with self._told():
            found, error = self._wire.recv()
        if error is not None:
            raise error
        return found

    def _answers(self, within_s: float) -> bool:
        assert self._wire is not None
        with self._told():
            return self._wire.poll(within_s)

    @staticmethod
    @contextmanager
    def _told() -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError):
            raise Unavailable("read the source", "the process that reads it", ENDED) from None
