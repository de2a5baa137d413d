"""An envelope whose schema came before is read as one whose schema is new."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.connectors.base import Record
from ktsafe.stream.ingest.change_envelopes import key_of
from ktsafe.stream.ingest.debezium import RowJudge
from tests.databases.mirrors import BEGIN_US, SCHEMA, tables
from tests.databases.networks import PLAIN
from tests.databases.scripts import follows, person
from tests.databases.tables import Database, Delete, as_json


def _values() -> list[bytes]:
    database = Database(PLAIN.tables)
    told = database.commit([person(1), person(2), follows(1, 2, "friend"), Delete("ties", (1, 2))])
    made = (
        as_json(each, database.tables[each.table], BEGIN_US, 7, schemas=True)[1] for each in told
    )
    spaced = [value for value in made if value is not None]
    return [json.dumps(json.loads(value), separators=(",", ":")).encode() for value in spaced]


VALUES = _values()
PIECES = [
    *(b'"', b"}", b"{", b",", b":", b"null", b"0", b'"after":{},', b'"after":null,', b'"op":"d",'),
    *(b'"before":{},', b',"payload":null', b',"payload":{}', b'"a":1,', b"\\ud800", b"\xff", b" "),
]


def _judge(*before: bytes) -> RowJudge:
    judge = RowJudge(tables(), SCHEMA, record_bytes_max=1 << 20)
    judge.judge([_record(value) for value in before])
    return judge


def _record(value: bytes, key: bytes | None = b'{"a":1}') -> Record:
    return Record("t", 0, 0, 0, key, value, ())


def _told(judge: RowJudge, value: bytes) -> object:
    judged = judge.judge([_record(value), _record(value, None)])
    letters = {place: (each.reason, each.detail) for place, each in judged.letters.items()}
    return judged.changes, letters


@given(st.data())
def test_damaged_envelopes_are_read_or_refused_whatever_came_before(data: st.DataObject) -> None:
    """Bytes go, pieces come and parts are given twice: result, reason and detail are the same."""
    value = data.draw(st.sampled_from(VALUES))
    for _ in range(data.draw(st.integers(0, 3))):
        # Half of the places are those at which the payload begins and ends.
        border = st.sampled_from([value.find(b',"payload":'), len(value) - 1, len(value)])
        start = data.draw(st.integers(0, len(value)) | border)
        stop = data.draw(st.just(start) | st.integers(start, min(start + 40, len(value))))
        piece = data.draw(st.sampled_from([*PIECES, b"", value[start:stop]]))
        end = data.draw(st.sampled_from([start, stop]))
        value = value[:start] + piece + value[end:]
    assert _told(_judge(*VALUES), value) == _told(_judge(), value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"op":', b'"op":"d","op":'),
        (b'"op":', b'"op" :"d","op":'),
        (b'"op":', b'"\\u006fp":"d","op":'),
        (b'"after":{', b'"after" :{"a":2},"after":{'),
        (b'"source":{', b'"source":{"table":"ties"},"source":{'),
        (b'"table":', b'"table":"ties","table":'),
        (b'"ts_us":', b'"ts_us":1,"ts_us":'),
        (b'"gender":"m"', b'"gender":"f","gender":"m"'),
    ],
)
def test_a_part_given_twice_is_refused(old: bytes, new: bytes) -> None:
    """However it is written, also behind envelopes that differ in digits and rows alone."""
    judge = _judge(*VALUES)
    start = VALUES[0].find(b',"payload":')
    payload = VALUES[0][start:]
    assert old in payload
    for value in (
        VALUES[0][:start] + payload.replace(old, new, 1),
        payload[11:-1].replace(old, new, 1),
    ):
        (letter,) = judge.judge([_record(value)]).letters.values()
        assert letter.reason == "repeated_key"


def test_keys_that_differ_in_digits_alone_are_no_repetition() -> None:
    """And an envelope of such keys lets none of them be given twice."""
    judge = _judge()
    for first, second, n_letters in ((1, 2, 0), (1, 1, 1), (2, 2, 1), (2, 1, 0)):
        more = f'"source":{{"x{first}":0,"x{second}":0,'.encode()
        judged = judge.judge([_record(VALUES[0].replace(b'"source":{', more, 1))])
        assert len(judged.letters) == n_letters


@given(
    st.dictionaries(st.text(max_size=3), st.text(max_size=4) | st.integers() | st.none()),
    st.booleans(),
    st.binary(max_size=3),
)
def test_keys_of_one_row_are_one_however_they_are_written(
    columns: dict[str, object], ascii_only: bool, noise: bytes
) -> None:
    """Spaces, escapes and the order of columns do not matter; what is no JSON is as it is."""
    plain = json.dumps(columns, separators=(",", ":"), ensure_ascii=ascii_only).encode()
    turned = json.dumps(dict(reversed(columns.items()))).encode()
    assert key_of(plain) == key_of(turned)
    for text in (b'{"k":' + noise + b"}", b'{"k":"' + noise + b'"}', b'{"k":0' + noise + b"}"):
        try:
            right = msgspec.json.encode(msgspec.json.decode(text), order="sorted")
        except (msgspec.DecodeError, UnicodeDecodeError):
            right = text
        assert key_of(text) == right
