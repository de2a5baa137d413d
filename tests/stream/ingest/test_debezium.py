"""Debezium's envelopes tell of rows, each by its key, and what is no row has a reason."""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import Schema
from ktsafe.connectors.base import Record
from ktsafe.state.changes import PersonRow, RowChange, Stamp, TableCleared, TieRow, Told
from ktsafe.stream.config import settings as config
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.ingest import debezium
from ktsafe.stream.ingest.events import REASONS, TIME_US_MIN
from ktsafe.stream.ingest.judge import JudgedRecords
from ktsafe.stream.observer import Observer
from tests.configurations import KEPT_IN_FILES
from tests.databases.tables import Column, Table, as_json, encoded
from tests.databases.tables import Told as ToldRow
from tests.stream.service.simulation import World

ABSENT = frozenset({"ill", "gender", "age", "health"})
SCHEMA = Schema(("gender", "age"), "health", frozenset({"ill"}), expect_absent=ABSENT)
TABLES = msgspec.convert(
    [
        {
            "table": "public.people",
            "columns": {"id": "person_id", "gender": "sex", "health": "diagnosis"},
        },
        {"table": "friends", "columns": {"source": "a", "target": "b", "kind": "kind"}},
    ],
    debezium.Tables,
)
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
TIE = {"a": 7, "b": 8, "kind": "friend", "since": 19_723}
KEY = b'{"k":1}'
STAMP = Stamp(TIME_MS * 1000 + 250, "shop", 0, 0)


def record(document: Any, *, wrapped: bool = False, key: bytes | None = KEY) -> Record:
    """Return a record as Debezium's JSON converter writes it, with its schema or without."""
    if wrapped:
        schema = {"type": "struct", "fields": [], "optional": False, "name": "shop.Envelope"}
        document = {"schema": schema, "payload": document}
        key = None if key is None else b'{"schema": {"type": "struct"}, "payload": %b}' % key
    value = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Record("shop", 0, 0, TIME_MS + 1_000, key, value)


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


def judged(*records: Record, schema: Schema = SCHEMA) -> JudgedRecords:
    """Return what a new judge makes of records."""
    return debezium.RowJudge(TABLES, schema, record_bytes_max=10**6).judge(records)


def told(document: Any, **how: Any) -> Told | None:
    """Return what one envelope tells, without a letter."""
    found = judged(record(document, **how))
    assert not found.letters
    return found.changes[0]


def row(table: str, said: PersonRow | TieRow | None, **more: Any) -> RowChange:
    """Return what is told of a row."""
    more = {"key": KEY, "position": 24023128, "is_of_ties": table == "friends"} | more
    return RowChange(STAMP, f"shop.public.{table}", row=said, **more)


SEVEN = PersonRow("7", {"gender": "f", "age": "31", "health": None})
FRIENDS = TieRow("7", "8", "friend", is_directed=False)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (change("c", None, ANN), row("people", SEVEN)),
        (change("r", None, ANN, snapshot="first"), row("people", SEVEN)),
        (change("u", None, ANN), row("people", SEVEN)),
        (change("u", ANN | {"age": 30}, ANN), row("people", SEVEN)),
        (change("d", {"person_id": 0}, None), row("people", None)),
        (change("d", None, None), row("people", None)),
        (change("c", None, TIE, "friends"), row("friends", FRIENDS)),
        (change("d", TIE, None, "friends"), row("friends", None)),
        (change("t", None, None, "friends"), TableCleared(STAMP, "shop.public.friends", 24023128)),
    ],
)
def test_an_envelope_tells_of_a_row(document: Any, expected: Told, wrapped: bool) -> None:
    """By its key, whatever `before` shows; unlisted columns stay out."""
    assert told(document, wrapped=wrapped) == expected


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
    """What concerns no table of the graph is nothing and no error; so is a tombstone."""
    null = msgspec.structs.replace(record(b""), value=None)
    assert judged(record(document), null) == JudgedRecords([None, None], {}, {})


def test_a_long_value_that_was_not_told_is_as_before() -> None:
    """The placeholder of a value that did not change is not taken for a value, nor for an id."""
    said = ANN | {"diagnosis": debezium.UNAVAILABLE, "person_id": debezium.UNAVAILABLE}
    expected = PersonRow(None, {"gender": "f", "age": "31"}, ("health",))
    assert told(change("u", None, said)) == row("people", expected)


def test_times_fall_back() -> None:
    """Of the database, else Debezium's own, else the record's; nonsense takes no row away."""
    document = change("d", ANN, None)

    def time_us() -> int:
        found = told(document)
        assert found is not None
        return found.stamp.time_us

    for missing, expected in (("ts_us", TIME_MS), ("ts_ms", TIME_MS + 400)):
        document["source"][missing] = 17
        assert time_us() == expected * 1000
    document["ts_ms"] = None
    assert time_us() == (TIME_MS + 1_000) * 1000
    value = json.dumps(document).encode()
    (found,) = judged(Record("shop", 0, 0, 0, KEY, value)).changes
    assert found is not None
    assert found.stamp.time_us == TIME_US_MIN


