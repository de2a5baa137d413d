"""Judges of the records of a feed: plain events, or CloudEvents.

Bounds may be tuned, but a lost state is made again from its feed: what was refused once must be
refused then. Reasons are those of `events.REASONS`. Calls are few for speed.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

import msgspec

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
from ktsafe.stream.ingest import events
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
# What its time means is not decided here: whether it is believed, or late, is decided by
# `ktsafe.stream.ingest.event_times`. The machine's clock is asked for one thing only: whether a
# record's timestamp is one at all.

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
            return decode(record)
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


# Decode events from records: plain, or as CloudEvents 1.0.
#
# A record is a CloudEvent if it says a `specversion`, in its value or its headers. It carries the
# type of the event in its `type` (`vertex.upsert`, or with a prefix of the producer's, such as
# `org.example.vertex.upsert`), its time in `time`, and our other fields in `data`. In structured
# mode the record's value is the whole envelope; in binary mode the value is the data alone and the
# rest comes in headers `ce_...` (the CloudEvents binding for Kafka). A `time` inside the data is
# ignored: the envelope's counts. Files know the structured mode only, because their lines have no
# headers.

_SPEC_VERSION: Final = "1."
_HEADERS: Final = frozenset({"ce_specversion", "ce_type", "ce_time"})


class _CloudEvent(msgspec.Struct, frozen=True):
    """The context attributes that matter here; others are ignored."""

    specversion: str
    type: str
    data: msgspec.Raw = msgspec.Raw()
    time: events.Moment | None = None


_envelopes: Final = msgspec.json.Decoder(_CloudEvent)
_data: Final[Mapping[str, msgspec.json.Decoder[Any]]] = MappingProxyType(
    {
        "vertex.upsert": msgspec.json.Decoder(events.VertexUpsertEvent),
        "vertex.delete": msgspec.json.Decoder(events.VertexDeleteEvent),
        "edge.add": msgspec.json.Decoder(events.EdgeAddEvent),
        "edge.remove": msgspec.json.Decoder(events.EdgeRemoveEvent),
    }
)


def decode(record: Record) -> Event:
    """Return the event of a record with a value.

    Raises
    ------
    MalformedEvent
        With the reason why it holds none.
    """
    value = record.value or b""
    headers = dict(record.headers)
    if "ce_specversion" in headers:
        names = [name for name, _ in record.headers if name in _HEADERS]
        if len(names) > len(set(names)):
            raise MalformedEvent("repeated_key", "at the headers")
        return _binary(headers, value)
    try:
        return events.decode(value)
    except MalformedEvent:
        if not events.is_envelope(value):
            raise
    envelope = events.decoded(_envelopes, value)
    events.check_keys(value)
    if not envelope.data:
        raise MalformedEvent("missing_field", "at $.data")
    return _event(envelope.specversion, envelope.type, envelope.time, bytes(envelope.data))


def _binary(headers: Mapping[str, bytes], data: bytes) -> Event:
    """Return the event of a record with context attributes in its headers."""
    try:
        version = headers["ce_specversion"].decode()
        event_type = headers["ce_type"].decode()
        text = headers["ce_time"].decode() if "ce_time" in headers else None
    except KeyError:
        raise MalformedEvent("missing_field", "at header ce_type") from None
    except UnicodeDecodeError:
        raise MalformedEvent("not_utf8", "at the headers") from None
    try:
        moment = None if text is None else events.without_leap_second(text)
        time = None if moment is None else msgspec.convert(moment, events.Moment, strict=False)
    except msgspec.ValidationError:
        raise MalformedEvent("bad_time", "at header ce_time") from None
    event = _event(version, event_type, time, data)
    events.check_keys(data)
    return event


def _event(version: str, event_type: str, time: datetime.datetime | None, data: bytes) -> Event:
    if not version.startswith(_SPEC_VERSION):
        raise MalformedEvent("wrong_type", "at $.specversion: CloudEvents 1.0 is understood")
    # The last two parts are ours; what stands before them is the producer's name.
    kind = ".".join(event_type.rsplit(".", 2)[-2:])
    body = _data.get(kind)
    if body is None:
        raise MalformedEvent("unknown_event_type", "at $.type")
    event: Event = events.decoded(body, data)
    return msgspec.structs.replace(event, time=time)
