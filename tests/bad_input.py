"""One feed with every kind of bad input among valid events, and what must come of each record."""

from __future__ import annotations

import json
from typing import NamedTuple

from ktsafe import Schema
from tests import feeds
from tests.stream.service.simulation import event

SCHEMA = Schema(
    ("gender", "age"),
    "health",
    frozenset({"ill"}),
    {"age": (18.0, 65.0)},
    expect_absent=frozenset({"ill", "gender", "age", "health"}),
)
BIG_BYTES = 10 * 1024 * 1024
TIME = '"1970-01-01T00:00:09Z"'


EPOCH = "a number before 1990: milliseconds are meant"


class Bad(NamedTuple):
    """A record that must end in the dead letters, with the reason and place it must have there."""

    reason: str
    detail: str
    value: bytes


def vertex(fields: str = "", *, time: str = TIME, vertex_id: str = '"SECRET"') -> bytes:
    """Return the JSON of a vertex event."""
    return f'{{"type":"vertex.upsert","id":{vertex_id},"time":{time}{fields}}}'.encode()


def edge(source: str, target: str) -> bytes:
    """Return the JSON of an edge event."""
    return f'{{"type":"edge.add","source":{source},"target":{target},"time":{TIME}}}'.encode()


def attribute(value: str, name: str = "gender") -> bytes:
    """Return the JSON of a vertex event with an attribute."""
    return vertex(f',"attributes":{{"{name}":{value}}}')


BAD = [
    Bad("malformed_json", "", b""),
    Bad("malformed_json", "", b'{"type":"vertex.upsert","id":"SECRET"'),
    Bad("malformed_json", "", b"SECRET,f,well"),
    Bad("malformed_json", "", b"\xef\xbb\xbf" + vertex()),  # a byte order mark
    Bad("malformed_json", "", vertex() + vertex()),
    Bad("malformed_json", "", vertex(vertex_id='"SECRET\x00"')),
    Bad("malformed_json", "", vertex(vertex_id='"\\ud800SECRET"')),  # a lone surrogate, escaped
    Bad("malformed_json", "", attribute('"\\udc00"')),
    Bad("malformed_json", "", attribute("NaN")),
    Bad("malformed_json", "", vertex(',"x":' + "[" * 100_000)),
    Bad("not_utf8", "", vertex().replace(b"SECRET", b"SECRET\xff")),
    Bad("not_utf8", "", vertex().replace(b"SECRET", b"\xed\xa0\x80")),  # and as bytes
    Bad("unknown_event_type", "at $.type", vertex().replace(b"upsert", b"insert")),
    Bad("unknown_event_type", "at $.type", b'{"type":null,"id":"SECRET","time":9}'),
    Bad("missing_field", "at $", b"{}"),
    Bad("missing_field", "at $", b'{"id":"SECRET","time":9}'),
    Bad("missing_field", "at $", b'{"type":"vertex.delete","time":9}'),
    Bad("missing_field", "at $", b'{"type":"edge.add","source":"SECRET","time":9}'),
    Bad("wrong_type", "at $", b'["SECRET"]'),
    Bad("wrong_type", "at $", b"null"),
    Bad("wrong_type", "at $.id", vertex(vertex_id="7")),
    Bad("wrong_type", "at $.id", vertex(vertex_id="null")),
    Bad("wrong_type", "at $.target", edge('"ann"', '["SECRET"]')),
    Bad("wrong_type", "at $.attributes", vertex(',"attributes":["SECRET"]')),
    Bad("wrong_type", "at $.attributes[...]", attribute('{"SECRET":1}')),
    Bad("wrong_type", "at $.attributes[...]", attribute("9" * 5_000)),
    Bad("bad_id", "empty", vertex(vertex_id='""')),
    Bad("bad_id", "control character", vertex(vertex_id='"SECRET\\u0000"')),
    Bad("bad_id", "control character", edge('"ann"', '"SECR\\nET"')),
    Bad("bad_id", "longer than 1024 bytes", vertex(vertex_id=f'"{"S" * 1_025}"')),
    Bad("bad_attribute", "control character", attribute('"SECRET\\u0000"')),
    Bad("bad_id", "control character", vertex(vertex_id='"SECRET\\u202e"')),
    Bad("bad_attribute", "control character", attribute('"SECR\\u2028ET"')),
    Bad("bad_attribute", "longer than 1024 bytes", attribute("9" * 4_000)),
    Bad("bad_attribute", "age must be a number", attribute('"SECRET"', "age")),
    Bad("self_loop", "", edge('"SECRET"', '"SECRET"')),
    Bad("bad_kind", "at $.kind", edge('"SECRET"', '"p1","kind":["SECRET"]')),
    Bad("bad_kind", "at $.directed", edge('"SECRET"', '"p1","directed":"SECRET"')),
    Bad("bad_time", "at $.time", vertex(time='"SECRET"')),
    Bad("bad_time", "at $.time", vertex(time='"1970-01-01T00:00:09"')),  # no offset from UTC
    Bad("bad_time", "at $.time", vertex(time='"10000-01-01T00:00:00Z"')),
    Bad("bad_time", "at $.time", vertex(time="9000.5")),
    Bad("bad_time", "outside the years 1 to 9999", vertex(time="9" * 30)),
    Bad("bad_time", EPOCH, vertex(time="9000")),
    Bad("bad_time", EPOCH, vertex(time="1767225600")),  # seconds
    Bad("bad_time", EPOCH, vertex(time="-999999999.0")),
    Bad("bad_time", "at $.time", vertex(time='"2026-12-31T23:58:60Z"')),  # no leap second
    Bad("repeated_key", "", vertex(',"id":"SECRET"')),
    Bad("repeated_key", "", vertex(',"\\u0069d":"SECRET"')),
    Bad("repeated_key", "", vertex(',"note":"a \\" b","note":1')),
    Bad("repeated_key", "", attribute('"f","gender":"f"')),
    Bad("repeated_key", "", edge('"ann"', '"bob","source":"cyd"')),
    Bad("late", "older than the lateness bound", vertex(time='"1969-12-20T10:13:20.001Z"')),
]
"""What is bad wherever it comes from."""