def test_a_row_without_a_key_goes_by_what_it_says() -> None:
    """A person's by the id, a tie's by all; what it was must be held, if it was something else."""
    by_id = {"key": b'{"person_id":7}', "needs_former": True}
    document = change("u", ANN | {"person_id": 9}, ANN)
    expected = row("people", SEVEN, former=b'{"person_id":9}', **by_id)
    assert told(document, key=None) == expected
    assert told(change("u", None, ANN), key=None) == row("people", SEVEN, **by_id)
    found = told(change("d", TIE, None, "friends"), key=None)
    assert found == row(
        "friends", None, key=b'{"a":7,"b":8,"kind":"friend","since":19723}', needs_former=True
    )
    (letter,) = judged(record(change("d", None, None), key=None)).letters.values()
    assert letter.reason == "missing_field"


TYPED = Table(
    "people",
    ("person_id",),
    (
        Column("person_id", not_null=True),
        Column("sex", "date"),
        Column("age", "numeric(10,2)"),
        Column("diagnosis", "boolean"),
    ),
)


@pytest.mark.parametrize("number", ["0.01", "-0.01", "-1.28", "1.28", "99999999.99", "7"])
def test_dates_and_decimals_are_read_by_the_schema(number: str) -> None:
    """A date is its text, a decimal its digits, as a dump of the table would have them."""
    born, age = datetime.date(1969, 12, 30), Decimal(number).quantize(Decimal("0.01"))
    row_of = {"person_id": 7, "sex": born, "age": age, "diagnosis": True}
    value = change("c", None, encoded(TYPED, row_of))
    key, told_value = as_json(
        ToldRow("people", {"person_id": 7}, value), TYPED, TIME_MS * 1000, 1, schemas=True
    )
    (found,) = judged(Record("shop", 0, 0, TIME_MS, key, told_value)).changes
    assert isinstance(found, RowChange)
    attributes = {"gender": "1969-12-30", "age": number, "health": "true"}
    assert found.row == PersonRow("7", attributes)


def test_a_type_without_a_text_is_refused_by_its_name() -> None:
    """The value is missing then, and the row holds all the same."""
    fields = [
        {
            "type": "int64",
            "optional": True,
            "name": "io.debezium.time.MicroDuration",
            "field": "age",
        },
        {"type": "bytes", "optional": True, "field": "sex"},
    ]
    schema = {
        "type": "struct",
        "fields": [{"type": "struct", "fields": fields, "field": "after"}],
    }
    document = {"schema": schema, "payload": change("c", None, ANN)}
    found = judged(record(document))
    assert found.changes == [
        row("people", PersonRow("7", {"gender": None, "age": None, "health": None}))
    ]
    assert found.letters[0].reason == "wrong_type"
    assert "MicroDuration" in found.letters[0].detail


def test_a_date_without_its_schema_is_refused_with_the_reason() -> None:
    """A number of days fits no border of dates; the letter says what would mend it."""
    schema = Schema(("gender", "age"), "health", frozenset({"ill"}), {"age": ("2000-01-01",)})
    found = judged(record(change("c", None, ANN)), schema=schema)
    assert found.letters[0].reason == "bad_attribute"
    assert "value.converter.schemas.enable" in found.letters[0].detail
    assert found.changes == [
        row("people", PersonRow("7", {"gender": "f", "age": None, "health": None}))
    ]


BAD = [
    (b"SECRET", "malformed_json"),
    ({"SECRET": 1}, "missing_field"),
    ({"op": "c", "after": {"person_id": "SECRET"}}, "missing_field"),
    (change("SECRET", None, ANN), "unknown_event_type"),
    (change("m", None, ANN), "unknown_event_type"),
    (change("c", ANN, None), "missing_field"),
    (change("c", None, ANN | {"person_id": None}), "missing_field"),
    (change("c", None, ANN | {"person_id": ["SECRET"]}), "wrong_type"),
    (change("c", None, ANN | {"person_id": True}), "wrong_type"),
    (change("c", None, ANN | {"person_id": "SECRET" * 400}), "bad_id"),
    (change("c", None, ANN | {"sex": {"SECRET": 1}}), "wrong_type"),
    (change("c", None, ["SECRET"]), "wrong_type"),
    (change("c", None, {"a": "SECRET"}, "friends"), "missing_field"),
    (change("c", None, TIE | {"b": 7}, "friends"), "self_loop"),
    (change("c", None, TIE | {"kind": "SECRET" * 20}, "friends"), "bad_kind"),
    (
        json.dumps(change("c", None, ANN)).replace('"sex"', '"age":"1","sex"').encode(),
        "repeated_key",
    ),
    (json.dumps(change("c", None, ANN)).replace('"op"', '"op":"d","op"').encode(), "repeated_key"),
]


