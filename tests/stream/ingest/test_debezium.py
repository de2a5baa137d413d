"""Debezium's envelopes become the events that a producer of ours would have sent."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import Schema
from ktsafe.connectors.base import Record
from ktsafe.stream.config import settings as config
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.ingest import debezium, envelopes, events
from ktsafe.stream.ingest.events import REASONS, MalformedEvent
from ktsafe.stream.ingest.judge import Judge
from ktsafe.stream.observer import Observer
from tests import feeds
from tests.configurations import KEPT_IN_FILES
from tests.stream.service.simulation import World

ABSENT = frozenset({"ill", "gender", "age", "health"})
SCHEMA = Schema(("gender", "age"), "health", frozenset({"ill"}), expect_absent=ABSENT)
TABLES: dict[str, Any] = {
    "vertices": [
        {
            "table": "public.people",
            "id": "person_id",
            "attributes": {"gender": "sex", "age": "age", "health": "diagnosis"},
        }
    ],
    "edges": [{"table": "friends", "source": "a", "target": "b"}],
}
decode = envelopes.decoder(msgspec.convert(TABLES, debezium.Tables))
TIME_MS = 1_767_225_600_000
SOURCE = {
    "version": "3.2.0.Final",
    "connector": "postgresql",
    "name": "shop",
    "ts_ms": TIME_MS,
    "snapshot": "false",
    "db": "shop",
    "sequence": '["24023119","24023128"]',
    "ts_us": TIME_MS * 1000 + 250,
    "ts_ns": TIME_MS * 1_000_000 + 250_000,
    "schema": "public",
    "table": "people",
    "txId": 555,
    "lsn": 24023128,
    "xmin": None,
}
ANN = {"person_id": 7, "sex": "f", "age": 31, "diagnosis": None, "email": "SECRET"}
TIE = {"a": 7, "b": 8, "since": 19_723}


def record(document: Any, *, wrapped: bool = False) -> Record:
    """Return a record as Debezium's JSON converter writes it, with its schema or without."""
    if wrapped:
        schema = {"type": "struct", "fields": [], "optional": False, "name": "shop.Envelope"}
        document = {"schema": schema, "payload": document}
    value = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Record("shop", 0, 0, TIME_MS + 1_000, b"key", value)


def change(
    op: str, before: Any, after: Any, table: str = "people", **source: Any
) -> dict[str, Any]:
    """Return an envelope."""
    return {
        "before": before,
        "after": after,
        "source": SOURCE | {"table": table} | source,
        "op": op,
        "ts_ms": TIME_MS + 400,
        "transaction": {"id": "555:24023128", "total_order": 1, "data_collection_order": 1},
    }


def plain(kind: str, **fields: Any) -> events.Event:
    """Return the event of a plain record."""
    time = feeds.iso(TIME_MS * 1000 + 250)
    return events.decode(json.dumps({"type": kind, "time": time} | fields).encode())


UPSERT = plain("vertex.upsert", id="7", attributes={"gender": "f", "age": 31, "health": None})


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (change("c", None, ANN), UPSERT),
        (change("r", None, ANN, snapshot="first"), UPSERT),
        (change("u", None, ANN), UPSERT),
        (change("u", ANN | {"age": 30}, ANN), UPSERT),
        (change("d", {"person_id": 7}, None), plain("vertex.delete", id="7")),
        (change("c", None, TIE, "friends"), plain("edge.add", source="7", target="8")),
        (
            change("u", TIE, TIE | {"since": 1}, "friends"),
            plain("edge.add", source="7", target="8"),
        ),
        (change("d", TIE, None, "friends"), plain("edge.remove", source="7", target="8")),
    ],
)
def test_rows_become_events(document: Any, expected: events.Event, wrapped: bool) -> None:
    """Each operation is its event, the time is the database's, unlisted columns stay out."""
    assert decode(record(document, wrapped=wrapped)) == expected


@pytest.mark.parametrize(
    "document",
    [
        change("c", None, ANN, "orders"),
        change("c", None, ANN, schema="audit"),
        {"status": "BEGIN", "id": "571:53195829", "ts_ms": TIME_MS, "event_count": None},
        {"status": "END", "id": "571:53195832", "ts_ms": TIME_MS, "event_count": 2},
    ],
)
def test_other_tables_and_transactions_change_nothing(document: Any) -> None:
    """What concerns no table of the graph is no event and no error."""
    assert decode(record(document)) is None


def test_a_long_value_that_was_not_told_stays() -> None:
    """The placeholder of a value that did not change is not taken for a value."""
    row = ANN | {"diagnosis": debezium.UNAVAILABLE}
    event = decode(record(change("u", None, row)))
    assert isinstance(event, events.VertexUpsertEvent)
    assert event.attributes == {"gender": "f", "age": 31}