def big() -> bytes:
    """Return an event of 10 MB, sound but for its size."""
    return vertex(f',"note":"{"x" * BIG_BYTES}"')


EARLY: list[feeds.Event] = [
    event("vertex.upsert", 5, "ann", gender="f", health="well"),
    event("edge.add", 6, "cyd", "bob"),  # before both of its ends
    event("vertex.upsert", 7, "bob", gender="m", health="ill"),
    event("vertex.upsert", 7, "bob", gender="m", health="ill"),  # again
    event("edge.add", 8, "ann", "bob"),
    event("edge.add", 8, "bob", "ann"),  # the same tie, seen from the other end
    event("edge.remove", 9, "ann", "zoe"),  # never was
    event("vertex.delete", 9, "zoe"),  # neither was she
]
"""Valid events that come before the bad ones."""

LATE: list[feeds.Event] = [
    event("vertex.upsert", 12, "dan 💡 \u200d\u00a0'\",;\\", gender="Ω", phone="1"),
    event("vertex.upsert", 18, "ann", gender="x"),
    event("vertex.upsert", 16, "ann", gender="y", health="ill"),  # out of order
    event("edge.add", 19, "ann", "dan 💡 \u200d\u00a0'\",;\\"),
    event("vertex.upsert", 26, "eve", gender="f"),
    event("vertex.upsert", 24, "cyd", gender="f"),
    event("vertex.delete", 28, "bob"),
    event("edge.add", 27, "bob", "eve"),  # ended by the departure above
    event("edge.add", 33, "eve", "cyd"),
]
"""Valid events that come after them."""


def wire(item: feeds.Event) -> bytes:
    """Return a valid event as a record's value; every other producer ends its lines with CR."""
    end = b"\r" if feeds.time_us(item) % 2_000_000 else b""
    return json.dumps(item).encode() + end


def mixed(bad: list[bytes]) -> list[bytes]:
    """Return the whole feed as values of records: bad ones stand between any two of `LATE`."""
    values = [wire(item) for item in EARLY]
    share = -(-len(bad) // len(LATE))
    for number, item in enumerate(LATE):
        values += [*bad[number * share : (number + 1) * share], wire(item)]
    return values


def places(values: list[bytes]) -> list[int]:
    """Return the offsets of the bad records in a mixed feed."""
    valid = {wire(item) for item in (*EARLY, *LATE)}
    return [offset for offset, value in enumerate(values) if value not in valid]
