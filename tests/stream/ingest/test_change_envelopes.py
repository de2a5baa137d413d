"""An envelope whose schema came before is read as one whose schema is new."""

from __future__ import annotations

import json

import msgspec
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


def test_a_part_given_twice_is_refused_behind_a_known_schema() -> None:
    """Of whole parts as of columns, though the schema is not read again."""
    judge = _judge(*VALUES)
    for old, new in (
        (b'"op":', b'"op":"d","op":'),
        (b'"gender":"m"', b'"gender":"f","gender":"m"'),
    ):
        start = VALUES[0].find(b',"payload":')
        value = VALUES[0][:start] + VALUES[0][start:].replace(old, new)
        assert value != VALUES[0]
        (letter,) = judge.judge([_record(value)]).letters.values()
        assert letter.reason == "repeated_key"


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
