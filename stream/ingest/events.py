"""Events of a feed, decoded strictly: a repeated key is refused.

Each key and each text stands between two quotes. So a text has twice as many quotes as it has keys
and texts, escaped ones not counted; and more than what was decoded of it has, if a key was given
twice, since only one of both was kept.

An event or field goes with docs/schemas and docs/events.md (tests/test_schemas.py asks both for one
verdict). A new reason is an entry of `REASONS`, named in the guide in the same order
(tests/test_docs.py). Never put a value into `detail`.
"""

from __future__ import annotations

import datetime
import json
import re
from contextlib import suppress
from typing import Annotated, Any, Final, TypeVar

import msgspec

from ktsafe import Schema
from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.spelling import code_text, id_text, value_text
from ktsafe.graph.schema_check import holds_control

_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_anything: Final = msgspec.json.Decoder()


def has_repeated_key(value: bytes) -> bool:
    r"""Return whether a decoded JSON text repeats a key.

    Examples
    --------
    >>> has_repeated_key(b'{"a": 1, "b": {"a": 2}}'), has_repeated_key(b'{"a": 1, "\u0061": 2}')
    (False, True)
    """
    try:
        kept = _anything.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _is_repeated_beside_the_odd(value)
    if b"\\" in value:
        value = _ESCAPED.sub(b"", value)
    return value.count(b'"') > _quotes(kept)


def _quotes(node: Any) -> int:
    # Records with fields that are ignored pass here: types are compared, calls are few.
    kind = type(node)
    if kind is str:
        return 2
    n_quotes, items = (2 * len(node), node.values()) if kind is dict else (0, node)
    if kind is dict or kind is list:
        for item in items:
            kind = type(item)
            if kind is str:
                n_quotes += 2
            elif kind is dict or kind is list:
                n_quotes += _quotes(item)
    return n_quotes


class _Repeated(Exception):
    """A key was given twice."""


def _is_repeated_beside_the_odd(value: bytes) -> bool:
    """Look into ignored fields without Unicode, or beyond bounds."""

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) != len(pairs):
            raise _Repeated

    text = value.decode("utf-8", "surrogateescape")
    try:
        json.loads(text, object_pairs_hook=look, parse_int=str, parse_float=str)
    except _Repeated:
        return True
    except (ValueError, RecursionError):
        return False
    return False


# Events on the wire.
#
# One JSON object per record, decoded once into what it means.
#
# The four types and their fields are the public format:
#
#     {"type": "vertex.upsert", "id": "p1", "attributes": {"gender": "f"}, "time": ...}
#     {"type": "vertex.delete", "id": "p1", "time": ...}
#     {"type": "edge.add",      "source": "p1", "target": "p2", "time": ..., "kind": "friend"}
#     {"type": "edge.remove",   "source": "p1", "target": "p2", "time": ..., "directed": true}
#
# `time` is RFC 3339 or epoch milliseconds; without it the record's own timestamp counts. Unknown
# fields are ignored, so producers may add some. A key that is given twice in one object is refused:
# which of both is meant is not known. Of a pair each `kind` comes and goes by itself, and each
# direction of those that are `directed`. Ids and values are spelt by
# `ktsafe.graph.inputs.spelling`.

ID_BYTES_MAX: Final = 1024
ATTRIBUTE_BYTES_MAX: Final = 1024
KIND_CHARS_MAX: Final = 64
"""Of the kind of a tie: a word, not a text."""
_ID_MAX: Final = ID_BYTES_MAX // 4

T = TypeVar("T")

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DAY_US: Final = 86_400_000_000
# RFC 3339 years, which bounds epoch milliseconds to the same calendar.
TIME_US_MIN: Final = -62_135_596_800_000_000
TIME_US_MAX: Final = 253_402_300_799_999_999
EPOCH_MS_MIN: Final = 631_152_000_000
"""1990. Milliseconds before are seconds, or nothing: seconds of today are January 1970."""

Moment = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
Time = Moment | int | Annotated[float, msgspec.Meta(multiple_of=1)] | None
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
    kind: str | int | None = None
    directed: bool | None = None


class EdgeRemoveEvent(msgspec.Struct, frozen=True, tag_field="type", tag="edge.remove"):
    """A tie ends."""

    source: str
    target: str
    time: Time = None
    kind: str | int | None = None
    directed: bool | None = None


