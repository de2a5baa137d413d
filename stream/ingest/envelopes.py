"""Decode events from records: plain, or as CloudEvents 1.0.

A record is a CloudEvent if it says a `specversion`, in its value or its headers. It carries the
type of the event in its `type` (`vertex.upsert`, or with a prefix of the producer's, such as
`org.example.vertex.upsert`), its time in `time`, and our other fields in `data`. In structured mode
the record's value is the whole envelope; in binary mode the value is the data alone and the rest
comes in headers `ce_...` (the CloudEvents binding for Kafka). A `time` inside the data is ignored:
the envelope's counts. Files know the structured mode only, because their lines have no headers.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from ktsafe.connectors.base import Record
from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.events import Event, MalformedEvent

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
