"""Dead letters: their content for every sink, and a file of them.

It has the error fields of Kafka Connect, without values of the record.

full  the record as it came, up to a bound; beyond it a prefix, the length and the sha256
none  where it came from, why it was refused, how long it was; nothing of its content

Bounds may be tuned together: a letter must fit in a record of 1 MiB. Names of fields are a format
(docs/schemas, tests/test_schemas.py); with "none" no content may leave
(tests/security/test_bare_letters.py). A letter is on disk before `write` returns
(tests/connectors/test_file_letters.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from ktsafe.connectors.base import DeadLetter, DeadLetterSink, Record, Unavailable

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
"""A line of JSON: `error_fields` behind `PREFIX`, and content. Anybody may add to a topic's."""


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


# A file of dead letters: one JSON object per line.


class FileDeadLetterSink:
    """Appends dead letters to a file. Implements `ktsafe.connectors.base.DeadLetterSink`.

    Each line is an object with Kafka Connect's error fields (`__connect.errors.topic`,
    `.partition`, `.offset`, `.exception.class.name` (the reason), ...), in base64 `key`, `value`
    and `headers`, and `length`. Where the value was longer than the bound, `value` is its prefix
    and `sha256` that of the whole. A letter may come twice after a crash: readers drop repeats by
    topic, partition and offset. The file holds personal data as it came in, hence mode 0600.
    """

    def __init__(self, path: Path, *, dead_letter_bytes_max: int = DEAD_LETTER_BYTES_MAX) -> None:
        self._path = path
        self._bytes_max = dead_letter_bytes_max
        self._file: int | None = None

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Append `letters` and sync.

        What a failed write left behind is cut off again.
        """
        lines = b"".join(self._line(letter) for letter in letters)
        try:
            file = self._opened()
            end = os.lseek(file, 0, os.SEEK_END)
            try:
                _write_all(file, lines)
                os.fsync(file)
            except OSError:
                os.ftruncate(file, end)
                raise
        except OSError as error:
            hint = f"could not be written ({error.strerror}). Free space or restore access."
            raise Unavailable("write dead letters", str(self._path), hint) from None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int:
        if self._file is not None and not self._in_place(self._file):
            self.close()
        if self._file is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            _cut_unfinished_line(self._file)
        return self._file

    def _in_place(self, file: int) -> bool:
        """Whether the open file still bears its name.

        A removed or rotated one is read no more.
        """
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _line(self, letter: DeadLetter) -> bytes:
        record = letter.record
        kept = keep(record, self._bytes_max)
        fields: Letter = {f"{PREFIX}{name}": value for name, value in error_fields(letter).items()}
        fields["key"] = None if record.key is None else _text(record.key[: self._bytes_max])
        fields["value"] = None if kept is None else _text(kept.data)
        if kept is not None:
            fields["length"] = kept.length
            if kept.sha256 is not None:
                fields["sha256"] = kept.sha256
        fields["headers"] = [[name, _text(value)] for name, value in record.headers]
        return msgspec.json.encode(fields) + b"\n"


def blank_dead_letters(path: Path, words: Sequence[bytes]) -> int:
    """Empty a file's letters that hold one of `words`; count them.

    It is one step.

    Words count where no letter, digit, "_" or "-" adjoins them, also where JSON writes them with
    escapes, in an envelope inside another too. Where a record came from and why it was refused
    stays. Nobody may be writing meanwhile.
    """
    any_of = b"|".join(re.escape(word) for word in words)
    pattern = re.compile(rb"(?<![\w-])(?:" + any_of + rb")(?![\w-])")
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return 0
    kept = [_blanked(line, pattern) for line in lines]
    changed = [new for new, old in zip(kept, lines, strict=True) if new is not old]
    if changed:
        partial = path.with_name(path.name + ".partial")
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write_all(file, b"".join(kept))
            os.fsync(file)
        finally:
            os.close(file)
        partial.replace(path)
    # The end of a write that was never confirmed goes without being a letter.
    return sum(map(bool, changed))


def _blanked(line: bytes, pattern: re.Pattern[bytes]) -> bytes:
    if not line.endswith(b"\n"):
        return b""
    letter = msgspec.json.decode(line, type=Letter)
    texts = [letter.get("key"), letter.get("value"), *(text for _, text in letter["headers"])]
    if not any(_holds(b64decode(text), pattern) for text in texts if text):
        return line
    letter |= {"key": None, "value": None, "headers": []}
    return msgspec.json.encode(letter) + b"\n"


def _holds(data: bytes, pattern: re.Pattern[bytes]) -> bool:
    """Whether a record holds a word, as it is or under escapes.

    Records may be no JSON at all.
    """
    while not pattern.search(data):
        former, data = data, unescaped(data)
        if data == former:
            return False
    return True


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _cut_unfinished_line(file: int) -> None:
    """Cut off a line that a crash left without its newline.

    It was never confirmed.
    """
    end = os.lseek(file, 0, os.SEEK_END)
    step = 64 * 1024
    at = end
    while at > 0:
        start = max(0, at - step)
        newline = os.pread(file, at - start, start).rfind(b"\n")
        if newline >= 0:
            at = start + newline + 1
            break
        at = start
    if at < end:
        os.ftruncate(file, at)
