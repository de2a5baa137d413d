"""Registers of people who exist and were never deleted, read in columns.

    [id, nil, mark, nil, {attribute: [mark, value], ...}, life]

Nearly all rows of a large graph are such, and differ in the lengths of their fields only. numpy
goes through them field by field, all rows at once; the decoder takes a row at a time and makes a
dozen objects of it. Whatever else a row holds, it is not taken for a usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]

PADDING: Final = bytes(16)
"""What has to follow the bytes of rows, so that words can be read at their end."""
_WORDS_BYTES: Final = 16
_KNOWN_MAX: Final = 1 << 10
_MASKS: Final = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
_FACTORS: Final = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)

_NIL: Final = 0xC0
_RECORD, _MARK, _REGISTER = 0x96, 0x93, 0x92  # arrays of so many: see `ktsafe.state.keys`
_TEXT_8: Final = 0xD9  # a text of up to 255 bytes, whose length follows

_INT_BYTES: Final = np.zeros(256, dtype=np.int64)
"""Length of an integer by its first byte; 0 if it is none."""
_INT_BYTES[0x00:0x80] = _INT_BYTES[0xE0:] = 1
_INT_BYTES[[0xCC, 0xCD, 0xCE, 0xCF]] = _INT_BYTES[[0xD0, 0xD1, 0xD2, 0xD3]] = 2, 3, 5, 9


class Spans(NamedTuple):
    """Where a field lies in the bytes, of each row from `start` to `end`."""

    start: Ints
    end: Ints


class Usual(NamedTuple):
    """What rows say, n of them.

    Attributes
    ----------
    is_usual:
        bool, shape (n,). The others have empty ids, no values and no life.
    ids:
        The ids, as UTF-8 that was not looked at.
    values:
        By position of the schema the raw values, likewise; from -1 if missing.
    lives:
        int64, shape (n,); -1 for none.
    """

    is_usual: NDArray[np.bool_]
    ids: Spans
    values: list[Spans]
    lives: Ints


def usual_records(data: bytes, ends: Ints, attributes: Sequence[int]) -> Usual:
    """Read rows that lie one after the other.

    Parameters
    ----------
    data:
        The bytes of all rows, and any after them.
    ends:
        Where each of them ends, shape (n,), ascending.
    attributes:
        The number of each attribute of the schema, by position.
    """
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1]
    cursor = _Cursor(np.frombuffer(data, dtype=np.uint8), starts)
    cursor.expect(_RECORD)
    ids = cursor.text()
    cursor.expect(_NIL)
    cursor.mark()
    cursor.expect(_NIL)
    values = _values(cursor, attributes)
    lives = cursor.number()
    others = np.flatnonzero(~cursor.is_usual | (cursor.at != ends))
    cursor.is_usual[others] = False
    lives[others] = -1
    ids.start[others] = ids.end[others] = 0
    for value in values:
        value.start[others] = -1
    return Usual(cursor.is_usual, ids, values, lives)


class ValueCodes:
    """Codes of the values of one attribute that came before, found by their bytes.

    A value of up to 15 bytes is two words, its length in the last byte: no other has the same.

    Parameters
    ----------
    code:
        Returns the codes of values that may be new.
    """

    def __init__(self, code: Callable[[Sequence[str]], list[int]]) -> None:
        self._code = code
        self._words = np.zeros((0, 2), dtype=np.uint64)
        self._hashes = np.zeros(0, dtype=np.uint64)  # ascending
        self._codes = np.zeros(0, dtype=np.int32)

    def of(self, data: bytes, spans: Spans) -> NDArray[np.int32]:
        """Return the code of each value, int32, 0 where it is missing.

        Parameters
        ----------
        data:
            What the spans are of, and `PADDING` after it.

        Raises
        ------
        UnicodeDecodeError
        """
        codes = np.zeros(len(spans.start), dtype=np.int32)
        told = np.flatnonzero(spans.start >= 0)
        start, n_bytes = spans.start[told], spans.end[told] - spans.start[told]
        words = _words(data, start, n_bytes)
        is_short = n_bytes < _WORDS_BYTES
        is_known = np.zeros(len(told), dtype=np.bool_)
        if len(self._codes):
            place = self._hashes.searchsorted(_hashes(words)).clip(max=len(self._codes) - 1)
            is_known = is_short & (self._words[place] == words).all(axis=1)
            codes[told[is_known]] = self._codes[place[is_known]]
        new = np.flatnonzero(~is_known)
        if len(new):
            ends = (start + n_bytes)[new].tolist()
            pairs = zip(start[new].tolist(), ends, strict=True)
            codes[told[new]] = self._code([data[a:b].decode() for a, b in pairs])
            short = new[is_short[new]]
            if len(self._codes) < _KNOWN_MAX:
                self._learn(words[short], codes[told[short]])
        return codes

    def _learn(self, words: NDArray[np.uint64], codes: NDArray[np.int32]) -> None:
        words = np.concatenate((self._words, words))
        # Of two with the same hash one stays unknown.
        self._hashes, first = np.unique(_hashes(words), return_index=True)
        self._words = words[first]
        self._codes = np.concatenate((self._codes, codes))[first]


def _words(data: bytes, start: Ints, n_bytes: Ints) -> NDArray[np.uint64]:
    """Return the first 15 bytes from each start on and the length, shape (n, 2)."""
    # A word from every byte on: overlapping, and nothing is copied.
    word_at: NDArray[np.uint64] = np.ndarray(len(data) - 7, "<u8", data, strides=(1,))
    words = np.empty((len(start), 2), dtype=np.uint64)
    words[:, 0] = word_at[start] & _MASKS[n_bytes.clip(max=8)]
    words[:, 1] = word_at[start + 8] & _MASKS[(n_bytes - 8).clip(0, 7)]
    words[:, 1] |= n_bytes.astype(np.uint64) << np.uint64(56)
    return words


def _hashes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for two words that is seldom that of others; it wraps around."""
    hashes: NDArray[np.uint64] = words[:, 0] * _FACTORS[0] ^ words[:, 1] * _FACTORS[1]
    return hashes