class _Mark(msgspec.Struct, frozen=True):
    """The mark of a CloudEvent."""

    specversion: msgspec.Raw = msgspec.Raw()


Event = VertexUpsertEvent | VertexDeleteEvent | EdgeAddEvent | EdgeRemoveEvent
EVENT_TYPES: Final = ("vertex.upsert", "vertex.delete", "edge.add", "edge.remove")

DECODER: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(Event)
_marks: Final = msgspec.json.Decoder(_Mark)
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
    "repeated_key",
    "not_utf8",
    "too_large",
    "unknown_event_type",
    "missing_field",
    "wrong_type",
    "bad_id",
    "bad_attribute",
    "bad_kind",
    "unknown_row",
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
    event = decoded(DECODER, value)
    if value.count(b'"') != quotes_min(event):
        check_keys(value)
        if is_envelope(value):
            raise MalformedEvent("unknown_event_type", "at $.specversion: a CloudEvent")
    return event


def is_envelope(value: bytes) -> bool:
    """Return whether a JSON object is a CloudEvent."""
    try:
        return bool(_marks.decode(value).specversion)
    except DECODE_ERRORS:
        return False


def decoded(decoder: msgspec.json.Decoder[T], value: bytes) -> T:
    """Return what `decoder` makes of `value`.

    Whether a key is repeated is not looked at.

    Raises
    ------
    MalformedEvent
        With the reason why it makes nothing of it.
    """
    try:
        return decoder.decode(value)
    except msgspec.ValidationError as error:
        problem = _classified(str(error))
    except UnicodeDecodeError:
        raise MalformedEvent("not_utf8") from None
    except DECODE_ERRORS:
        # Lone surrogates end here too: JSON text may escape them, Unicode may not hold them.
        raise MalformedEvent("malformed_json") from None
    if problem.reason == "bad_time" and b":60" in value:
        with suppress(*DECODE_ERRORS):
            document = msgspec.json.decode(value)
            document["time"] = without_leap_second(document["time"])
            return decoder.decode(msgspec.json.encode(document))
    raise problem


def quotes_min(event: Event) -> int:
    """Return the quotes in an event's JSON, if nothing repeats.

    It has more if a key is given twice, or if it holds more than the event: `check_keys` tells.
    """
    # Keys and texts: two each. A field that is not there is not counted, so none is missed.
    time = 0 if event.time is None else 4 if isinstance(event.time, datetime.datetime) else 2
    if isinstance(event, EdgeAddEvent | EdgeRemoveEvent):
        if event.kind is None and event.directed is None:
            return 12 + time
        named = 0 if event.kind is None else 4 if isinstance(event.kind, str) else 2
        return 12 + time + named + (0 if event.directed is None else 2)
    if not isinstance(event, VertexUpsertEvent) or not event.attributes:
        return 8 + time
    texts = [value for value in event.attributes.values() if isinstance(value, str)]
    return 10 + time + 2 * (len(event.attributes) + len(texts))


def check_keys(value: bytes) -> None:
    """Refuse JSON in which an object gives a key twice.

    Raises
    ------
    MalformedEvent
    """
    if has_repeated_key(value):
        raise MalformedEvent("repeated_key")


_LEAP_SECOND: Final = re.compile(r"(.{10}[Tt ]\d\d:\d\d):60(?:\.\d+)?([Zz]|[+-]\d\d:?\d\d)")


def without_leap_second(text: object) -> object:
    """Return 59.999999 s in place of a leap second.

    That is the last minute of a month, by UTC. Anything else is returned as it is.
    """
    if isinstance(text, str) and (found := _LEAP_SECOND.fullmatch(text)):
        last = f"{found[1]}:59.999999{found[2]}"
        with suppress(msgspec.ValidationError, OverflowError):
            moment = msgspec.convert(last, Moment, strict=False).astimezone(datetime.UTC)
            if (moment + datetime.timedelta(microseconds=1)).strftime("%d%H") == "0100":
                return last
    return text


def _classified(message: str) -> MalformedEvent:
    """Return a validation message's reason with path, without values."""
    _, at, path = message.rpartition(" - at `")
    where = f"at {path.rstrip('`')}" if at else "at $"
    if "missing required field" in message:
        return MalformedEvent("missing_field", where)
    if path.startswith("$.type"):
        return MalformedEvent("unknown_event_type", where)
    if path.startswith("$.time"):
        return MalformedEvent("bad_time", where)
    if path.startswith(("$.kind", "$.directed")):
        return MalformedEvent("bad_kind", where)
    return MalformedEvent("wrong_type", where)