@pytest.mark.parametrize(("document", "reason"), BAD)
def test_bad_envelopes_have_a_reason_without_values(document: Any, reason: str) -> None:
    """The reason is of the fixed list, and neither it nor its detail repeats the record."""
    (letter,) = judged(record(document)).letters.values()
    assert letter.reason == reason
    assert reason in REASONS
    assert "SECRET" not in letter.detail


@pytest.mark.parametrize(
    "said",
    [ANN | {"person_id": None}, ANN | {"person_id": "x" * 2000}, ANN | {"person_id": [1]}],
)
def test_a_row_that_is_refused_says_nothing_any_more(said: Any) -> None:
    """What it said before is not so: it is a letter, and the row is gone."""
    found = judged(record(change("u", None, said)))
    assert found.changes == [row("people", None)]
    assert list(found.letters) == [0]


def test_tables_that_are_not_listed_are_named(tmp_path, caplog) -> None:
    """A feed of other tables is told with their names; what is no such name is not repeated."""
    log = [json.dumps(change("c", None, ANN, f"orders{n % 30}")).encode() for n in range(40)]
    log.append(json.dumps(change("c", None, ANN, "SECRET person")).encode())
    world = World(tmp_path, [log], schema=SCHEMA)
    named: list[Collection[str]] = []

    class Names(Observer):
        def other_tables(self, names: Collection[str]) -> None:
            named.append(names)

    counts = world.run(ingest={"tables": TABLES}, observer=Names())
    assert (counts.applied, counts.ignored) == (0, 41)
    assert len(named[-1]) == debezium.OTHER_TABLES_MAX
    assert "public.orders0" in named[-1]
    (line,) = (each for each in caplog.records if "no record of the feed" in each.message)
    assert line.fields["tables"].startswith("public.orders0,public.orders1,")
    assert "SECRET" not in caplog.text + str(line.fields)


def test_a_table_that_matches_nothing_is_named_with_those_that_came(tmp_path, caplog) -> None:
    """People come and no tie does, since the table of ties has another name."""
    log = [json.dumps(change("c", None, ANN)).encode()]
    log += [json.dumps(change("c", None, TIE, "friendships")).encode()]
    World(tmp_path, [log], schema=SCHEMA).run(ingest={"tables": TABLES})
    (line,) = (each for each in caplog.records if "no row came" in each.message)
    assert line.fields["tables"] == "missing:friends,came:public.friendships"


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
LISTED = """
[[source.tables]]
table = "public.people"
columns = { id = "person_id", gender = "sex" }
[[source.tables]]
table = "public.friends"
columns = { source = "a", target = "b" }
"""


def test_the_list_of_tables_is_read(tmp_path) -> None:
    """Those of people and of ties; the source is read by them."""
    path = tmp_path / "ktsafe.toml"
    path.write_text(BASE + LISTED)
    people, ties = config.load(path).config.source.tables
    assert people == debezium.MirroredTable("public.people", {"id": "person_id", "gender": "sex"})
    assert ties == debezium.MirroredTable("public.friends", {"source": "a", "target": "b"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BASE + LISTED[LISTED.rindex("[[") :], "no table of people"),
        (BASE + LISTED + LISTED[LISTED.rindex("[[") :], "twice"),
        (BASE + LISTED.replace("gender", "hat"), "no attribute"),
        (BASE + LISTED.replace("id =", "hat ="), "id, or source"),
        (BASE + LISTED.replace(', target = "b"', ""), "id, or source and target"),
        (BASE + LISTED.replace('target = "b"', 'target = "b", hat = "c"'), "id, or source"),
        (BASE + LISTED.replace('target = "b"', 'target = "b", id = "c"'), "no attribute"),
        (BASE.replace('"age"]', '"age", "id"]') + LISTED, "'id' cannot name an attribute"),
    ],
)
def test_a_list_that_cannot_be_is_refused(tmp_path, text: str, words: str) -> None:
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
        *("payload", "schema", "op", "before", "after", "status"),
        *("source", "table", "ts_ms", "ts_us", "lsn", "file", "pos"),
        *("person_id", "sex", "a", "b", "kind"),
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


@settings(max_examples=300, deadline=None)
@given(document=envelopes_alike | anything, has_key=st.booleans(), schema=anything)
def test_whatever_comes_has_a_verdict(document: Any, has_key: bool, schema: Any) -> None:
    """No document ends in another error, with a key or without, and with any schema beside it."""
    key = KEY if has_key else None
    wrapped = {"schema": schema, "payload": document}
    found = judged(record(document, key=key), record(wrapped, key=key))
    assert len(found.changes) == 2


@pytest.mark.parametrize("digits", [30, 4_000, 5_000])
def test_numbers_without_end_are_no_ids(digits: int) -> None:
    """Longer than Python would turn into text, or than an id may be: a reason, not a crash."""
    value = json.dumps(change("c", None, ANN)).replace("7", "7" * digits, 1).encode()
    found = judged(record(value))
    (said,) = found.changes
    is_row = isinstance(said, RowChange) and said.row is not None
    assert is_row != bool(found.letters)
