"""Poll, judge, buffer, checkpoint: the way of a record into the store.

Each record takes effect exactly once, because its change and the next offset of its partition
become durable in the same write. A dead letter is durable before the offset passes it.

An event beyond the limit of its partition is weighed against the records that follow it
(`ktsafe.stream.ingest.event_times`). Until that is decided the partition waits in front of it.

Sizes, intervals and warnings may be tuned. The order of steps in `checkpoint` must stay: letters
before offsets, changes with offsets in one write (tests/stream/service/test_crashes.py fails at
every call).
"""

from __future__ import annotations

import dataclasses
import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Final

from ktsafe import Schema
from ktsafe.connectors.base import (
    DeadLetter,
    DeadLetterSink,
    Record,
    Source,
    TopicPartition,
    Unavailable,
)
from ktsafe.connectors.letters import RECORD_BYTES_MAX
from ktsafe.state.ledger import PendingCut
from ktsafe.state.registers import Origin
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import Position
from ktsafe.stream.ingest.debezium import Tables
from ktsafe.stream.ingest.event_times import (
    UNKNOWN_ROW,
    Admits,
    EventTimes,
    Fate,
    Held,
    Limit,
    Plausible,
    Run,
    StopAt,
    check_made_of,
    judge_of,
)
from ktsafe.stream.ingest.judge import KINDS
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.slots import Clocks

log = get_logger(__name__)

