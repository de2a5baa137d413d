"""Content of a dead letter, the same for every sink.

It has the error fields of Kafka Connect, without values of the record.

full  the record as it came, up to a bound; beyond it a prefix, the length and the sha256
none  where it came from, why it was refused, how long it was; nothing of its content

Bounds may be tuned together: a letter must fit in a record of 1 MiB. Names of fields are a format
(docs/schemas, tests/test_schemas.py); with "none" no content may leave
(tests/security/test_bare_letters.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from ktsafe.connectors.base import DeadLetter, DeadLetterSink, Record

Payload = Literal["full", "none"]

RECORD_BYTES_MAX: Final = 1024 * 1024
"""A longer record is a dead letter: an event takes some hundred bytes, brokers allow 1 MiB."""
DEAD_LETTER_BYTES_MAX: Final = 512 * 1024
"""Original bytes kept in a dead letter: base64 and headers fit beside them in a record of 1 MiB."""

TRUNCATED: Final = "ktsafe.truncated"
"""Header of a record whose source gave a prefix only: the full length in bytes, decimal."""
TRUNCATED_SHA256: Final = "ktsafe.sha256"
"""Header beside `TRUNCATED`: sha256 of the whole value, hexadecimal."""

PAYLOAD: Final = "ktsafe.payload"
"""Header of a bare letter: what became of the record's content."""
LENGTH: Final = "ktsafe.length"
"""Header of a bare letter: how many bytes the value had."""

PREFIX: Final = "__connect.errors."

_UNIT: Final = rb"\\u[0-9a-fA-F]{4}"
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE: Final = re.compile(rb"%s%s|%s|\\[\"\\/bfnrt]" % (_HIGH, _LOW, _UNIT))
"""Of JSON, for one character."""
_SHORT: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}

_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_SHA256: Final = re.compile(rb"[0-9a-f]{64}")

Letter = dict[str, Any]
"""A letter with all its fields, as a line of JSON."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """The kept part of a value: all, or prefix, length and sha256."""

    data: bytes
    length: int
    sha256: str | None

    @property
    def whole(self) -> bool:
        """Whether nothing was cut off."""
        return self.sha256 is None


def keep(record: Record, bytes_max: int) -> Kept | None:
    """Return the kept part of the record's value; None for a tombstone."""
    value = record.value
    if value is None:
        return None
    headers = dict(record.headers)
    length, sha256 = headers.get(TRUNCATED, b""), headers.get(TRUNCATED_SHA256, b"")
    # Anybody can write such headers to a topic: what no source of ours wrote says nothing.
    if _LENGTH.fullmatch(length) and _SHA256.fullmatch(sha256):
        return Kept(value[:bytes_max], int(length), sha256.decode())
    if len(value) <= bytes_max:
        return Kept(value, len(value), None)
    return Kept(value[:bytes_max], len(value), hashlib.sha256(value).hexdigest())


def error_fields(letter: DeadLetter) -> dict[str, str]:
    """Return Kafka Connect's error fields, names without their prefix."""
    record = letter.record
    fields = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "stage": "VALUE_CONVERTER",
        "exception.class.name": letter.reason,
        "exception.message": letter.detail,
    }
    if record.timestamp_ms is not None:
        fields["timestamp"] = str(record.timestamp_ms)
    return fields


class BareLetters:
    """Writes letters without content to another sink (`ktsafe.connectors.base.DeadLetterSink`)."""

    def __init__(self, sink: DeadLetterSink) -> None:
        self._sink = sink

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Append the letters, without content, to the sink behind."""
        self._sink.write(
            [DeadLetter(without_content(one.record), one.reason, one.detail) for one in letters]
        )

    def close(self) -> None:
        """Close the sink behind."""
        self._sink.close()


def without_content(record: Record) -> Record:
    """Return the record without key, value and headers."""
    length = str(len(record.value or b"")).encode()
    headers = ((PAYLOAD, b"none"), (LENGTH, length))
    return msgspec.structs.replace(record, key=None, value=b"", headers=headers)


def unescaped(data: bytes) -> bytes:
    r"""Return bytes with JSON's escapes undone once, wherever they stand.

    >>> unescaped(rb"J\u00fcrgen, O\/Brien").decode()
    'Jürgen, O/Brien'
    """
    return _ESCAPE.sub(_character, data)


def _character(escape: re.Match[bytes]) -> bytes:
    """Return what an escape stands for; pairs of surrogates are one character."""
    units = escape.group().replace(rb"\u", b"")
    if len(units) >= 4:
        text = bytes.fromhex(units.decode()).decode("utf-16-be", "replace")
        return text.encode()
    return _SHORT.get(units[1:], units[1:])
