"""Judges of the records of a feed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.errors import InvalidGraph
from ktsafe.state.changes import (
    Change,
    EdgeAdd,
    EdgeRemove,
    Marked,
    RowChange,
    Stamp,
    TableCleared,
    Told,
    VertexDelete,
    VertexUpsert,
)
from ktsafe.stream.ingest import envelopes, events
from ktsafe.stream.ingest.events import Event, MalformedEvent
from ktsafe.stream.slots import CLOCK_US_MIN, REAL_CLOCKS


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


# From record to change, by the record alone.
#
# What its time means is not decided here: whether it is believed is weighed by
# `ktsafe.stream.ingest.held`, and whether it is late is for `ktsafe.stream.ingest.ingest`. The
# machine's clock is asked for one thing only: whether a record's timestamp is one at all.

AHEAD_OF_RECORD_US: Final = 300 * 1_000_000
"""How far an event may be ahead of its record's timestamp."""
KINDS_MAX: Final = 100
"""Kinds of ties of a feed: each is a table of its own, which every cut goes through. Texts of which
more come are no kinds."""
DECADES_US: Final = 20 * 365 * 86_400 * 1_000_000
"""A record's timestamp as far as this from the machine's clock and from the time of the event is no
time, but a number in another unit or of a machine whose clock was never set."""
KINDS: Final[Mapping[type[Told], str]] = MappingProxyType(
    {
        EdgeAdd: "edge.add",
        VertexUpsert: "vertex.upsert",
        EdgeRemove: "edge.remove",
        VertexDelete: "vertex.delete",
        RowChange: "row",
        TableCleared: "row",
    }
)
"""By what it does to the graph, the kind of an event; rows are told apart from events only."""


class Judge:
    """Decides what records of events do to the graph.

    Parameters
    ----------
    schema:
        Attributes it does not list are dropped and counted.
    record_bytes_max:
        Greater values are dead-lettered undecoded.
    event_format:
        How events are wrapped in records.
    kinds:
        Those of ties that came before.
    wall_us:
        The machine's clock.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        record_bytes_max: int,
        kinds: Iterable[str] = (),
        wall_us: Callable[[], int] = REAL_CLOCKS.wall_us,
    ) -> None:
        self.other_tables: set[str] = set()  # Events are of no table.
        self._attributes = frozenset(schema.columns)
        self._bucketed = frozenset(schema.buckets)
        self._schema = schema
        self._kinds = set(kinds)
        self._counts_unnamed = isinstance(schema.ties, str)
        self._wall_us = wall_us
        self._record_bytes_max = record_bytes_max

    def missing_tables(self) -> set[str]:
        """Return none."""
        return set()

    def judge(self, records: Sequence[Record]) -> JudgedRecords:
        """Return what records do."""
        judged = JudgedRecords([], {}, {})
        keep = judged.changes.append
        change: Change | None
        # Every record passes here: calls are few, and the commonest events come first.
        for record, event in zip(records, self._decoded(records), strict=True):
            change = None
            try:
                if isinstance(event, MalformedEvent):
                    raise event
                if event is not None:
                    at_ms = record.timestamp_ms
                    if event.time is None:
                        self._check_clock(at_ms)
                    time_us = events.time_us(event.time, at_ms)
                    # Lines of a file have no time but the event's.
                    if at_ms is not None and time_us > at_ms * 1000 + AHEAD_OF_RECORD_US:
                        self._refuse_ahead(at_ms, time_us)
                    stamp = Stamp(time_us, record.topic, record.partition, record.offset)
                    if isinstance(event, events.EdgeAddEvent):
                        change = EdgeAdd(stamp, *events.checked_ends(event), self._mark(event))
                    elif isinstance(event, events.VertexUpsertEvent):
                        vertex_id = events.checked_id(event.id)
                        listed = self._listed(event.attributes)
                        n_dropped = len(event.attributes) - len(listed)
                        if n_dropped:
                            judged.dropped[len(judged.changes)] = n_dropped
                        change = VertexUpsert(stamp, vertex_id, listed)
                    elif isinstance(event, events.EdgeRemoveEvent):
                        change = EdgeRemove(stamp, *events.checked_ends(event), self._mark(event))
                    else:
                        change = VertexDelete(stamp, events.checked_id(event.id))
            except MalformedEvent as error:
                letter = DeadLetter(record, error.reason, error.detail)
                judged.letters[len(judged.changes)] = letter
            keep(change)
        return judged

    def _decoded(self, records: Sequence[Record]) -> list[Event | MalformedEvent | None]:
        """Return each record's event, the reason against, or None."""
        given = [record.value for record in records if record.value and not record.headers]
        longest = max(map(len, given), default=0)
        if len(given) == len(records) and longest <= self._record_bytes_max:
            with suppress(*events.DECODE_ERRORS, MalformedEvent):
                return list(map(events.decode, given))
        return list(map(self._event, records))

    def _event(self, record: Record) -> Event | MalformedEvent | None:
        if record.value is None:
            return None
        if len(record.value) > self._record_bytes_max:
            # The source may have cut it already, so its length is not to be seen here.
            return MalformedEvent("too_large", f"over {self._record_bytes_max} bytes")
        try:
            return envelopes.decode(record)
        except MalformedEvent as error:
            return error

    def _mark(self, event: events.EdgeAddEvent | events.EdgeRemoveEvent) -> Marked | None:
        """Return kind and direction of a tie, if any."""
        if event.kind is None and not event.directed and self._counts_unnamed:
            return None
        kind = events.checked_kind(event.kind)
        if kind is None:
            if not self._counts_unnamed:
                raise MalformedEvent("bad_kind", "at $.kind: ties of some kinds are asked for")
            return (None, True) if event.directed else None
        if kind not in self._kinds and len(self._kinds) >= KINDS_MAX:
            raise MalformedEvent("bad_kind", f"over {KINDS_MAX} kinds")
        self._kinds.add(kind)
        return kind, bool(event.directed)

    def _check_clock(self, timestamp_ms: int | None) -> None:
        """Refuse an event without any time, in itself and in its record."""
        if timestamp_ms is None:
            return
        now_us = self._wall_us()
        is_ahead = now_us >= CLOCK_US_MIN and timestamp_ms * 1000 - now_us > DECADES_US
        if is_ahead or timestamp_ms < events.EPOCH_MS_MIN:
            raise MalformedEvent("no_time", "and the timestamp of its record is none")

    def _refuse_ahead(self, timestamp_ms: int, time_us: int) -> None:
        """Refuse an event ahead of its record's timestamp, if any."""
        at_us = timestamp_ms * 1000
        far_us = min(time_us - at_us, abs(at_us - self._wall_us()))
        if timestamp_ms >= events.EPOCH_MS_MIN and far_us < DECADES_US:
            raise MalformedEvent("ahead_of_time", "over 300 s ahead of its record")

    def _listed(self, attributes: dict[str, events.AttributeValue]) -> dict[str, str | None]:
        listed: dict[str, str | None] = {}
        for name, value in attributes.items():
            if name not in self._attributes:
                continue
            text = events.attribute_text(value, is_code=name in self._schema.nominal)
            if name in self._bucketed:
                try:
                    self._schema.category(name, text)
                except InvalidGraph:
                    raise events.bad_border(name, self._schema) from None
            listed[name] = text
        return listed