def test_times_fall_back() -> None:
    """Microseconds of the database, else its milliseconds, else Debezium's own, else the record."""
    document = change("d", ANN, None)
    for missing, expected in (
        ("ts_us", TIME_MS * 1000),
        ("ts_ms", (TIME_MS + 400) * 1000),
    ):
        del document["source"][missing]
        event = decode(record(document))
        assert event is not None
        assert events.time_us(event.time, TIME_MS + 1_000) == expected
    del document["ts_ms"]
    event = decode(record(document))
    assert event is not None
    assert event.time is None


def test_a_tombstone_is_ignored_and_a_truncation_is_not_guessed() -> None:
    """After each deletion comes a null record; emptying a table names no row."""
    tables = msgspec.convert(TABLES, debezium.Tables)
    judge = Judge(SCHEMA, record_bytes_max=10**6, event_format=tables)
    null = msgspec.structs.replace(record(b""), value=None)
    documents = [change("c", None, ANN, "orders"), change("c", None, ANN), change("t", None, None)]
    judged = judge.judge([null, *map(record, documents)])
    assert [each is not None for each in judged.changes] == [False, False, True, False]
    assert {place: letter.reason for place, letter in judged.letters.items()} == {
        3: "unknown_event_type"
    }


BAD = [
    (b"SECRET", "malformed_json"),
    ({"SECRET": 1}, "missing_field"),
    ({"op": "c", "after": {"person_id": "SECRET"}}, "missing_field"),
    (change("SECRET", None, ANN), "unknown_event_type"),
    (change("m", None, ANN), "unknown_event_type"),
    (change("c", ANN, None), "missing_field"),
    (change("d", None, ANN), "missing_field"),
    (change("d", {"id": "SECRET"}, None), "missing_field"),
    (change("c", None, ANN | {"person_id": None}), "missing_field"),
    (change("c", None, ANN | {"person_id": ["SECRET"]}), "wrong_type"),
    (change("c", None, ANN | {"person_id": True}), "wrong_type"),
    (change("c", None, ANN | {"sex": {"SECRET": 1}}), "wrong_type"),
    (change("c", None, ["SECRET"]), "wrong_type"),
    (change("u", ANN | {"person_id": "SECRET"}, ANN), "wrong_type"),
    (change("u", TIE, TIE | {"b": "SECRET"}, "friends"), "wrong_type"),
    (change("c", None, {"a": "SECRET"}, "friends"), "missing_field"),
    (change("c", None, ANN, ts_us=10**30), "bad_time"),
    (change("c", None, ANN, ts_us=10**18), "bad_time"),
    (change("c", None, ANN, ts_us=TIME_MS), "bad_time"),
    (
        json.dumps(change("c", None, ANN)).replace('"sex"', '"age":"1","sex"').encode(),
        "repeated_key",
    ),
]


@pytest.mark.parametrize(("document", "reason"), BAD)
def test_bad_envelopes_have_a_reason_without_values(document: Any, reason: str) -> None:
    """The reason is of the fixed list, and neither it nor its detail repeats the record."""
    with pytest.raises(MalformedEvent) as caught:
        decode(record(document))
    assert caught.value.reason == reason
    assert reason in REASONS
    assert "SECRET" not in str(caught.value)


def test_the_service_makes_the_same_graph_of_a_database(tmp_path) -> None:
    """A small history of rows, tombstones and transactions among them, leaves the rows' graph."""
    at = iter(range(100))

    def told(op: str, before: Any, after: Any, table: str) -> bytes:
        moment = {"ts_us": TIME_MS * 1_000 + next(at) * 1_000_000}
        return json.dumps(change(op, before, after, table, **moment)).encode()

    people = {
        n: {"person_id": n, "sex": "fm"[n % 2], "age": 20, "diagnosis": "x"} for n in range(6)
    }
    log: list[bytes | None] = [told("r", None, row, "people") for row in people.values()]
    log += [told("c", None, {"a": n, "b": (n + 1) % 6}, "friends") for n in range(6)]
    log += [told("u", None, people[0] | {"sex": "x"}, "people"), b'{"status":"BEGIN","id":"1"}']
    log += [told("d", {"a": 1, "b": 2}, None, "friends"), None]
    log += [told("d", {"person_id": 5}, None, "people"), None, told("c", None, TIE, "orders")]
    world = World(tmp_path, [log], schema=SCHEMA)
    tables = msgspec.convert(TABLES, debezium.Tables)
    counts = world.run(ingest={"event_format": tables, "batch_records_max": 4})
    vertices, edges = world.graph()
    assert {name: values["gender"] for name, values in vertices.items()} == {
        "0": "x",
        "1": "m",
        "2": "f",
        "3": "m",
        "4": "f",
    }
    assert edges == {("0", "1"), ("2", "3"), ("3", "4")}
    assert (counts.ignored, counts.dead_letters.total()) == (4, 0)
    assert len(world.releases.releases) >= 1


