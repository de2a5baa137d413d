"""Records held back, and the event times of their partitions.

`CONFIRMING`, `REFUTING` and `FOLLOWING_MAX` may be tuned (tests/stream/ingest/test_ahead.py). But a
lost state is made again from its feed: what is decided otherwise then gives other bytes than those
at the sink, and is refused.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.state.changes import RowChange, TieRow, Told
from ktsafe.state.registers import Origin
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateMismatch
from ktsafe.stream.ingest.debezium import RowJudge, Tables
from ktsafe.stream.ingest.judge import Judge, RecordJudge

# Records held back, and the kinds of records of a feed.

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


# Event times of partitions: late, believed, or not yet.
#
# One wrong date must not move the time of a feed: all that follows would be late for ever, and
# releases of the future would go out. So an event beyond what its partition has come to so far is
# weighed against the next records of that partition. The log itself keeps what is undecided: no
# offset passes it, a crash reads it again, and a replay of the same records comes to the same end.

Admits = Callable[[Origin, int], bool]
"""Whether an event of a partition may be applied now; False stops the partition there."""
StopAt = Callable[[Origin], int]
"""The offset of a partition at which it is stopped, whatever the time of its events."""
BEFORE_ALL_US: Final = -(2**62)
"""A limit before every event: no slot is known yet."""
CONFIRMING: Final = 3
"""Following records beyond the bound that confirm the first: four wrong dates among a dozen records
move the time, fewer do not."""
REFUTING: Final = 8
"""Following records within the bound that refute it: what comes in disorder rarely shows as many
old ones in a row as this, where time has moved on."""
FOLLOWING_MAX: Final = 100
"""Following records that are looked at: the rest may be no events at all."""
Plausible = Callable[[int, bool], bool | None]
"""Whether a time may be that of an event which nothing follows; None: too early to say. Told too
whether most of what followed speaks against it."""


class Belief(enum.Enum):
    """What comes of an event beyond the bound."""

    BELIEVED = enum.auto()
    REFUTED = enum.auto()
    OPEN = enum.auto()


class Weighed(NamedTuple):
    """The verdict, and the partition's new time if confirmed."""

    verdict: Belief
    time_us: int


def weigh(
    time_us: int,
    following_us: Iterable[int | None],
    bound_us: int,
    *,
    at_rest: Plausible | None = None,
) -> Weighed:
    """Return whether later records agree that a bound is passed.

    The time believed is the earliest of all that lie beyond it: whether the first of them is the
    wrong one does not matter.

    Parameters
    ----------
    following_us:
        The times of the following records, in order; None for one without.
    at_rest:
        Given where nothing follows for now. A time that it finds plausible is believed; any other
        one stays open until something speaks against it.
    """
    earliest, ahead, behind = time_us, 0, 0
    for n, following in enumerate(following_us, 1):
        if following is None:
            pass
        elif following > bound_us:
            ahead += 1
            earliest = min(earliest, following)
        else:
            behind += 1
        if ahead >= CONFIRMING:
            return Weighed(Belief.BELIEVED, earliest)
        if behind >= REFUTING:
            return Weighed(Belief.REFUTED, earliest)
        if n >= FOLLOWING_MAX:
            break
    else:
        if at_rest is None:
            return Weighed(Belief.OPEN, earliest)
        is_plausible = at_rest(earliest, behind > ahead)
        if is_plausible:
            return Weighed(Belief.BELIEVED, earliest)
        is_refuted = behind and is_plausible is not None
        return Weighed(Belief.REFUTED if is_refuted else Belief.OPEN, earliest)
    return Weighed(Belief.BELIEVED if ahead >= behind else Belief.REFUTED, earliest)


class Fate(enum.Enum):
    """Fate of an event by its time."""

    APPLY = enum.auto()
    LATE = enum.auto()
    AHEAD = enum.auto()
    STOP = enum.auto()  # here is the cut of its partition
    WAIT = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """Bounds of time now; `at_rest` where nothing follows."""

    admits: Admits
    slot_us: int
    at_rest: Plausible | None = None
    stop_at: StopAt | None = None


class EventTimes:
    """The greatest event time believed of each partition.

    Parameters
    ----------
    believed_us:
        Those known from before.
    lateness_us:
        How far an event may lie behind the newest one of its partition.
    """

    def __init__(self, believed_us: Mapping[Origin, int], lateness_us: int) -> None:
        self._believed_us = dict(believed_us)
        self._lateness_us = lateness_us

    def of(self, partition: Origin) -> int | None:
        """Return what a partition has come to; None before its first event."""
        return self._believed_us.get(partition)

    def newest_us(self) -> int | None:
        """Return the greatest time of all partitions."""
        return max(self._believed_us.values(), default=None)

    def bound_us(self, partition: Origin, limit: Limit) -> int:
        """Return until when a partition's events are believed without others.

        That is the slot being collected for. A partition that is far behind the others would come
        to it in one step, and have the rest of its events late: so lateness is a bound as well.
        """
        newest_us = self._believed_us.get(partition)
        if newest_us is None:
            return limit.slot_us
        return min(limit.slot_us, newest_us + self._lateness_us)

    def within(self, partition: Origin, time_us: int) -> Fate:
        """Return the fate of an event within the bound."""
        newest_us = self._believed_us.get(partition, BEFORE_ALL_US)
        if time_us > newest_us:
            self._believed_us[partition] = time_us
        return Fate.LATE if time_us < newest_us - self._lateness_us else Fate.APPLY

    def beyond(
        self,
        partition: Origin,
        time_us: int,
        limit: Limit,
        following: Callable[[int], Iterable[int | None]],
    ) -> Fate:
        """Return the fate of an event beyond the bound.

        Parameters
        ----------
        following:
            Gives the times of the records behind the event; None for one without, or before the
            time that it is given.
        """
        while time_us > (bound_us := self.bound_us(partition, limit)):
            oldest_us = self._believed_us.get(partition, BEFORE_ALL_US) - self._lateness_us
            verdict, believed_us = weigh(
                time_us, following(oldest_us), bound_us, at_rest=limit.at_rest
            )
            # What a cut that is made again holds beyond its slot was not believed then.
            is_held = limit.stop_at is not None and believed_us > limit.slot_us
            if verdict is Belief.OPEN and not (is_held and limit.at_rest):
                return Fate.WAIT
            if verdict is not Belief.BELIEVED or is_held:
                # If it were right, what follows would be late: the owner says that nothing is.
                is_far = time_us > limit.slot_us + self._lateness_us
                return Fate.AHEAD if is_far else Fate.APPLY
            if not limit.admits(partition, believed_us):
                return Fate.STOP
            self._believe(partition, believed_us)
        self._believe(partition, time_us)
        return Fate.APPLY

    def _believe(self, partition: Origin, time_us: int) -> None:
        self._believed_us[partition] = max(self._believed_us.get(partition, time_us), time_us)
