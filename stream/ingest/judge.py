"""From record to change: judges one record at a time, in partition order.

Pure but for the clocks it keeps: M_p, the greatest believed event time of each partition p, which
decides lateness and is stored with the offsets. What is believed is decided by
`ktsafe.stream.ingest.ahead`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.errors import InvalidGraph
from ktsafe.state.changes import Change, EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.stream.ingest import envelopes, events
from ktsafe.stream.ingest.events import MalformedEvent

AHEAD_OF_RECORD_US: Final = 300 * 1_000_000
"""How far an event may be ahead of its record's timestamp."""


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """A record that changes the graph, the kind of its event, and how many attributes it lost."""

    change: Change
    kind: str
    attributes_dropped: int


class Ignored(msgspec.Struct, frozen=True):
    """A record that changes nothing by definition: a null value, or a row of another table."""


Judgement: TypeAlias = Accepted | Ignored | DeadLetter
_IGNORED: Final = Ignored()


class Judge:
    """Decides what each record does to the graph.

    Parameters
    ----------
    schema:
        Attributes it does not list are dropped and counted.
    lateness_max_us:
        An event older than M_p less this is dead-lettered as "late".
    record_bytes_max:
        Greater values are dead-lettered undecoded.
    clocks:
        M_p of every partition as stored; None or absent before the first event.
    event_format:
        How events are wrapped in records.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        lateness_max_us: int,
        record_bytes_max: int,
        clocks: Mapping[tuple[str, int], int | None],
        event_format: envelopes.Wrapping = "plain",
    ) -> None:
        self._decode = envelopes.decoder(event_format)
        self._attributes = frozenset(schema.attributes)
        self._bucketed = frozenset(schema.buckets)
        self._schema = schema
        self._lateness_max_us = lateness_max_us
        self._record_bytes_max = record_bytes_max
        self._clocks: dict[tuple[str, int], int] = {
            partition: clock for partition, clock in clocks.items() if clock is not None
        }

    def clock(self, partition: tuple[str, int]) -> int | None:
        """Return M_p, the greatest event time accepted from `partition`."""
        return self._clocks.get(partition)

    def judge(self, record: Record) -> Judgement:
        """Return what `record` does. Does not move M_p: call `accept` when it is applied."""
        # Every record passes here: calls are few, and the commonest events come first.
        value = record.value
        if value is None:
            return _IGNORED
        try:
            if len(value) > self._record_bytes_max:
                # The source may have cut it already, so its length is not to be seen here.
                raise MalformedEvent("too_large", f"over {self._record_bytes_max} bytes")
            event = self._decode(record)
            if event is None:
                return _IGNORED
            time_us = events.time_us(event.time, record.timestamp_ms)
            self._check_time(record, time_us)
            stamp = Stamp(time_us, record.topic, record.partition, record.offset)
            match event:
                case events.EdgeAddEvent():
                    events.check_ends(event.source, event.target)
                    return Accepted(EdgeAdd(stamp, event.source, event.target), "edge.add", 0)
                case events.VertexUpsertEvent():
                    events.check_id(event.id)
                    listed = self._listed(event.attributes)
                    dropped = len(event.attributes) - len(listed)
                    return Accepted(VertexUpsert(stamp, event.id, listed), "vertex.upsert", dropped)
                case events.EdgeRemoveEvent():
                    events.check_ends(event.source, event.target)
                    return Accepted(EdgeRemove(stamp, event.source, event.target), "edge.remove", 0)
                case events.VertexDeleteEvent():
                    events.check_id(event.id)
                    return Accepted(VertexDelete(stamp, event.id), "vertex.delete", 0)
        except MalformedEvent as error:
            return DeadLetter(record, error.reason, error.detail)

    def accept(self, partition: tuple[str, int], time_us: int) -> None:
        """Move M_p on for an applied event."""
        clock = self._clocks.get(partition)
        if clock is None or time_us > clock:
            self._clocks[partition] = time_us

    def _listed(self, attributes: dict[str, events.AttributeValue]) -> dict[str, str | None]:
        listed: dict[str, str | None] = {}
        for name, value in attributes.items():
            if name not in self._attributes:
                continue
            text = events.attribute_text(value)
            if name in self._bucketed:
                try:
                    self._schema.category(name, text)
                except InvalidGraph:
                    raise MalformedEvent("bad_attribute", f"{name} must be a number") from None
            listed[name] = text
        return listed

    def _check_time(self, record: Record, time_us: int) -> None:
        clock = self._clocks.get((record.topic, record.partition))
        if clock is not None and time_us < clock - self._lateness_max_us:
            raise MalformedEvent("late", "older than the lateness bound")
        if record.timestamp_ms is None:
            return  # Lines of a file have no time but the event's.
        if time_us > record.timestamp_ms * 1000 + AHEAD_OF_RECORD_US:
            raise MalformedEvent("ahead_of_time", "over 300 s ahead of its record")
