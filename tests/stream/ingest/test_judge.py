"""Judgement of records."""

import json

import pytest

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.state.changes import EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.stream.ingest.judge import Accepted, Ignored, Judge

SCHEMA = Schema(("gender", "age"), "health", frozenset({"ill"}), {"age": (18.0, 65.0)})
P = ("feed", 0)
DAY_US = 86_400_000_000


def judge(clock=None, **settings):
    defaults = {"lateness_max_us": 7 * DAY_US, "record_bytes_max": 1000, "clocks": {P: clock}}
    return Judge(SCHEMA, **(defaults | settings))


def record(event, *, timestamp_ms=None, offset=4):
    value = event if isinstance(event, bytes | None) else json.dumps(event).encode()
    return Record("feed", 0, offset, timestamp_ms, None, value)


def reason(judgement):
    assert isinstance(judgement, DeadLetter)
    return judgement.reason


def test_each_event_becomes_its_change():
    """The four types map to the four changes, stamped with time and place of reading."""
    stamp = Stamp(5000, "feed", 0, 4)
    cases = [
        ({"type": "vertex.upsert", "id": "a"}, VertexUpsert(stamp, "a", {})),
        ({"type": "vertex.delete", "id": "a"}, VertexDelete(stamp, "a")),
        ({"type": "edge.add", "source": "a", "target": "b"}, EdgeAdd(stamp, "a", "b")),
        ({"type": "edge.remove", "source": "a", "target": "b"}, EdgeRemove(stamp, "a", "b")),
    ]
    for event, change in cases:
        judgement = judge().judge(record({**event, "time": 5}))
        assert isinstance(judgement, Accepted)
        assert judgement.change == change
        assert judgement.kind == event["type"]


def test_attributes_outside_the_schema_are_dropped_and_counted():
    """Only listed attributes are kept; null stays, as missing."""
    event = {
        "type": "vertex.upsert",
        "id": "a",
        "time": 5,
        "attributes": {"gender": "f", "phone": "123", "health": None, "age": 40},
    }
    judgement = judge().judge(record(event))
    assert judgement.change.attributes == {"gender": "f", "health": None, "age": "40"}
    assert judgement.attributes_dropped == 1


def test_a_null_value_is_ignored():
    """A Kafka tombstone changes nothing."""
    assert isinstance(judge().judge(record(None)), Ignored)


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
    assert reason(judge().judge(record(event))) == expected


def test_lateness_is_measured_against_the_partition():
    """An event at the bound is accepted, one microsecond beyond it is late."""
    clock = 100 * DAY_US
    at_bound = {"type": "vertex.delete", "id": "a", "time": 93 * 86_400_000}
    beyond = {**at_bound, "time": 93 * 86_400_000 - 1}
    assert isinstance(judge(clock).judge(record(at_bound)), Accepted)
    assert reason(judge(clock).judge(record(beyond))) == "late"
    assert isinstance(judge(None).judge(record(beyond)), Accepted)


def test_only_acceptance_moves_the_clock():
    """A judged record moves M_p when it is applied, not before, and never back."""
    mine = judge()
    mine.judge(record({"type": "vertex.delete", "id": "a", "time": 5}))
    assert mine.clock(P) is None
    mine.accept(P, 5000)
    mine.accept(P, 4000)
    assert mine.clock(P) == 5000


def test_events_ahead_of_their_record_are_refused():
    """300 s ahead of a record's timestamp is too far; a line of a file has none."""
    event = {"type": "vertex.delete", "id": "a", "time": 300_000 + 10}
    assert isinstance(judge().judge(record(event, timestamp_ms=10)), Accepted)
    assert reason(judge().judge(record(event, timestamp_ms=9))) == "ahead_of_time"
    assert isinstance(judge().judge(record(event)), Accepted)
