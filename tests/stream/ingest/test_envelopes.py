"""CloudEvents carry the same events as plain records, in both modes of the Kafka binding."""

import datetime
import json

import pytest

from ktsafe import Schema
from ktsafe.connectors.base import Record
from ktsafe.stream.ingest import events, judge
from ktsafe.stream.ingest.events import REASONS, MalformedEvent
from ktsafe.stream.ingest.judge import Judge

SCHEMA = Schema(("gender",), "health", frozenset({"ill"}))
TIME = "2026-01-01T00:00:00Z"
BODIES = [
    ("vertex.upsert", {"id": "p1", "attributes": {"gender": "f", "age": None}}),
    ("vertex.delete", {"id": "p1"}),
    ("edge.add", {"source": "p1", "target": "p2"}),
    ("edge.remove", {"source": "p1", "target": "p2"}),
]
decode = judge.decode


def record(value, headers=()):
    return Record("feed", 0, 0, 1, None, value, headers)


def structured(kind, data, **more):
    context = {"specversion": "1.0", "id": "e1", "source": "/app", "type": kind, "time": TIME}
    return record(json.dumps(context | {"data": data} | more).encode())


def binary(kind, data, **more):
    headers = {"ce_specversion": "1.0", "ce_id": "e1", "ce_source": "/app"}
    headers |= {"ce_type": kind, "ce_time": TIME} | more
    pairs = [(name, text.encode()) for name, text in headers.items()]
    return record(json.dumps(data).encode(), pairs)


@pytest.mark.parametrize("wrap", [structured, binary])
@pytest.mark.parametrize("prefix", ["", "org.example."])
@pytest.mark.parametrize(("kind", "data"), BODIES)
def test_an_envelope_carries_the_event_of_a_plain_record(wrap, prefix, kind, data):
    """Type, time and fields are those of the plain record; a producer's prefix is dropped."""
    plain = events.decode(json.dumps({"type": kind, "time": TIME} | data).encode())
    assert decode(wrap(prefix + kind, data)) == plain


def test_a_plain_record_is_decoded_as_ever():
    """A record without a version of CloudEvents is none, whatever is in an attribute."""
    for more in ('"id":"p1"', '"id":"p1","attributes":{"specversion":"1.0"},"data":1'):
        value = f'{{"type":"vertex.upsert",{more}}}'.encode()
        assert decode(record(value)) == events.decode(value)


def test_envelopes_and_plain_records_may_come_mixed():
    """Each is known by itself: the id of an envelope is never taken for that of a person."""
    mixed = [record(f'{{"type":"vertex.delete","id":"p0","time":"{TIME}"}}'.encode())]
    for escaped in (b"specversion", b"\\u0073pecversion"):
        value = structured("vertex.delete", {"id": "p1"}).value
        mixed.append(record(value.replace(b"specversion", escaped)))
    # Its data would be a plain event of another time.
    mixed.append(binary("vertex.delete", {"type": "vertex.delete", "id": "p1", "time": 0}))
    judged = Judge(SCHEMA, record_bytes_max=10_000).judge(mixed)
    assert not judged.letters
    assert [change.id for change in judged.changes] == ["p0", "p1", "p1", "p1"]
    assert len({change.stamp.time_us for change in judged.changes}) == 1


def test_the_time_of_the_envelope_counts():
    """A time inside the data is ignored; without one the record's own timestamp will count."""
    assert decode(structured("vertex.delete", {"id": "a", "time": 5})).time.year == 2026
    bare = json.dumps({"specversion": "1.0", "type": "vertex.delete", "data": {"id": "a"}})
    assert decode(record(bare.encode())).time is None


@pytest.mark.parametrize("wrap", [structured, binary])
def test_a_leap_second_is_the_end_of_its_minute(wrap):
    """Wherever the time of the envelope stands."""
    name = "time" if wrap is structured else "ce_time"
    found = decode(wrap("vertex.delete", {"id": "a"}, **{name: "2026-12-31T23:59:60Z"})).time
    assert found == datetime.datetime(2026, 12, 31, 23, 59, 59, 999_999, datetime.UTC)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record(b"SECRET"), "malformed_json"),
        (record(b'{"type":"vertex.delete","id":"SECRET","specversion":"1.0"}'), "missing_field"),
        (record(b'{"type":"vertex.delete","id":"SECRET","specversion":1}'), "wrong_type"),
        (record(b'{"specversion":"1.0","type":"vertex.delete"}'), "missing_field"),
        (structured("SECRET", {"id": "a"}), "unknown_event_type"),
        (structured("vertex.delete", {"id": 7}), "wrong_type"),
        (structured("vertex.delete", {}), "missing_field"),
        (structured("vertex.delete", "SECRET"), "wrong_type"),
        (structured("vertex.delete", {"id": "a"}, specversion="0.3"), "wrong_type"),
        (structured("vertex.delete", {"id": "a"}, time="SECRET"), "bad_time"),
        (structured("vertex.delete", {"id": "a"}, time="2026-01-01T00:00:00"), "bad_time"),
        (binary("vertex.delete", {"id": "a"}, ce_time="SECRET"), "bad_time"),
        (binary("SECRET", {"id": "a"}), "unknown_event_type"),
        (
            record(structured("vertex.delete", {"id": "a"}).value[:-1] + b',"more":1,"more":2}'),
            "repeated_key",
        ),
        (record(b'{"id":"a","id":"SECRET"}', binary("vertex.delete", {}).headers), "repeated_key"),
        (
            record(b'{"id":"a"}', [*binary("vertex.delete", {}).headers, ("ce_time", b"SECRET")]),
            "repeated_key",
        ),
        (record(b"{}", [("ce_specversion", b"1.0")]), "missing_field"),
        (record(b"{}", [("ce_specversion", b"\xff"), ("ce_type", b"edge.add")]), "not_utf8"),
    ],
)
def test_bad_envelopes_have_a_reason_without_values(bad, reason):
    """The reason is of the fixed list, and neither it nor its detail repeats the record."""
    with pytest.raises(MalformedEvent) as caught:
        decode(bad)
    assert caught.value.reason == reason
    assert reason in REASONS
    assert "SECRET" not in str(caught.value)
