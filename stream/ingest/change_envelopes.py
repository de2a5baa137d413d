"""Debezium's envelopes: rows, keys, and values of columns by their schema.

A date is a number of days there, and a decimal a text in base64: only the schema of the envelope
(`value.converter.schemas.enable`) says so. Types that have no one text are refused by their name.

Types may be added to `_TEXTS` or `_BY_NAME`; test_change_envelopes.py holds that a schema seen
before changes nothing. Bounds of memory may be tuned.
"""

from __future__ import annotations

import datetime
import decimal
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.events import DECODE_ERRORS, MalformedEvent

Convert = Callable[[Any], object]
"""Makes of what JSON holds the value that it stands for."""
_EPOCH: Final = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 -- columns without a zone
_PLAIN: Final = frozenset(
    {
        "int8",
        "int16",
        "int32",
        "int64",
        "float",
        "float32",
        "float64",
        "double",
        "string",
        "boolean",
    }
)
"""Types that JSON tells as they are. (What Connect calls float64, converters call double.)"""
_TEXTS: Final = frozenset(
    f"io.debezium.{name}"
    for name in (
        *("time.ZonedTimestamp", "time.ZonedTime", "time.IsoTimestamp", "time.IsoDate"),
        *("time.Year", "data.Uuid", "data.Enum", "data.Json", "data.Xml"),
    )
)
"""Logical types whose values are texts, or numbers, that say all."""


class _Field(msgspec.Struct, frozen=True):
    """A field of a schema, as the JSON converter writes it."""

    type: str
    name: str | None = None
    field: str | None = None
    parameters: dict[str, str] = {}
    fields: tuple[_Field, ...] = ()


_decoder: Final = msgspec.json.Decoder(_Field)


def converters(schema: bytes) -> dict[str, Convert]:
    """Return a converter for each column that JSON does not spell exactly.

    Parameters
    ----------
    schema:
        Of an envelope, as JSON.

    Raises
    ------
    MalformedEvent
        If it is no schema of an envelope.
    """
    try:
        fields = _decoder.decode(schema).fields
    except DECODE_ERRORS:
        raise MalformedEvent("wrong_type", "at $.schema") from None
    found: dict[str, Convert] = {}
    for row in fields:
        for column in row.fields if row.field in {"before", "after"} else ():
            convert = _converter(column)
            if column.field is not None and convert is not None:
                found[column.field] = convert
    return found


def _converter(column: _Field) -> Convert | None:
    if column.name is None:
        return None if column.type in _PLAIN else _refused(column.type)
    if column.name in _TEXTS:
        return None
    if column.name == "org.apache.kafka.connect.data.Decimal":
        scale = int(column.parameters.get("scale", "0"))
        return lambda value: _decimal(value, scale)
    return _BY_NAME.get(column.name) or _refused(column.name)


def _refused(name: str) -> Convert:
    def convert(_: Any) -> object:
        raise MalformedEvent("wrong_type", f"of type {name}")

    return convert


def _since(unit_us: float) -> Convert:
    def convert(value: Any) -> object:
        return _EPOCH + datetime.timedelta(microseconds=value * unit_us)

    return convert


def _date(value: Any) -> object:
    return (_EPOCH + datetime.timedelta(days=value)).date()


def _time_of(unit_us: float) -> Convert:
    def convert(value: Any) -> object:
        return (_EPOCH + datetime.timedelta(microseconds=value * unit_us)).time()

    return convert


def _decimal(value: Any, scale: int) -> object:
    unscaled = int.from_bytes(b64decode(value, validate=True), "big", signed=True)
    return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=decimal.MAX_PREC))


def _variable_decimal(value: Any) -> object:
    return _decimal(value["value"], value["scale"])


_BY_NAME: Final[Mapping[str, Convert]] = MappingProxyType(
    {
        "io.debezium.time.Date": _date,
        "org.apache.kafka.connect.data.Date": _date,
        "io.debezium.time.Timestamp": _since(1000),
        "org.apache.kafka.connect.data.Timestamp": _since(1000),
        "io.debezium.time.MicroTimestamp": _since(1),
        "io.debezium.time.NanoTimestamp": _since(0.001),
        "io.debezium.time.Time": _time_of(1000),
        "org.apache.kafka.connect.data.Time": _time_of(1000),
        "io.debezium.time.MicroTime": _time_of(1),
        "io.debezium.time.NanoTime": _time_of(0.001),
        "io.debezium.data.VariableScaleDecimal": _variable_decimal,
    }
)


def converted(convert: Convert, value: Any) -> object:
    """Return what a value stands for.

    Raises
    ------
    MalformedEvent
        If it is none of its type, or its type is refused.
    """
    try:
        return convert(value)
    except (TypeError, ValueError, KeyError, OverflowError, ArithmeticError):
        raise MalformedEvent("wrong_type", "not as its schema says") from None


# Change envelopes of Debezium, and the keys of their records.
#
# Connect writes before each payload its schema, three times as long and the same for all rows of a
# table. Its text is compared with those that came before, and read where it is another.

Row = dict[str, Any]
"""A row of a stranger's table: any JSON by column; only its schema says what it means."""

_SCHEMAS_MAX: Final = 256
"""Schemas of envelopes that are remembered: one for each version of each table."""
_KNOWN_MAX: Final = 16
"""Schemas whose text is compared, one after the other: one for each table, as a rule."""
_TABLE: Final = re.compile(r"[A-Za-z_]\w{0,30}(\.[A-Za-z_]\w{0,30})?", re.ASCII)


