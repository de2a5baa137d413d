"""Judgement of records."""

import json

import pytest

from ktsafe import Schema
from ktsafe.connectors.base import Record
from ktsafe.state.changes import EdgeAdd, EdgeRemove, Stamp, VertexDelete, VertexUpsert
from ktsafe.stream.ingest.judge import KINDS, Judge

SCHEMA = Schema(("gender", "age"), "health", frozenset({"ill"}), {"age": (18.0, 65.0)})
MOMENT_MS = 1_767_225_600_000
DECADES_MS = 20 * 365 * 86_400_000


def judged(*records, wall_ms=MOMENT_MS):
    judge = Judge(SCHEMA, record_bytes_max=1000, wall_us=lambda: wall_ms * 1000)
    return judge.judge(records)


def record(event, *, timestamp_ms=None, offset=4):
    value = event if isinstance(event, bytes | None) else json.dumps(event).encode()
    return Record("feed", 0, offset, timestamp_ms, None, value)


def reason(event, **place):
    found = judged(record(event, **place))
    assert found.changes == [None]
    return found.letters[0].reason


def test_each_event_becomes_its_change():
    """The four types map to the four changes, stamped with time and place of reading."""
    stamp = Stamp(MOMENT_MS * 1000, "feed", 0, 4)
    cases = [
        ({"type": "vertex.upsert", "id": "a"}, VertexUpsert(stamp, "a", {})),
        ({"type": "vertex.delete", "id": "a"}, VertexDelete(stamp, "a")),
        ({"type": "edge.add", "source": "a", "target": "b"}, EdgeAdd(stamp, "a", "b")),
        ({"type": "edge.remove", "source": "a", "target": "b"}, EdgeRemove(stamp, "a", "b")),
    ]
    found = judged(*(record({**event, "time": MOMENT_MS}) for event, _ in cases))
    assert found.changes == [change for _, change in cases]
    assert [KINDS[type(change)] for change in found.changes] == [e["type"] for e, _ in cases]


def test_attributes_outside_the_schema_are_dropped_and_counted():
    """Only listed attributes are kept; null stays, as missing."""
    event = {
        "type": "vertex.upsert",
        "id": "a",
        "time": MOMENT_MS,
        "attributes": {"gender": "f", "phone": "123", "health": None, "age": 40},
    }
    found = judged(record(b"x"), record(event))
    assert found.changes[1].attributes == {"gender": "f", "health": None, "age": "40"}
    assert found.dropped == {1: 1}


def test_a_null_value_is_ignored():
    """A Kafka tombstone changes nothing."""
    assert judged(record(None)) == ([None], {}, {})


def test_a_value_that_is_no_date_is_told_so():
    """Days since 1970, as Debezium writes dates, are a number where dates are asked for."""
    schema = Schema(("born",), "health", frozenset({"ill"}), {"born": ("2000-01-01",)})
    event = {"type": "vertex.upsert", "id": "a", "time": MOMENT_MS, "attributes": {"born": 7305}}
    found = Judge(schema, record_bytes_max=1000).judge([record(event)])
    assert found.letters[0].detail == "born must be a date such as 2020-01-31"
    event["attributes"]["born"] = "1990-01-01"
    assert Judge(schema, record_bytes_max=1000).judge([record(event)]).changes != [None]


def test_events_ahead_of_their_record_are_refused():
    """300 s ahead of a record's timestamp is too far; a line of a file has none."""
    event = {"type": "vertex.delete", "id": "a", "time": 300_000 + MOMENT_MS}
    assert judged(record(event, timestamp_ms=MOMENT_MS)).changes != [None]
    assert reason(event, timestamp_ms=MOMENT_MS - 1) == "ahead_of_time"
    assert judged(record(event)).changes != [None]


@pytest.mark.parametrize(
    ("timestamp_ms", "wall_ms"),
    [
        (0, MOMENT_MS),
        (-1, 0),
        (MOMENT_MS // 1000, MOMENT_MS),  # seconds
        (MOMENT_MS - DECADES_MS, MOMENT_MS),
        (MOMENT_MS - DECADES_MS, MOMENT_MS + DECADES_MS),
    ],
)
def test_a_timestamp_decades_away_from_all_else_is_no_clock(timestamp_ms, wall_ms):
    """It cannot say that an event is ahead; where nothing else has a time there is none."""
    event = {"type": "vertex.delete", "id": "a", "time": MOMENT_MS}
    assert judged(record(event, timestamp_ms=timestamp_ms), wall_ms=wall_ms).changes != [None]


@pytest.mark.parametrize("timestamp_ms", [0, MOMENT_MS // 1000, MOMENT_MS * 1000, 10**18])
def test_an_event_has_no_time_of_a_record_without_one(timestamp_ms):
    """Zero, seconds, microseconds and nanoseconds are no time; a backfilled one is."""
    event = {"type": "vertex.delete", "id": "a"}
    assert reason(event, timestamp_ms=timestamp_ms) == "no_time"
    past = judged(record(event, timestamp_ms=MOMENT_MS - DECADES_MS))
    assert past.changes[0].stamp.time_us == (MOMENT_MS - DECADES_MS) * 1000


def test_a_machine_without_a_clock_judges_no_timestamp():
    """What its clock says is no reason to refuse a record of today."""
    event = {"type": "vertex.delete", "id": "a"}
    assert judged(record(event, timestamp_ms=MOMENT_MS), wall_ms=5).changes != [None]


def test_a_wrong_date_is_ahead_of_a_sound_record():
    """That an event lies decades ahead of its record does not take the record's word from it."""
    event = {"type": "vertex.delete", "id": "a", "time": MOMENT_MS + 2 * DECADES_MS}
    assert reason(event, timestamp_ms=MOMENT_MS) == "ahead_of_time"


def test_ids_and_values_are_spelt_as_by_every_door():
    """Blanks, quotes, whole fractions and booleans: one text, whatever the producer wrote."""
    events = [
        {"type": "vertex.upsert", "id": " a ", "attributes": {"gender": '"f"', "health": " "}},
        {"type": "vertex.upsert", "id": "747.0", "attributes": {"gender": 1.0, "health": True}},
        {"type": "edge.add", "source": "'747'", "target": "a\n"},
    ]
    upsert, other, tie = judged(*(record({**e, "time": MOMENT_MS}) for e in events)).changes
    assert (upsert.id, upsert.attributes) == ("a", {"gender": "f", "health": None})
    assert (other.id, other.attributes) == ("747", {"gender": "1", "health": "true"})
    assert {tie.source, tie.target} == {"747", "a"}
    tie = {"type": "edge.add", "source": "5", "target": " 5.0", "time": MOMENT_MS}
    assert reason(tie) == "self_loop"
    lost = {"type": "vertex.delete", "id": "9007199254740993.0", "time": MOMENT_MS}
    assert reason(lost) == "bad_id"


def test_bad_records_change_nothing_of_those_beside_them():
    """Judged together, each has the verdict that it has alone."""
    tie = {"type": "edge.add", "source": "a", "target": "b", "time": MOMENT_MS}
    beside = [None, b"x", b"x" * 1001, {**tie, "target": "a"}, {**tie, "target": ""}, tie]
    records = [record(event, offset=n) for n, event in enumerate([tie, *beside, tie])]
    alone = [judged(each) for each in records]
    together = judged(*records)
    assert together.changes == [each.changes[0] for each in alone]
    assert together.letters == {n: each.letters[0] for n, each in enumerate(alone) if each.letters}
    assert sorted(together.letters) == [2, 3, 4, 5]
