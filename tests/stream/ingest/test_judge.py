"""Judgement of records."""

import json

import pytest

from ktsafe import Schema
from ktsafe.connectors.base import Record
from ktsafe.state.changes import EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.stream.ingest.judge import KINDS, Judge

SCHEMA = Schema(("gender", "age"), "health", frozenset({"ill"}), {"age": (18.0, 65.0)})


def judged(*records):
    return Judge(SCHEMA, record_bytes_max=1000).judge(records)


def record(event, *, timestamp_ms=None, offset=4):
    value = event if isinstance(event, bytes | None) else json.dumps(event).encode()
    return Record("feed", 0, offset, timestamp_ms, None, value)


def reason(event, **place):
    found = judged(record(event, **place))
    assert found.changes == [None]
    return found.letters[0].reason


def test_each_event_becomes_its_change():
    """The four types map to the four changes, stamped with time and place of reading."""
    stamp = Stamp(5000, "feed", 0, 4)
    cases = [
        ({"type": "vertex.upsert", "id": "a"}, VertexUpsert(stamp, "a", {})),
        ({"type": "vertex.delete", "id": "a"}, VertexDelete(stamp, "a")),
        ({"type": "edge.add", "source": "a", "target": "b"}, EdgeAdd(stamp, "a", "b")),
        ({"type": "edge.remove", "source": "a", "target": "b"}, EdgeRemove(stamp, "a", "b")),
    ]
    found = judged(*(record({**event, "time": 5}) for event, _ in cases))
    assert found.changes == [change for _, change in cases]
    assert [KINDS[type(change)] for change in found.changes] == [e["type"] for e, _ in cases]


def test_attributes_outside_the_schema_are_dropped_and_counted():
    """Only listed attributes are kept; null stays, as missing."""
    event = {
        "type": "vertex.upsert",
        "id": "a",
        "time": 5,
        "attributes": {"gender": "f", "phone": "123", "health": None, "age": 40},
    }
    found = judged(record(b"x"), record(event))
    assert found.changes[1].attributes == {"gender": "f", "health": None, "age": "40"}
    assert found.dropped == {1: 1}


def test_a_null_value_is_ignored():
    """A Kafka tombstone changes nothing."""
    assert judged(record(None)) == ([None], {}, {})


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (b"x" * 1001, "too_large"),
        (b"x", "malformed_json"),
        ({"type": "edge.add", "source": "a", "target": "a", "time": 5}, "self_loop"),
        ({"type": "edge.add", "source": "a", "target": "", "time": 5}, "bad_id"),
        ({"type": "vertex.upsert", "id": "a\u0000", "time": 5}, "bad_id"),
        ({"type": "vertex.upsert", "id": "a"}, "no_time"),
        (
            {"type": "vertex.upsert", "id": "a", "time": 5, "attributes": {"age": "old"}},
            "bad_attribute",
        ),
        (
            {"type": "vertex.upsert", "id": "a", "time": 5, "attributes": {"gender": "x" * 1030}},
            "too_large",
        ),
    ],
)
def test_what_cannot_be_applied_is_a_dead_letter(event, expected):
    """Each defect has its own reason."""
    assert reason(event) == expected


def test_events_ahead_of_their_record_are_refused():
    """300 s ahead of a record's timestamp is too far; a line of a file has none."""
    event = {"type": "vertex.delete", "id": "a", "time": 300_000 + 10}
    assert judged(record(event, timestamp_ms=10)).changes != [None]
    assert reason(event, timestamp_ms=9) == "ahead_of_time"
    assert judged(record(event)).changes != [None]


def test_bad_records_change_nothing_of_those_beside_them():
    """Judged together, each has the verdict that it has alone."""
    tie = {"type": "edge.add", "source": "a", "target": "b", "time": 5}
    beside = [None, b"x", b"x" * 1001, {**tie, "target": "a"}, {**tie, "target": ""}, tie]
    records = [record(event, offset=n) for n, event in enumerate([tie, *beside, tie])]
    alone = [judged(each) for each in records]
    together = judged(*records)
    assert together.changes == [each.changes[0] for each in alone]
    assert together.letters == {n: each.letters[0] for n, each in enumerate(alone) if each.letters}
    assert sorted(together.letters) == [2, 3, 4, 5]