LETTER_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of dead letters held before a checkpoint is due: each keeps its whole record."""

_REFUSED: Final = {
    Fate.LATE: ("late", "older than the lateness bound"),
    Fate.AHEAD: ("ahead_of_time", "ahead of what follows it"),
}
_partition_of, _offset_of = attrgetter("topic", "partition"), attrgetter("offset")

NOTHING_MAX: Final = 1_000
"""Records that may come to nothing before that is told while a service runs."""
TABLES_CHARS_MAX: Final = 128
"""A word of the log is no longer."""
PASSING_S: Final = 5.0
"""How often partitions are asked for; brokers look for old records every five minutes."""


@dataclasses.dataclass(frozen=True, slots=True)
class IngestSettings:
    """Bounds of one round.

    Attributes
    ----------
    batch_records_max:
        Records held before a checkpoint is due.
    checkpoint_interval_s:
        Greatest age of a record held before a checkpoint is due.
    poll_timeout_s:
        How long an empty poll waits.
    record_bytes_max:
        Greater records are dead-lettered.
    lateness_max_s:
        How far an event may lie behind the newest one of its partition.
    tables:
        The tables of a database whose rows the records are; none: they are events.
    """

    batch_records_max: int = 10_000  # 10 MiB at most, and a write to the disk costs each little.
    checkpoint_interval_s: float = 1.0  # So long a slow feed waits before it is durable.
    poll_timeout_s: float = 0.2
    record_bytes_max: int = RECORD_BYTES_MAX
    lateness_max_s: int = 604_800
    tables: Tables = ()


class Ingest:
    """Moves records from the source into the store, checkpoint by checkpoint.

    Parameters
    ----------
    clocks:
        One of them measures.
    """

    def __init__(
        self,
        source: Source,
        store: GraphStore,
        dead_letters: DeadLetterSink,
        *,
        schema: Schema,
        settings: IngestSettings,
        observer: Observer,
        clocks: Clocks,
    ) -> None:
        self._source = source
        self._store = store
        self._dead_letters = dead_letters
        self._settings = settings
        self._observer = observer
        self._monotonic = clocks.monotonic
        stored = store.positions()
        self._is_log = bool(settings.tables)
        check_made_of(store, rows=self._is_log)
        self._judge = judge_of(
            settings.tables,
            schema,
            store.kinds(),
            record_bytes_max=settings.record_bytes_max,
            wall_us=clocks.wall_us,
        )
        known_us = {p: us for p, at in stored.items() if (us := at.time_us_max) is not None}
        self._times = EventTimes(known_us, settings.lateness_max_s * 1_000_000)
        self._offsets = {
            partition: p.next_offset
            for partition, p in stored.items()
            # One that gave nothing but marks of transactions was not read.
            if p.next_offset or p.time_us_max is not None
        }
        self._passed = {partition: p.start for partition, p in stored.items()}
        self._passed_at_s = clocks.monotonic()
        self._identity = store.source_identity()
        self._heard_s: dict[tuple[str, int], float] = {}
        self._held = Held()
        self._undecided: dict[tuple[str, int], list[Record]] = {}
        self._n_taken = self._n_other_tables = 0
        self._has_applied = self._has_warned = False
        self._is_new = not stored

    @property
    def offsets(self) -> Mapping[tuple[str, int], int]:
        """Next offset of every partition, held records included."""
        return self._offsets

    @property
    def undecided(self) -> Mapping[tuple[str, int], Sequence[Record]]:
        """Records that wait for others to confirm the first one's time."""
        return self._undecided

    def round(
        self,
        admits: Admits,
        limit_us: int,
        stop_at: StopAt | None = None,
        *,
        waits: bool = True,
    ) -> int:
        """Poll once, take in what came; return the number of records.

        Parameters
        ----------
        admits:
            Asked for events beyond the limit that are believed.
        limit_us:
            The slot being collected for.
        waits:
            Whether to wait for records where there are none.
        """
        room = self._settings.batch_records_max - self._held.records
        timeout_s = self._settings.poll_timeout_s if waits else 0.0
        records = self._source.poll(timeout_s, max(room, 1))
        started = self._monotonic()
        polled = itertools.groupby(records, _partition_of)
        runs = [(partition, Run(self._judge, list(run))) for partition, run in polled]
        self._heard_s.update((partition, started) for partition, _ in runs)
        taken = self._take(runs, Limit(admits, limit_us, stop_at=stop_at), started)
        if records:
            self._observer.applied(self._monotonic() - started)
        elif self._is_new and self._n_taken:
            self._warn_of_missing_tables()
        return taken

    def decide(
        self,
        resting: Collection[tuple[str, int]],
        admits: Admits,
        limit_us: int,
        plausible: Plausible,
        stop_at: StopAt | None = None,
    ) -> int:
        """Decide what waits in partitions without followers; return the number taken.

        An event whose time is not `plausible` may stay undecided.
        """
        runs = [(p, Run(self._judge, ())) for p in sorted(self._undecided) if p in resting]
        limit = Limit(admits, limit_us, at_rest=plausible, stop_at=stop_at)
        return self._take(runs, limit, self._monotonic())

    def checkpoint_due(self) -> bool:
        """Whether held records are many or old enough to be made durable."""
        held, settings = self._held, self._settings
        if not held.records:
            return self._passing_due()
        if held.records >= settings.batch_records_max or held.letter_bytes >= LETTER_BYTES_MAX:
            return True
        return self._monotonic() - held.since_s >= settings.checkpoint_interval_s

    def checkpoint(self, cut: PendingCut | None = None) -> None:
        """Make everything held durable, in this order.

        1. Dead letters, so no offset passes a record that is recorded nowhere. Of rows the store
           says which it does not understand.
        2. Changes, offsets, clocks and the release cut, in one synced write of the store.
        3. The source learns of it, for lag tools only.

        Raises
        ------
        ktsafe.connectors.base.Unavailable
            If dead letters cannot be written. Everything stays held; call again.
        """
        held, identity = self._held, self._source.identity()
        grown = identity if identity != self._identity else None
        passing = self._passing()
        if not (held.records or cut or grown or passing):
            return
        started = self._monotonic()
        # Step 1
        resolved = self._store.resolve(held.changes) if self._is_log else None
        unknown = [held.unsure[place] for place in resolved.unknown] if resolved else []
        if letters := held.letters + [DeadLetter(each, *UNKNOWN_ROW) for each in unknown]:
            self._dead_letters.write(letters)
            for reason, count in Counter(letter.reason for letter in letters).items():
                self._observer.dead_letter(reason, count)
            held.letters, held.letter_bytes = [], 0
        # Step 2
        positions = {p: self._position(p) for p in held.partitions | passing}
        self._store.commit(resolved or held.changes, positions, source_identity=grown, cut=cut)
        self._identity, self._held = identity, Held()
        self._passed.update((p, position.start) for p, position in positions.items())
        # Step 3
        with suppress(Unavailable):
            # All is durable: an error here must not have steps 1 and 2 done again.
            self._source.acknowledge(
                {TopicPartition(*partition): p.start for partition, p in positions.items()}
            )
        self._observer.checkpoint(self._monotonic() - started)

    def idle(self, idle_s: float) -> set[tuple[str, int]]:
        """Return partitions read to their end and idle for `idle_s` seconds."""
        now = self._monotonic()
        quiet: set[tuple[str, int]] = set()
        for partition in self._source.partitions():
            heard = self._heard_s.setdefault(partition, now)
            if now - heard >= idle_s and self._source.at_end(partition):
                quiet.add(partition)
        return quiet

    def newest_us(self) -> int | None:
        """Return the greatest event time believed so far, of all partitions."""
        return self._times.newest_us()

    def ended(self) -> set[tuple[str, int]]:
        """Return the partitions with all records taken in."""
        return {p for p in self._source.partitions() if self._source.at_end(p)}

    def warn_if_nothing_applied(self) -> None:
        """Say once if all records taken in did nothing."""
        if self._has_applied or self._has_warned or not self._n_taken:
            return
        self._has_warned = True
        log.warning(
            "no record of the feed could be applied: is it another topic, or do its rows come "
            "from tables that source.tables does not name?",
            records=self._n_taken,
            tables=",".join(sorted(self._judge.other_tables))[:TABLES_CHARS_MAX] or None,
        )

    def _warn_of_missing_tables(self) -> None:
        """Say once, at a new feed's end, which tables had no row."""
        self._is_new = False
        missing, came = self._judge.missing_tables(), self._judge.other_tables
        if missing and came:
            named = [f"missing:{','.join(sorted(missing))}", f"came:{','.join(sorted(came))}"]
            log.warning(
                "no row came of some tables that source.tables names, but of others: is a name "
                "misspelt?",
                tables=",".join(named)[:TABLES_CHARS_MAX],
            )

    def _take(
        self,
        runs: Iterable[tuple[Origin, Run]],
        limit: Limit,
        now: float,
    ) -> int:
        """Judge records in order until their partition stops; hold the results."""
        held = self._held
        stopped: set[tuple[str, int]] = set()
        outcomes: Counter[tuple[str, str]] = Counter()
        taken = 0
        for partition, run in runs:
            if partition in stopped:
                continue
            n_taken, stopped_here = self._take_run(partition, run, limit, outcomes)
            taken += n_taken
            if stopped_here:
                stopped.add(partition)
            if n_taken:
                held.partitions.add(partition)
        if taken and not held.records:
            held.since_s = now
        held.records += taken
        for (kind, what), count in outcomes.items():
            self._observer.event(kind, what, count)
            self._has_applied = self._has_applied or what == "applied"
        self._n_taken += taken
        if self._n_taken >= NOTHING_MAX:
            self.warn_if_nothing_applied()
        if len(self._judge.other_tables) != self._n_other_tables:
            self._n_other_tables = len(self._judge.other_tables)
            self._observer.other_tables(sorted(self._judge.other_tables))
        return taken

    def _take_run(
        self,
        partition: Origin,
        run: Run,
        limit: Limit,
        outcomes: Counter[tuple[str, str]],
    ) -> tuple[int, bool]:
        """Take in a partition's records; return their number, and whether it stopped."""
        if undecided := self._undecided.pop(partition, ()):
            run = Run(self._judge, [*undecided, *run.records])
        records, held = run.records, self._held
        taken = len(records)
        if limit.stop_at is not None:
            taken = bisect_left(records, limit.stop_at(partition), key=_offset_of)
        stopped, n_before = taken < len(records), len(held.changes)
        bound_us = self._times.bound_us(partition, limit)
        # Every record passes here: names are bound once, and what is commonest comes first.
        within, apply, keeps = self._times.within, Fate.APPLY, not self._is_log
        for place, change in run.since(0, taken):
            letter = None
            if change is not None:
                time_us = change.stamp.time_us
                if time_us <= bound_us:
                    fate = within(partition, time_us)
                else:
                    following = partial(run.times_since, place + 1)
                    fate = self._times.beyond(partition, time_us, limit, following)
                    bound_us = self._times.bound_us(partition, limit)
                if fate is apply and keeps:
                    held.changes.append(change)
                    continue
                if fate is Fate.STOP or fate is Fate.WAIT:
                    taken, stopped = place, fate is Fate.STOP
                    break
                if keeps:
                    letter = DeadLetter(records[place], *_REFUSED[fate])
                else:
                    # No row is late or early: what each says is so from then on.
                    held.take_row(change, records[place])
            if letter := letter or run.letters.get(place):
                run.dropped.pop(place, None)
                held.set_aside(letter)
                outcomes["unknown", "dead_letter"] += 1
            elif change is None:
                outcomes["unknown", "ignored"] += 1
        if stopped:
            self._source.pause(TopicPartition(*partition), records[taken].offset)
        elif taken < len(records):
            self._undecided[partition] = list(records[taken:])
        if taken:
            self._offsets[partition] = records[taken - 1].offset + 1
        for kind, count in Counter(map(type, held.changes[n_before:])).items():
            outcomes[KINDS[kind], "applied"] += count
        dropped = sum(count for place, count in run.dropped.items() if place < taken)
        if dropped:
            self._observer.dropped_attributes(dropped)
        return taken, stopped

    def _position(self, partition: tuple[str, int]) -> Position:
        offset = self._offsets.get(partition, 0)
        passed = (
            0 if partition in self._undecided else self._source.passed(TopicPartition(*partition))
        )
        return Position(offset, self._times.of(partition), passed if passed > offset else 0)

    def _passing_due(self) -> bool:
        """Whether the source passed only empty offsets for long.

        Where retention removes that, and it is not known to be none, events seem lost.
        """
        now_s = self._monotonic()
        if now_s - self._passed_at_s < PASSING_S:
            return False
        self._passed_at_s = now_s
        return bool(self._passing())

    def _passing(self) -> set[tuple[str, int]]:
        """Return partitions that went on without a record, holding nothing."""
        if self._held.records:
            return set()
        return {
            partition
            for partition in self._source.partitions()
            if partition not in self._undecided
            and self._source.passed(partition) > self._passed.get(partition, 0)
        }
