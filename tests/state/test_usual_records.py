"""Registers read in columns against the decoder of single rows."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.state import usual_records as module
from ktsafe.state.registers import VertexRecord
from ktsafe.state.usual_records import PADDING, ValueCodes, usual_records

ATTRIBUTES = (1, 0, 200, 3)
INTS = st.one_of(*(st.integers(0, 2**n - 1) for n in (7, 8, 16, 32, 63)))
MARKS = st.tuples(st.integers(-(2**63), 2**63 - 1), INTS, INTS)
TEXTS = st.one_of(
    st.text(max_size=3),
    st.text("ab\0é", max_size=20),
    st.sampled_from(["x" * n for n in (7, 8, 15, 16, 31, 32, 255, 256)]),
)
REGISTERS = st.dictionaries(
    st.one_of(st.sampled_from(ATTRIBUTES), st.integers(0, 20)),
    st.tuples(MARKS, st.none() | TEXTS),
    max_size=18,
)
RECORDS = st.one_of(
    st.builds(VertexRecord, id=TEXTS, up=MARKS, attributes=REGISTERS, life=INTS),
    st.builds(VertexRecord, id=TEXTS, up=MARKS, down=MARKS, attributes=REGISTERS, life=INTS),
    st.builds(VertexRecord, alias=st.binary(max_size=16), down=st.none() | MARKS),
)


def check(rows: list[bytes]) -> list[bool]:
    """Assert that usual rows say what the decoder finds; return which are usual."""
    data = b"".join((*rows, PADDING))
    found = usual_records(data, np.cumsum([len(row) for row in rows], dtype=np.int64), ATTRIBUTES)
    for i, row in enumerate(rows):
        id_bytes = data[found.ids.start[i] : found.ids.end[i]]
        values = [data[a[i] : b[i]] if a[i] >= 0 else None for a, b in found.values]
        if not found.is_usual[i]:
            assert (id_bytes, values, found.lives[i]) == (b"", [None] * len(ATTRIBUTES), -1)
            continue
        try:
            record = msgspec.msgpack.decode(row, type=VertexRecord)
        except UnicodeDecodeError:  # Refused by whoever takes the text, or nobody does.
            continue
        assert (record.alias, record.down) == (None, None)
        assert record.up is not None
        assert (record.id, record.life) == (id_bytes.decode(), found.lives[i])
        told = [record.attributes.get(number, (None, None))[1] for number in ATTRIBUTES]
        assert told == [None if value is None else value.decode() for value in values]
    return found.is_usual.tolist()


@given(records=st.lists(RECORDS, min_size=1, max_size=6))
def test_usual_rows_are_read_and_no_others(records: list[VertexRecord]) -> None:
    """Who exists and was never deleted is read, unless fields are too long or too many."""
    expected = [
        record.id is not None
        and record.down is None
        and len(record.id.encode()) < 256
        and len(record.attributes) < 16
        and max(record.attributes, default=0) < 128
        and all(len((value or "").encode()) < 256 for _, value in record.attributes.values())
        for record in records
    ]
    assert check([msgspec.msgpack.encode(record) for record in records]) == expected


@given(
    records=st.lists(RECORDS, min_size=1, max_size=4),
    places=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 300)), min_size=1, max_size=3),
    byte=st.one_of(
        st.sampled_from([0x90, 0x93, 0x96, 0xA0, 0xBF, 0xC0, 0xD9]), st.integers(0, 255)
    ),
)
def test_damaged_rows_are_read_as_by_the_decoder(
    records: list[VertexRecord], places: list[tuple[int, int]], byte: int
) -> None:
    """Whatever the bytes are: what the decoder refuses is not usual."""
    rows = [bytearray(msgspec.msgpack.encode(record)) for record in records]
    for row, place in places:
        if row < len(rows):
            rows[row][place % len(rows[row])] = byte
    check([bytes(row) for row in rows])


def test_no_rows_are_read() -> None:
    """Nothing at all, and rows without a byte."""
    assert check([]) == []
    assert check([b"", b""]) == [False, False]


@pytest.mark.parametrize("factors", [None, [0, 0]])
@given(blocks=st.lists(st.lists(st.none() | TEXTS, max_size=8), max_size=5))
def test_codes_are_those_of_the_texts(
    factors: list[int] | None, blocks: list[list[str | None]]
) -> None:
    """Values have the codes of their texts, though all share one hash."""
    numbers: dict[str, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        if factors is not None:
            patch.setattr(module, "_FACTORS", np.array(factors, dtype=np.uint64))
        codes = ValueCodes(lambda texts: [numbers.setdefault(x, len(numbers) + 1) for x in texts])
        for values in blocks:
            texts = [b"" if value is None else value.encode() for value in values]
            end = np.cumsum([len(text) for text in texts], dtype=np.int64)
            start = end - np.array([len(text) for text in texts], dtype=np.int64)
            start[[i for i, value in enumerate(values) if value is None]] = -1
            found = codes.of(b"".join((*texts, PADDING)), module.Spans(start, end))
            assert found.tolist() == [0 if x is None else numbers[x] for x in values]


def test_a_value_that_is_no_text_is_refused() -> None:
    """Bytes that are not UTF-8 are no value."""
    spans = module.Spans(np.array([0]), np.array([1]))
    with pytest.raises(UnicodeDecodeError):
        ValueCodes(lambda texts: [1 for _ in texts]).of(b"\xff" + PADDING, spans)