def test_what_a_database_does_not_tell_is_warned_of(caplog) -> None:
    """Once, when the source is made."""
    tables = msgspec.convert(TABLES, debezium.Tables)
    judge = Judge(SCHEMA, record_bytes_max=10**6, event_format=tables)
    judge.judge([record(change("c", None, ANN))] * 3)
    assert caplog.text.count("REPLICA IDENTITY FULL") == 1


def test_tables_that_are_not_configured_are_named(tmp_path, caplog) -> None:
    """A feed of other tables is told with their names; what is no such name is not repeated."""
    log = [json.dumps(change("c", None, ANN, f"orders{n % 30}")).encode() for n in range(40)]
    log.append(json.dumps(change("c", None, ANN, "SECRET person")).encode())
    world = World(tmp_path, [log], schema=SCHEMA)
    tables = msgspec.convert(TABLES, debezium.Tables)
    told: list[Collection[str]] = []

    class Told(Observer):
        def other_tables(self, names: Collection[str]) -> None:
            told.append(names)

    counts = world.run(ingest={"event_format": tables}, observer=Told())
    assert (counts.applied, counts.ignored) == (0, 41)
    assert len(told[-1]) == debezium.OTHER_TABLES_MAX
    assert "public.orders0" in told[-1]
    (line,) = (each for each in caplog.records if "no record of the feed" in each.message)
    assert line.fields["tables"].startswith("public.orders0,public.orders1,")
    assert "SECRET" not in caplog.text + str(line.fields)


BASE = (
    KEPT_IN_FILES
    + """
[attributes]
quasi_identifiers = ["gender", "age"]
sensitive = "health"
sensitive_values = ["ill"]
expect_absent = ["ill", "gender", "age", "health"]
[source]
kind = "files"
paths = ["rows.jsonl"]
"""
)
MAPPED = """
[[source.debezium.vertices]]
table = "public.people"
id = "person_id"
attributes = { gender = "sex" }
[[source.debezium.edges]]
table = "public.friends"
source = "a"
target = "b"
"""


def test_the_mapping_is_a_table_of_the_configuration(tmp_path) -> None:
    """Both kinds of tables are read; the source is read by them."""
    path = tmp_path / "ktsafe.toml"
    path.write_text(BASE + 'event_format = "debezium"\n' + MAPPED)
    wrapping = config.wrapping(config.load(path).config.source)
    assert isinstance(wrapping, debezium.Tables)
    assert wrapping.edges == (debezium.TieColumns("public.friends", "a", "b"),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BASE + 'event_format = "debezium"', "go together"),
        (BASE + MAPPED, "go together"),
        (BASE + 'event_format = "debezium"' + MAPPED.replace("gender", "hat"), "no attribute"),
        (BASE + 'event_format = "debezium"' + MAPPED.replace("id =", "key ="), "key"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(tmp_path, text: str, words: str) -> None:
    """What does not fit together, or to the schema, is named."""
    (tmp_path / "ktsafe.toml").write_text(text)
    with pytest.raises(ConfigError, match=words):
        config.load(tmp_path / "ktsafe.toml")


leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["people", "friends", "public", "SECRET", debezium.UNAVAILABLE, "c", "d"])
)
names = st.sampled_from(
    [
        *("payload", "op", "before", "after", "status"),
        *("source", "table", "schema", "ts_ms", "ts_us"),
        *("person_id", "sex", "a", "b"),
    ]
)
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6)
)
envelopes_alike = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["c", "r", "u", "d", "t"]) | anything,
        "source": st.fixed_dictionaries(
            {"table": st.sampled_from(["people", "friends"])},
            optional={"schema": st.just("public"), "ts_us": leaves, "ts_ms": leaves},
        ),
        "before": st.dictionaries(names, leaves) | anything,
        "after": st.dictionaries(names, leaves) | anything,
    }
)


@settings(max_examples=500, deadline=None)
@given(document=envelopes_alike | anything)
def test_whatever_comes_is_an_event_nothing_or_malformed(document: Any) -> None:
    """No document ends in another error, and the judge has a verdict on every one."""
    tables = msgspec.convert(TABLES, debezium.Tables)
    judged = Judge(SCHEMA, record_bytes_max=10**6, event_format=tables).judge([record(document)])
    assert len(judged.changes) == 1
    assert not judged.letters or judged.changes == [None]


@pytest.mark.parametrize("digits", [30, 4_000, 5_000])
def test_numbers_without_end_are_no_ids(digits: int) -> None:
    """Longer than Python would turn into text, or than an id may be: a reason, not a crash."""
    value = json.dumps(change("c", None, ANN)).replace("7", "7" * digits, 1).encode()
    tables = msgspec.convert(TABLES, debezium.Tables)
    judged = Judge(SCHEMA, record_bytes_max=10**6, event_format=tables).judge([record(value)])
    assert (judged.changes == [None]) == bool(judged.letters)
