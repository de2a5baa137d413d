"""Poll, judge, buffer, checkpoint: the way of a record into the store.

Each record takes effect exactly once, because its change and the next offset of its partition
become durable in the same write. A dead letter is durable before the offset passes it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Final

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, DeadLetterSink, Record, Source, TopicPartition
from ktsafe.connectors.errors import Unavailable
from ktsafe.state.changes import Change
from ktsafe.state.ledger import PendingCut
from ktsafe.state.store import GraphStore, Position
from ktsafe.stream.clocks import Clocks
from ktsafe.stream.ingest.envelopes import Wrapping
from ktsafe.stream.ingest.judge import Accepted, Judge
from ktsafe.stream.observer import Observer

LETTER_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of dead letters held before a checkpoint is due: unlike a change, a letter keeps its whole
record, and a batch of great ones would fill the memory."""

_partition_of: Final = attrgetter("topic", "partition")

Admits = Callable[[tuple[str, int], int], bool]
"""Whether an event of a partition may be applied now; False stops the partition there."""


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
    event_format:
        How events are wrapped in records.
    """

    batch_records_max: int = 10_000
    checkpoint_interval_s: float = 1.0
    poll_timeout_s: float = 0.2
    record_bytes_max: int = 1_048_576
    lateness_max_s: int = 604_800
    event_format: Wrapping = "plain"


@dataclasses.dataclass(slots=True)
class _Held:
    """What was taken in since the last checkpoint: `records` of them, the first at `since_s`."""

    changes: list[Change] = dataclasses.field(default_factory=list)
    letters: list[DeadLetter] = dataclasses.field(default_factory=list)
    letter_bytes: int = 0
    partitions: set[tuple[str, int]] = dataclasses.field(default_factory=set)
    records: int = 0
    since_s: float = 0.0


class Ingest:
    """Moves records from the source into the store, one checkpoint at a time.

    Parameters
    ----------
    clocks:
        One measures; the wall clock is for events of files that lie too far ahead of it.
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
        self._judge = Judge(
            schema,
            lateness_max_us=settings.lateness_max_s * 1_000_000,
            record_bytes_max=settings.record_bytes_max,
            clocks={partition: p.time_us_max for partition, p in stored.items()},
            event_format=settings.event_format,
            wall_us=clocks.wall_us,
        )
        self._offsets = {partition: p.next_offset for partition, p in stored.items()}
        self._identity = store.source_identity()
        self._heard_s: dict[tuple[str, int], float] = {}
        self._held = _Held()

    @property
    def offsets(self) -> Mapping[tuple[str, int], int]:
        """Next offset of every partition, held records included."""
        return self._offsets

    def round(self, admits: Admits) -> int:
        """Poll once and take in what came. Returns the number of records taken in."""
        room = self._settings.batch_records_max - self._held.records
        records = self._source.poll(self._settings.poll_timeout_s, max(room, 1))
        started = self._monotonic()
        taken = self._take(records, admits, started)
        if records:
            self._observer.applied(self._monotonic() - started)
        return taken

    def checkpoint_due(self) -> bool:
        """Whether held records are many or old enough to be made durable."""
        held, settings = self._held, self._settings
        if not held.records:
            return False
        if held.records >= settings.batch_records_max or held.letter_bytes >= LETTER_BYTES_MAX:
            return True
        return self._monotonic() - held.since_s >= settings.checkpoint_interval_s

    def checkpoint(self, cut: PendingCut | None = None) -> None:
        """Make everything held durable, in this order.

        1. Dead letters, so that no offset passes a record that is recorded nowhere.
        2. Changes, offsets, clocks and the release cut, in one synced write of the store.
        3. The source learns of it, for lag tools only.

        Raises
        ------
        ktsafe.connectors.errors.Unavailable
            If dead letters cannot be written. Everything stays held; call again.
        """
        held, identity = self._held, self._source.identity()
        grown = identity if identity != self._identity else None
        if not (held.records or cut or grown):
            return
        started = self._monotonic()
        # Step 1
        if held.letters:
            self._dead_letters.write(held.letters)
            for reason, count in Counter(letter.reason for letter in held.letters).items():
                self._observer.dead_letter(reason, count)
            held.letters, held.letter_bytes = [], 0
        # Step 2
        positions = {p: Position(self._offsets[p], self._judge.clock(p)) for p in held.partitions}
        self._store.commit(held.changes, positions, source_identity=grown, cut=cut)
        self._identity, self._held = identity, _Held()
        # Step 3
        with suppress(Unavailable):
            # All is durable: an error here must not have steps 1 and 2 done again.
            self._source.acknowledge(
                {TopicPartition(*partition): p.next_offset for partition, p in positions.items()}
            )
        self._observer.checkpoint(self._monotonic() - started)

    def idle(self, idle_s: float) -> set[tuple[str, int]]:
        """Return the partitions read to their end that gave nothing for `idle_s` seconds."""
        now = self._monotonic()
        quiet: set[tuple[str, int]] = set()
        for partition in self._source.partitions():
            heard = self._heard_s.setdefault(partition, now)
            if now - heard >= idle_s and self._source.at_end(partition):
                quiet.add(partition)
        return quiet

    def ended(self) -> set[tuple[str, int]]:
        """Return the partitions whose every record has been taken in."""
        return {p for p in self._source.partitions() if self._source.at_end(p)}

    def _take(self, records: list[Record], admits: Admits, now: float) -> int:
        """Judge records in order until their partition is stopped; hold what they come to."""
        held = self._held
        stopped: set[tuple[str, int]] = set()
        outcomes: Counter[tuple[str, str]] = Counter()
        taken = 0
        for partition, run in itertools.groupby(records, _partition_of):
            if partition in stopped:
                continue
            n_taken, stopped_here = self._take_run(partition, run, admits, outcomes)
            taken += n_taken
            if stopped_here:
                stopped.add(partition)
            if n_taken:
                held.partitions.add(partition)
                self._heard_s[partition] = now
        if taken and not held.records:
            held.since_s = now
        held.records += taken
        for (kind, what), count in outcomes.items():
            self._observer.event(kind, what, count)
        return taken

    def _take_run(
        self,
        partition: tuple[str, int],
        run: Iterable[Record],
        admits: Admits,
        outcomes: Counter[tuple[str, str]],
    ) -> tuple[int, bool]:
        """Take in records of one partition; return how many, and whether it was stopped."""
        # Every event passes here: names are bound once, and counted is per run.
        judge, held, hold = self._judge, self._held, self._held.changes.append
        kinds: list[str] = []
        offset, taken, dropped = 0, 0, 0
        stopped = False
        for record in run:
            judgement = judge.judge(record)
            if type(judgement) is Accepted:
                change = judgement.change
                time_us = change.stamp.time_us
                if not admits(partition, time_us):
                    self._source.pause(TopicPartition(*partition), record.offset)
                    stopped = True
                    break
                judge.accept(partition, time_us)
                hold(change)
                kinds.append(judgement.kind)
                dropped += judgement.attributes_dropped
            elif isinstance(judgement, DeadLetter):
                held.letters.append(judgement)
                held.letter_bytes += len(record.value or b"")
                outcomes["unknown", "dead_letter"] += 1
            else:
                outcomes["unknown", "ignored"] += 1
            offset = record.offset
            taken += 1
        if taken:
            self._offsets[partition] = offset + 1
        for kind, count in Counter(kinds).items():
            outcomes[kind, "applied"] += count
        if dropped:
            self._observer.dropped_attributes(dropped)
        return taken, stopped