def _values(cursor: _Cursor, attributes: Sequence[int]) -> list[Spans]:
    # The last column is for attributes that the schema does not have.
    position = np.full(128, len(attributes))
    for place, attribute in enumerate(attributes):
        if attribute < len(position):
            position[attribute] = place
    n_rows = len(cursor.at)
    start = np.full((len(attributes) + 1, n_rows), -1)
    end = np.full((len(attributes) + 1, n_rows), -1)
    first = cursor.byte()
    n_registers = np.where(first & 0xF0 == 0x80, first & 0x0F, 0)
    cursor.is_usual &= first & 0xF0 == 0x80
    cursor.at += 1
    for step in range(int(n_registers.max(initial=0))):
        rows = np.flatnonzero(n_registers > step)
        register = cursor if len(rows) == n_rows else cursor.of(rows)
        number = register.byte()
        register.is_usual &= number < len(position)
        register.at += 1
        register.expect(_REGISTER)
        register.mark()
        is_missing = register.byte() == _NIL
        value = register.text(is_missing)
        column = position[number & 0x7F]
        start[column, rows] = np.where(is_missing, -1, value.start)
        end[column, rows] = value.end
        cursor.at[rows], cursor.is_usual[rows] = register.at, register.is_usual
    return [Spans(start[place], end[place]) for place in range(len(attributes))]


class _Cursor:
    """A place in each row, moved on by what is read there; bytes beyond the last one are it."""

    def __init__(self, data: NDArray[np.uint8], at: Ints) -> None:
        self.data = data
        self.at = at
        self.is_usual = np.ones(len(at), dtype=np.bool_)

    def of(self, rows: Ints) -> _Cursor:
        """Return a cursor of some rows."""
        some = _Cursor(self.data, self.at[rows])
        some.is_usual = self.is_usual[rows]
        return some

    def byte(self, further: int = 0) -> NDArray[np.uint8]:
        return self.data.take(self.at + further if further else self.at, mode="clip")

    def expect(self, byte: int) -> None:
        self.is_usual &= self.byte() == byte
        self.at += 1

    def mark(self) -> None:
        self.expect(_MARK)
        for _ in range(3):
            n_bytes = _INT_BYTES.take(self.byte())
            self.is_usual &= n_bytes > 0
            self.at += n_bytes

    def text(self, is_missing: NDArray[np.bool_] | None = None) -> Spans:
        first = self.byte()
        is_short, is_long = first & 0xE0 == 0xA0, first == _TEXT_8
        n_bytes = np.where(is_short, first & 0x1F, 0).astype(np.int64)
        start = self.at + 1
        if is_long.any():
            n_bytes[is_long] = self.byte(1)[is_long]
            start += is_long
        is_text = is_short | is_long
        self.is_usual &= is_text if is_missing is None else is_text | is_missing
        self.at = start + n_bytes
        return Spans(start, self.at.copy())

    def number(self) -> Ints:
        """Read an integer of 0 or more."""
        first = self.byte()
        n_bytes = np.where((first >= 0xCC) & (first <= 0xCF), _INT_BYTES.take(first), 1)
        value = first.astype(np.int64)
        self.is_usual &= (first < 0x80) | (n_bytes > 1)
        is_long = n_bytes > 1
        value[is_long] = 0
        for step in range(1, int(n_bytes.max(initial=1))):
            value = np.where(step < n_bytes, value << 8 | self.byte(step), value)
        self.is_usual &= value >= 0
        self.at += n_bytes
        return value