class RowSource(msgspec.Struct, frozen=True):
    """Where and when a row changed."""

    table: str | None = None
    schema: str | None = None
    db: str | None = None
    ts_us: int | None = None
    ts_ms: int | None = None
    lsn: int | None = None
    file: str | None = None
    pos: int | None = None

    def name(self) -> str | None:
        """Return a configuration's likeliest name for the table, if any.

        It is told to the operator, and whoever sends records may write there what they like.
        """
        name = ".".join(part for part in (self.schema or self.db, self.table) if part)
        return name if _TABLE.fullmatch(name) else None

    def position(self) -> int | None:
        """Return the place in the log of PostgreSQL or MySQL.

        None of other databases.
        """
        if self.lsn is not None or self.file is None or self.pos is None:
            return self.lsn
        number = self.file.rpartition(".")[2]
        return int(number) << 48 | self.pos if number.isdecimal() else None


class EnvelopeChange(msgspec.Struct, frozen=True):
    """The part of the envelope that matters here."""

    op: str | None = None
    before: msgspec.Raw = msgspec.Raw()
    after: msgspec.Raw = msgspec.Raw()
    source: RowSource | None = None
    ts_ms: int | None = None
    status: str | None = None


class _Envelope(EnvelopeChange, frozen=True):
    """A change by itself, or in `payload` beside its schema."""

    payload: EnvelopeChange | None = None
    schema: msgspec.Raw = msgspec.Raw()


class _Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The key of a record beside its schema."""

    schema: msgspec.Raw
    payload: msgspec.Raw


class _KnownSchema(NamedTuple):
    """Schema seen before, and all before the payload of its rows."""

    prefix: bytes
    schema: bytes


_envelopes: Final = msgspec.json.Decoder(_Envelope)
_changes: Final = msgspec.json.Decoder(EnvelopeChange)
_rows: Final = msgspec.json.Decoder(Row | None)
_keys: Final = msgspec.json.Decoder(_Key)
_anything: Final = msgspec.json.Decoder()
_WITH_SCHEMA, _PAYLOAD = b'{"schema":', b',"payload":'
_CANONICAL: Final = re.compile(rb'\{"\w+":(?:\d{1,18}|"[^"\\]*")\}')
"""A key of one column that would be encoded as it is."""
_DIGIT_IN_KEY: Final = re.compile(rb'"[^"]*[0-9][^"]*"\s*:')
_SHAPES_MAX: Final = 1_000
"""Some dozen for each table: by operation, snapshot, and what else has no digits."""
encode: Final = msgspec.json.Encoder(order="sorted").encode


class Envelopes:
    """Reads envelopes; remembers their schemas."""

    def __init__(self) -> None:
        self._converters: dict[bytes, dict[str, Convert]] = {b"": {}}
        self._known: list[_KnownSchema] = []
        self._shapes: set[bytes] = set()

    def decoded(self, value: bytes) -> tuple[EnvelopeChange, bytes]:
        """Return the change that a value tells, and its schema as JSON.

        B"" without one.

        Raises
        ------
        MalformedEvent
            If it is no envelope, or may say two things.
        """
        for prefix, schema in self._known:
            if value.startswith(prefix) and value.endswith(b"}"):
                payload = value[len(prefix) : -1]
                try:
                    change = _changes.decode(payload)
                except events.DECODE_ERRORS:
                    break  # What is odd in any way is read as a whole.
                self._check_keys(payload, change)
                return change, schema
        envelope = events.decoded(_envelopes, value)
        change, schema = envelope.payload or envelope, bytes(envelope.schema)
        if not schema:
            self._check_keys(value, change)
            return change, b""
        events.check_keys(value)
        prefix = _WITH_SCHEMA + schema + _PAYLOAD
        if value.startswith(prefix) and len(self._known) < _KNOWN_MAX:
            self._known.append(_KnownSchema(prefix, schema))
        return change, schema

    def _check_keys(self, told: bytes, change: EnvelopeChange) -> None:
        """Refuse a key given twice, looking once at texts of one shape.

        A shape has neither rows, which `row_of` checks, nor digits. Without digits in keys, and
        with no escape but that of a quote, digits change neither keys nor what they are in.
        """
        for row in (change.after, change.before):
            if len(bytes(row)) > len(b"null"):
                told = told.replace(bytes(row), b"{}", 1)
        shape = told.translate(None, b"0123456789")
        if shape in self._shapes:
            return
        events.check_keys(told)
        is_plain = told.count(b"\\") == told.count(b'\\"') and not _DIGIT_IN_KEY.search(told)
        if is_plain and len(self._shapes) < _SHAPES_MAX:
            self._shapes.add(shape)

    def converters(self, schema: bytes) -> Mapping[str, Convert]:
        """Return what converts the values of columns, by their names.

        Raises
        ------
        MalformedEvent
            If it is no schema of an envelope.
        """
        found = self._converters.get(schema)
        if found is None:
            found = converters(schema)
            if len(self._converters) < _SCHEMAS_MAX:
                self._converters[schema] = found
        return found


def row_of(raw: msgspec.Raw) -> Row | None:
    """Return a row.

    Whether it gives a column twice is seen by the quotes around keys and texts.
    """
    told = bytes(raw)
    if not told or told == b"null":
        return None
    row: Row | None = events.decoded(_rows, told)
    if row is not None:
        n_texts = list(map(type, row.values())).count(str)
        if told.count(b'"') != 2 * (len(row) + n_texts):
            events.check_keys(told)
    return row


def key_of(key: bytes) -> bytes:
    """Return a record's key without schema, columns in one order."""
    try:
        payload = bytes(_keys.decode(key).payload) if key.startswith(_WITH_SCHEMA) else key
        if _CANONICAL.fullmatch(payload):
            return payload
        return encode(_anything.decode(payload))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return key  # Of another converter: what it is does not matter.