def checked_id(given: str) -> str:
    """Return the text of an id.

    Refuse what a key, a CSV cell or a log line could not carry.

    Raises
    ------
    MalformedEvent
        If the id is empty, too long, or holds a control character.
    """
    try:
        text = id_text(given)
    except InvalidGraph:
        what = "control character" if holds_control(given) else "a fraction above 2**53"
        raise MalformedEvent("bad_id", what) from None
    if text is None:
        raise MalformedEvent("bad_id", "empty")
    if len(text) > _ID_MAX and len(text.encode()) > ID_BYTES_MAX:
        raise MalformedEvent("bad_id", f"longer than {ID_BYTES_MAX} bytes")
    return text


def checked_ends(event: EdgeAddEvent | EdgeRemoveEvent) -> tuple[str, str]:
    """Return the texts of a tie's ends.

    Refuse those that are no ids, or are one.

    Raises
    ------
    MalformedEvent
    """
    source, target = checked_id(event.source), checked_id(event.target)
    if source == target:
        raise MalformedEvent("self_loop")
    return source, target


def checked_kind(given: AttributeValue) -> str | None:
    """Return the kind of a tie as text, if any.

    Raises
    ------
    MalformedEvent
        If it is no word.
    """
    text = code_text(given)
    if text is None:
        return None
    if len(text) > KIND_CHARS_MAX:
        raise MalformedEvent("bad_kind", f"longer than {KIND_CHARS_MAX} characters")
    if holds_control(text):
        raise MalformedEvent("bad_kind", "control character")
    return text


def with_checked_ids(event: Event) -> Event:
    """Return an event with the texts of its ids in their place.

    Raises
    ------
    MalformedEvent
    """
    if isinstance(event, VertexUpsertEvent | VertexDeleteEvent):
        return msgspec.structs.replace(event, id=checked_id(event.id))
    source, target = checked_ends(event)
    return msgspec.structs.replace(event, source=source, target=target)


def attribute_text(value: AttributeValue, *, is_code: bool = False) -> str | None:
    """Return an attribute value as the text that is stored.

    Parameters
    ----------
    is_code:
        Whether the attribute is nominal: a text is taken as it is written.

    Raises
    ------
    MalformedEvent
        If the text is too long or holds a control character.
    """
    text = code_text(value) if is_code else value_text(value)
    if text is None or (len(text) <= ATTRIBUTE_BYTES_MAX // 4 and text.isprintable()):
        return text
    if len(text) > ATTRIBUTE_BYTES_MAX // 4 and len(text.encode()) > ATTRIBUTE_BYTES_MAX:
        raise MalformedEvent("bad_attribute", f"longer than {ATTRIBUTE_BYTES_MAX} bytes")
    if holds_control(text):
        raise MalformedEvent("bad_attribute", "control character")
    return text


def bad_border(name: str, schema: Schema) -> MalformedEvent:
    """Return the error of a value without a bucket."""
    is_date = isinstance(schema.buckets[name][0], str)
    what = "a date such as 2020-01-31" if is_date else "a number"
    return MalformedEvent("bad_attribute", f"{name} must be {what}")


def time_us(time: Time, record_timestamp_ms: int | None) -> int:
    """Return the event time in microseconds since the epoch, UTC.

    Raises
    ------
    MalformedEvent
        If there is no time at all, or it lies outside the years 1 to 9999, or a number lies before
        1990.
    """
    if isinstance(time, datetime.datetime):
        since = time - _EPOCH
        microseconds = since.days * _DAY_US + since.seconds * 1_000_000 + since.microseconds
    else:
        milliseconds = record_timestamp_ms if time is None else int(time)
        if milliseconds is None:
            raise MalformedEvent("no_time", "neither event nor record has one")
        if TIME_US_MIN <= milliseconds * 1000 < EPOCH_MS_MIN * 1000:
            raise MalformedEvent("bad_time", "a number before 1990: milliseconds are meant")
        microseconds = milliseconds * 1000
    if not TIME_US_MIN <= microseconds <= TIME_US_MAX:
        raise MalformedEvent("bad_time", "outside the years 1 to 9999")
    return microseconds
