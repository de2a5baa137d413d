"""The published descriptions of events, releases and topics are those of the program."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.connectors.files import FileDeadLetterSink
from ktsafe.connectors.kafka_topics import chunks
from ktsafe.connectors.letters import PREFIX, error_fields, without_content
from ktsafe.graph.social_network import social_feed
from ktsafe.stream.files import releases_write
from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.events import MalformedEvent
from tests import sealed
from tests.bad_input import BAD, EARLY, LATE
from tests.stream.files.test_releases_write import small

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/schemas"
NAMES = sorted(path.name for path in FOLDER.glob("*.json"))
API = yaml.safe_load((ROOT / "docs/asyncapi.yaml").read_text(encoding="utf-8"))
NOT_EXPRESSED = {"malformed_json", "repeated_key", "not_utf8", "self_loop", "late"}
"""Reasons that lie outside of what a schema of one JSON document can say."""


@cache
def schema(name: str) -> Any:
    """Return what checks documents by one of the published schemas."""
    document = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(document)


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_one(name: str) -> None:
    """Each file is a schema of the draft that it names, and is called as it calls itself."""
    document = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["$schema"].endswith("2020-12/schema")
    assert document["$id"] == name
    assert document["description"]


def test_every_event_of_the_generated_feeds_is_valid() -> None:
    """What `ktsafe demo --feed-to` writes, and what the tests send, fits the schema."""
    feed = social_feed(people=60, days=200, rng=np.random.default_rng(1))
    found = [json.loads(msgspec.json.encode(event)) for event in feed]
    assert {event["type"] for event in found} == set(events.EVENT_TYPES)
    for event in [*found, *EARLY, *LATE]:
        schema("event").validate(event)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.reason} {bad.detail}")
def test_what_the_decoder_refuses_the_schema_refuses(bad: Any) -> None:
    """Every bad record of the collection, as far as a schema can tell."""
    try:
        document = json.loads(bad.value)
    except (ValueError, RecursionError):
        assert bad.reason in NOT_EXPRESSED | {"wrong_type"}
        return
    expressed = bad.reason not in NOT_EXPRESSED and "must be a number" not in bad.detail
    if b"9" * 1_000 in bad.value:
        expressed = False  # a number of thousands of digits is one to JSON
    assert schema("event").is_valid(document) != expressed


# What stands in quotes is for the program to spell. Half of a surrogate pair is no text at all.
texts = st.text(
    st.characters(exclude_characters="\"'", exclude_categories=["Cs"]), max_size=6
) | st.sampled_from(["\x00", "\x7f", "p1", " p1\n", " ", "x" * 1_025])
times = st.sampled_from(
    [
        None,
        0,
        5.5,
        -(10**15),
        10**12,
        1e12,
        10**14,
        "2026-01-01T00:00:00Z",
        "2026-01-01",
        "now",
        True,
    ]
)
documents = st.fixed_dictionaries(
    {"type": st.sampled_from([*events.EVENT_TYPES, "vertex", None])},
    optional={
        "id": texts | st.integers() | st.none(),
        "source": texts,
        "target": texts,
        "attributes": st.dictionaries(
            texts, texts | st.integers(-9, 9) | st.booleans() | st.none() | st.just([])
        )
        | st.none(),
        "time": times,
        "more": st.integers(),
    },
)


def accepted(document: Any) -> bool:
    """Return whether the service would take the event in, whatever its schema and its feed."""
    try:
        event = events.decode(json.dumps(document).encode())
        for name in ("id", "source", "target"):
            if hasattr(event, name):
                events.checked_id(getattr(event, name))
        for value in getattr(event, "attributes", {}).values():
            events.attribute_text(value)
        events.time_us(event.time, 10**12)
    except MalformedEvent:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(document=documents)
def test_schema_and_decoder_agree(document: Any) -> None:
    """Of any event-like document both say the same."""
    assert schema("event").is_valid(document) == accepted(document)


@pytest.mark.parametrize("half", ["\ud800", "a\udfff", "\udc00\ud800"])
def test_half_of_a_surrogate_pair_is_refused_anywhere(half: str) -> None:
    """JSON can escape it, and no text can hold it: the schema says so in words."""
    event = {"type": "vertex.upsert", "id": "p1", "time": "2026-01-01T00:00:00Z"}
    assert accepted(event)
    for more in ({"id": half}, {"attributes": {"a": half}}, {"attributes": {half: 1}}):
        assert not accepted(event | more)
    assert "half of a surrogate pair" in schema("event").schema["description"]


@pytest.mark.parametrize("guarantee", [releases_write.ALONE, releases_write.TOGETHER])
def test_manifests_are_valid_and_tell_nothing_else(tmp_path: Path, guarantee: Any) -> None:
    """What is written fits the schema, and a field that is not listed does not."""
    header = releases_write.ReleaseHeader(
        "000001-20260101T000000Z",
        "s",
        1_767_225_600_000_000,
        PrivacyParams(),
        guarantee,
    )
    releases_write.write_release(tmp_path / "r", small(), ["a", "b"], header)
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    schema("release-manifest").validate(manifest)
    for told in ({"inserted": 3}, {"params": manifest["params"] | {"seed": 1}}):
        assert not schema("release-manifest").is_valid(manifest | told)
    for missing in manifest:
        rest = {name: value for name, value in manifest.items() if name != missing}
        assert not schema("release-manifest").is_valid(rest)


def test_sealed_manifests_are_valid(tmp_path: Path) -> None:
    """Signed or not, first or later; and a seal has no other fields."""
    signed = sealed.sealed_releases(tmp_path / "signed", 2, sealed.signer(tmp_path))
    for folder in [*signed, *sealed.sealed_releases(tmp_path / "unsigned", 1)]:
        manifest = json.loads((folder / "manifest.json").read_text())
        schema("release-manifest").validate(manifest)
        told = manifest | {"seal": manifest["seal"] | {"made_at": 5}}
        assert not schema("release-manifest").is_valid(told)


def test_markers_are_valid() -> None:
    """The last record of a release in a topic fits its schema."""
    marker = chunks.Marker(1, "000001-a", "0" * 64, 2, 512, [("vertices.csv", 9)])
    document = json.loads(msgspec.json.encode(marker))
    schema("release-marker").validate(document)
    assert not schema("release-marker").is_valid(document | {"format": 2})


@pytest.mark.parametrize("bytes_max", [4, 1_000])
def test_dead_letters_are_valid(tmp_path: Path, bytes_max: int) -> None:
    """Lines of the file fit their schema: whole, cut, and without content."""
    path = tmp_path / "letters.jsonl"
    sink = FileDeadLetterSink(path, dead_letter_bytes_max=bytes_max)
    record = Record("feed", 0, 3, 5, b"key", b"no event", [("h", b"1")])
    bare = Record("feed", 0, 3, None, None, None)
    for reason in events.REASONS:
        for item in (record, bare, without_content(record)):
            sink.write([DeadLetter(item, reason, "at $")])
    sink.close()
    for line in path.read_text().splitlines():
        schema("dead-letter").validate(json.loads(line))
    assert not schema("dead-letter").is_valid({**json.loads(line), f"{PREFIX}value": "x"})


def references(node: Any) -> list[str]:
    """Return every `$ref` in a document."""
    if isinstance(node, dict):
        here = [node["$ref"]] if "$ref" in node else []
        return here + [ref for value in node.values() for ref in references(value)]
    if isinstance(node, list):
        return [ref for value in node for ref in references(value)]
    return []


def test_the_description_of_topics_is_sound() -> None:
    """AsyncAPI 3: every reference leads somewhere, every channel is used, every schema shown."""
    assert API["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= API["info"].keys()
    found = references(API)
    for reference in found:
        if reference.startswith("#/"):
            node = API
            for step in reference[2:].split("/"):
                node = node[step]
        else:
            assert (ROOT / "docs" / reference).is_file(), reference
    used = {operation["channel"]["$ref"] for operation in API["operations"].values()}
    assert used == {f"#/channels/{name}" for name in API["channels"]}
    assert {op["action"] for op in API["operations"].values()} == {"send", "receive"}
    shown = {ref.removeprefix("schemas/") for ref in found if ref.startswith("schemas/")}
    assert shown == set(NAMES) - {"dead-letter.schema.json", "configuration.schema.json"}


def test_headers_are_those_of_the_program() -> None:
    """What the description says of headers is what the connectors write."""
    shown = API["components"]["schemas"]
    release = chunks.part("r", 0, chunks.CHUNK, b"").headers()
    assert [name for name, _ in release] == shown["releaseHeaders"]["required"]
    kinds = shown["releaseHeaders"]["properties"]["kind"]["enum"]
    assert kinds == [chunks.CHUNK, chunks.MANIFEST, chunks.MARKER, chunks.WITHDRAWN]
    letter = DeadLetter(Record("t", 0, 0, 1, None, None), "late")
    headers = {f"{PREFIX}{name}" for name in error_fields(letter)}
    assert set(shown["errorHeaders"]["required"]) <= headers
    assert headers <= set(shown["errorHeaders"]["properties"])
    reasons = json.loads((FOLDER / "dead-letter.schema.json").read_text())["properties"]
    assert tuple(reasons[f"{PREFIX}exception.class.name"]["enum"]) == events.REASONS
