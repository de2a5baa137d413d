"""Debezium's column values, by the schema in a record.

A date is a number of days there, and a decimal a text in base64: only the schema of the envelope
(`value.converter.schemas.enable`) says so. Types that have no one text are refused by their name.
"""

from __future__ import annotations

import datetime
import decimal
from base64 import b64decode
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

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
