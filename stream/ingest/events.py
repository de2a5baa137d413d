"""Events on the wire: one JSON object per record, decoded once into what it means.

The four types and their fields are the public format:

    {"type": "vertex.upsert", "id": "p1", "attributes": {"gender": "f"}, "time": "2026-01-01T00:00:00Z"}
    {"type": "vertex.delete", "id": "p1", "time": ...}
    {"type": "edge.add",      "source": "p1", "target": "p2", "time": ...}
    {"type": "edge.remove",   "source": "p1", "target": "p2", "time": ...}

`time` is RFC 3339 or epoch milliseconds; without it the record's own timestamp counts. Unknown
fields are ignored, so producers may add some.
"""  # noqa: E501 -- the format is easier to read unbroken

from __future__ import annotations

import datetime
import re
from typing import Annotated, Final, TypeVar

import msgspec

ID_BYTES_MAX: Final = 1024
ATTRIBUTE_BYTES_MAX: Final = 1024
_ID_MAX: Final = ID_BYTES_MAX // 4

T = TypeVar("T")

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DAY_US: Final = 86_400_000_000
# RFC 3339 years, which bounds epoch milliseconds to the same calendar.
TIME_US_MIN: Final = -62_135_596_800_000_000
TIME_US_MAX: Final = 253_402_300_799_999_999

Time = Annotated[datetime.datetime, msgspec.Meta(tz=True)] | int | None
AttributeValue = str | int | float | bool | None


class VertexUpsertEvent(msgspec.Struct, frozen=True, tag_field="type", tag="vertex.upsert"):
    """A person joins or changes: given attributes are merged, `null` means missing."""

    id: str
    attributes: dict[str, AttributeValue] = {}
    time: Time = None


class VertexDeleteEvent(msgspec.Struct, frozen=True, tag_field="type", tag="vertex.delete"):
    """A person leaves, with all ties."""

    id: str
    time: Time = None


class EdgeAddEvent(msgspec.Struct, frozen=True, tag_field="type", tag="edge.add"):
    """A tie comes to be."""

    source: str
    target: str
    time: Time = None


class EdgeRemoveEvent(msgspec.Struct, frozen=True, tag_field="type", tag="edge.remove"):
    """A tie ends."""

    source: str
    target: str
    time: Time = None


Event = VertexUpsertEvent | VertexDeleteEvent | EdgeAddEvent | EdgeRemoveEvent
EVENT_TYPES: Final = ("vertex.upsert", "vertex.delete", "edge.add", "edge.remove")

DECODER: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(Event)
DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises for values that are no events."""


class MalformedEvent(Exception):
    """The record is no event: dead-letter it, count it, go on.

    `reason` is one of `REASONS`; `detail` says where, never what (no value of the record).
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason} {detail}".strip())
        self.reason = reason
        self.detail = detail


REASONS: Final = (
    "malformed_json",
    "not_utf8",
    "too_large",
    "unknown_event_type",
    "missing_field",
    "wrong_type",
    "bad_id",
    "bad_attribute",
    "self_loop",
    "bad_time",
    "no_time",
    "late",
    "ahead_of_time",
)
"""Every reason a record can be dead-lettered for; the label set of the metric."""


def decode(value: bytes) -> Event:
    """Return the event that `value` holds.

    Raises
    ------
    MalformedEvent
        With the reason why it holds none.
    """
    return decoded(DECODER, value)


def decoded(decoder: msgspec.json.Decoder[T], value: bytes) -> T:
    """Return what `decoder` makes of `value`.

    Raises
    ------
    MalformedEvent
        With the reason why it makes nothing of it.
    """
    try:
        return decoder.decode(value)
    except msgspec.ValidationError as error:
        raise _classified(str(error)) from None
    except UnicodeDecodeError:
        raise MalformedEvent("not_utf8") from None
    except DECODE_ERRORS:
        # Lone surrogates end here too: JSON text may escape them, Unicode may not hold them.
        raise MalformedEvent("malformed_json") from None


def _classified(message: str) -> MalformedEvent:
    """Return the reason behind a validation message, keeping its path and nothing of its values."""
    _, at, path = message.rpartition(" - at `")
    where = f"at {path.rstrip('`')}" if at else "at $"
    if "missing required field" in message:
        return MalformedEvent("missing_field", where)
    if path.startswith("$.type"):
        return MalformedEvent("unknown_event_type", where)
    if path.startswith("$.time"):
        return MalformedEvent("bad_time", where)
    return MalformedEvent("wrong_type", where)


_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that steer a terminal, end a line for some readers, or turn text round.

What joins or separates letters (U+200C, U+200D) and marks their direction belongs to names.
"""


def check_id(vertex_id: str) -> None:
    """Refuse ids that a key, a CSV cell or a log line could not carry.

    Raises
    ------
    MalformedEvent
        If the id is empty, too long, or holds a control character.
    """
    if not vertex_id:
        raise MalformedEvent("bad_id", "empty")
    if not vertex_id.isprintable() and _CONTROL.search(vertex_id):
        raise MalformedEvent("bad_id", "control character")
    if len(vertex_id) > ID_BYTES_MAX // 4 and len(vertex_id.encode()) > ID_BYTES_MAX:
        raise MalformedEvent("bad_id", f"longer than {ID_BYTES_MAX} bytes")


def check_ends(source: str, target: str) -> None:
    """Refuse a tie whose ends are no ids, or are one.

    Raises
    ------
    MalformedEvent
    """
    # As good as all are so; a character takes at most four bytes.
    if not (0 < len(source) <= _ID_MAX and source.isprintable()):
        check_id(source)
    if not (0 < len(target) <= _ID_MAX and target.isprintable()):
        check_id(target)
    if source == target:
        raise MalformedEvent("self_loop")


def attribute_text(value: AttributeValue) -> str | None:
    """Return an attribute value as the text that is stored: numbers as written, booleans as JSON.

    Raises
    ------
    MalformedEvent
        If the text is too long or holds a control character.
    """
    if isinstance(value, str):
        text = value
    elif value is None:
        return None
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = repr(value)
    if len(text) <= ATTRIBUTE_BYTES_MAX // 4 and text.isprintable():
        return text
    if len(text) > ATTRIBUTE_BYTES_MAX // 4 and len(text.encode()) > ATTRIBUTE_BYTES_MAX:
        raise MalformedEvent("bad_attribute", f"longer than {ATTRIBUTE_BYTES_MAX} bytes")
    if not text.isprintable() and _CONTROL.search(text):
        raise MalformedEvent("bad_attribute", "control character")
    return text


def time_us(time: Time, record_timestamp_ms: int | None) -> int:
    """Return the event time in microseconds since the epoch, UTC.

    Raises
    ------
    MalformedEvent
        If there is no time at all, or it lies outside the years 1 to 9999.
    """
    if isinstance(time, datetime.datetime):
        since = time - _EPOCH
        microseconds = since.days * _DAY_US + since.seconds * 1_000_000 + since.microseconds
    elif time is not None:
        microseconds = time * 1000
    elif record_timestamp_ms is not None:
        microseconds = record_timestamp_ms * 1000
    else:
        raise MalformedEvent("no_time", "a file's events must carry their time")
    if not TIME_US_MIN <= microseconds <= TIME_US_MAX:
        raise MalformedEvent("bad_time", "outside the years 1 to 9999")
    return microseconds
