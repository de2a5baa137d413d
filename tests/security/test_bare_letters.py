"""Dead letters give away only what was asked for, in a file and in a topic."""

from __future__ import annotations

import json
from base64 import b64decode

import msgspec
import pytest

from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.connectors.letters import BareLetters, without_content
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests import running, services
from tests.memory_connectors import Faults, MemoryDeadLetterSink

SECRET = Record(
    "feed", 2, 7, 1_000, b"secret-key", b'{"id":"secret-person"}', (("from", b"secret-host"),)
)


def test_a_bare_letter_keeps_place_and_reason_only():
    """Topic, partition, offset, time and reason stay; key, value and headers do not."""
    letters = []
    sink = BareLetters(MemoryDeadLetterSink(letters, Faults()))
    sink.write([DeadLetter(SECRET, "late", "older than the lateness bound")])
    sink.close()
    (letter,) = letters
    bare = {"key": None, "value": None, "headers": ()}
    kept = msgspec.structs.replace(letter.record, **bare)
    assert kept == msgspec.structs.replace(SECRET, **bare)
    assert (letter.reason, letter.detail) == ("late", "older than the lateness bound")
    assert b"secret" not in repr(letter).encode()


def test_no_content_means_none():
    """Nothing but the length is told of the value: not even its hash."""
    record = without_content(SECRET)
    assert (record.key, record.value) == (None, b"")
    assert dict(record.headers) == {"ktsafe.payload": b"none", "ktsafe.length": b"22"}


@pytest.mark.parametrize("payload", ["full", "none"])
def test_the_option_reaches_the_file(tmp_path, capsys, payload):
    """The file holds the content or none; `status --dead-letters` shows it; erasure blanks it."""
    feed = [*services.small_feed(people=30), {"type": "vertex.upsert", "id": ["secret-person"]}]
    place = running.files_site(tmp_path / "site", [feed], services.ATTRIBUTES, "month")
    path = 'path = "dead-letters.jsonl"'
    text = place.config.read_text()
    assert path in text
    place.config.write_text(text.replace(path, f'{path}\npayload = "{payload}"'))
    assert run_command(["run", str(place.config), "--drain"]) == Exit.OK
    (line,) = (place.folder / "dead-letters.jsonl").read_text().splitlines()
    is_there = payload == "full"
    assert (b"secret-person" in b64decode(json.loads(line)["value"])) == is_there
    capsys.readouterr()
    assert run_command(["status", "--dead-letters", str(place.config)]) == Exit.OK
    (shown,) = capsys.readouterr().out.splitlines()
    assert "wrong_type at $.id" in shown
    assert ("secret-person" in shown) == is_there
    assert run_command(["status", "--dead-letters", str(place.config), "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == json.loads(line)
    table, site = place.settings.config.dead_letters, place.settings.site
    assert table.erase(site, ["secret-person"]) == is_there
