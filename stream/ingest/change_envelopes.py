"""Change envelopes of Debezium, and the keys of their records.

Connect writes before each payload its schema, three times as long and the same for all rows of a
table. Its text is compared with those that came before, and read where it is another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.columns import Convert, converters

Row = dict[str, Any]

_SCHEMAS_MAX: Final = 256
"""Schemas of envelopes that are remembered: one for each version of each table."""
_KNOWN_MAX: Final = 16
"""Schemas whose text is compared, one after the other: one for each table, as a rule."""
_AFTER, _BEFORE, _OP = b'"after":', b'"before":', b'"op":'
"""What a value holds once, unless a column is named so or a key is given twice."""
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
    """A schema that came before, and all that stands before the payload of its rows."""

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
encode: Final = msgspec.json.Encoder(order="sorted").encode


class Envelopes:
    """Reads envelopes; remembers their schemas."""

    def __init__(self) -> None:
        self._converters: dict[bytes, dict[str, Convert]] = {b"": {}}
        self._known: list[_KnownSchema] = []

    def decoded(self, value: bytes) -> tuple[EnvelopeChange, bytes]:
        """Return the change that a value tells, and its schema as JSON.

        B"" without one.

        Raises
        ------
        MalformedEvent
            If it is no envelope, or may say two things.
        """
        for prefix, schema in self._known:
            if value.startswith(prefix):
                payload = value[len(prefix) : -1]
                # What is odd in any way is read as a whole.
                if value.endswith(b"}") and not _may_repeat(payload):
                    with suppress(*events.DECODE_ERRORS):
                        return _changes.decode(payload), schema
                break
        envelope = events.decoded(_envelopes, value)
        if _may_repeat(value):
            events.check_keys(value)
        schema = bytes(envelope.schema)
        prefix = _WITH_SCHEMA + schema + _PAYLOAD
        is_usual = schema and value.startswith(prefix) and len(self._known) < _KNOWN_MAX
        if is_usual and not any(each in prefix for each in (_AFTER, _BEFORE, _OP)):
            self._known.append(_KnownSchema(prefix, schema))
        return envelope.payload or envelope, schema

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
        n_texts = [type(value) for value in row.values()].count(str)
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


def _may_repeat(value: bytes) -> bool:
    return value.count(_AFTER) > 1 or value.count(_BEFORE) > 1 or value.count(_OP) > 1
