"""Dead letters give away only what was asked for, in a file and in a topic."""

from __future__ import annotations

import json
import stat
from base64 import b64decode

import msgspec
import pytest
from cryptography.fernet import Fernet
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.base import DeadLetter, Record
from connectors.errors import Misconfigured
from connectors.files import FileDeadLetterSink, blank_dead_letters
from connectors.memory import Faults, MemoryDeadLetterSink
from connectors.sealed_letters import (
    SEALED_BYTES_MIN,
    SealedLetters,
    Sealer,
    new_key,
    sealer,
    without_content,
)
from stream.cli import run_command
from stream.config import settings as config
from stream.errors import Exit
from stream.service import assembly
from tests import services
from tests.trials import running

KEY = Fernet.generate_key().decode()
SECRET = Record(
    "feed", 2, 7, 1_000, b"secret-key", b'{"id":"secret-person"}', (("from", b"secret-host"),)
)


def written(seal):
    """Return a letter about the secret record as a sink got it."""
    letters = []
    sink = SealedLetters(MemoryDeadLetterSink(letters, Faults()), seal)
    sink.write([DeadLetter(SECRET, "late", "older than the lateness bound")])
    sink.close()
    (letter,) = letters
    return letter


@pytest.mark.parametrize(
    "seal", [without_content, Sealer(KEY, 65_536).seal], ids=["none", "encrypted"]
)
def test_a_sealed_letter_keeps_place_and_reason_only(seal):
    """Topic, partition, offset, time and reason stay; key, value and headers do not."""
    letter = written(seal)
    bare = {"key": None, "value": None, "headers": ()}
    kept = msgspec.structs.replace(letter.record, **bare)
    assert kept == msgspec.structs.replace(SECRET, **bare)
    assert (letter.reason, letter.detail) == ("late", "older than the lateness bound")
    assert b"secret" not in repr(letter).encode()


def test_no_content_means_none():
    """With "none" nothing but the length is told of the value: not even its hash."""
    record = written(without_content).record
    assert (record.key, record.value) == (None, b"")
    assert dict(record.headers) == {"ktsafe.payload": b"none", "ktsafe.length": b"22"}


records = st.builds(
    Record,
    st.just("feed"),
    st.just(0),
    st.integers(0, 9),
    st.none(),
    st.none() | st.binary(max_size=3_000),
    st.none() | st.binary(max_size=30_000),
    st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=3_000)), max_size=12),
)


@settings(max_examples=40, deadline=None)
@given(record=records, bound=st.sampled_from([SEALED_BYTES_MIN, 100_000]))
def test_whoever_has_the_key_reads_what_was_kept(record, bound):
    """A token fits its bound and holds a prefix of everything, with the length of the value."""
    box = Sealer(KEY, bound)
    sealed = box.seal(record)
    assert sealed.value is not None
    assert len(sealed.value) <= bound
    content = box.unseal(sealed.value)
    assert (content["key"] or b"") == (record.key or b"")[:1_024]
    assert (record.value or b"").startswith(content["value"] or b"")
    assert content["length"] == (None if record.value is None else len(record.value))
    if bound == 100_000:
        assert content["value"] == record.value
    with pytest.raises(Misconfigured, match="another key"):
        Sealer(Fernet.generate_key().decode(), bound).unseal(sealed.value)


def test_a_key_is_made_for_its_owner_and_never_overwritten(tmp_path):
    """A new key is private; letters sealed with an old one stay readable."""
    path = tmp_path / "key"
    new_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    sealer(str(path), None, 65_536)
    with pytest.raises(FileExistsError):
        new_key(path)
    assert run_command(["letters", "key", str(path)]) == Exit.USAGE
    assert run_command(["letters", "key", str(tmp_path / "other")]) == Exit.OK
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "mode", "bound", "words"),
    [
        ("secret", 0o600, 65_536, "32 random bytes"),
        ("", 0o600, 65_536, "holds no secret"),
        (KEY, 0o644, 65_536, "chmod 600"),
        (KEY, 0o600, 1_000, "at least 16384"),
    ],
    # The key is random, and no name of a test.
    ids=["no key", "empty", "public", "too small a bound"],
)
def test_what_is_no_key_is_refused_without_repeating_it(tmp_path, text, mode, bound, words):
    """A key that cannot be used, or that everybody may read, stops the start."""
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(Misconfigured, match=words) as caught:
        sealer(str(path), None, bound)
    assert not text or text not in str(caught.value)


def test_erasure_reaches_into_sealed_letters(tmp_path):
    """With the key, letters that name a person are blanked; others stay; without it none is."""
    path, box = tmp_path / "letters.jsonl", Sealer(KEY, 65_536)
    sink = SealedLetters(FileDeadLetterSink(path), box.seal)
    other = msgspec.structs.replace(SECRET, key=None, value=b'{"id":"somebody"}', headers=())
    sink.write([DeadLetter(record, "late") for record in (SECRET, other)])
    sink.close()

    def text(token: bytes) -> bytes:
        return box.unseal(token)["value"]

    words = [b"secret-person"]
    assert blank_dead_letters(path, words) == 0
    assert blank_dead_letters(path, words, text) == 1
    first, second = map(json.loads, path.read_text().splitlines())
    assert first["value"] is None
    assert text(b64decode(second["value"])) == other.value


def site(tmp_path, more):
    """Return a service whose feed has a record that cannot be applied, naming somebody."""
    feed = [*services.small_feed(people=30), {"type": "vertex.upsert", "id": ["secret-person"]}]
    place = running.files_site(tmp_path / "site", [feed], services.ATTRIBUTES, "month")
    path = 'path = "dead-letters.jsonl"'
    text = place.config.read_text()
    assert path in text
    place.config.write_text(text.replace(path, f"{path}\n{more}"))
    return place


@pytest.mark.parametrize("payload", ["full", "none", "encrypted"])
def test_the_service_seals_its_letters(tmp_path, capsys, payload):
    """The option reaches the file: content, none, or a token; `ktsafe letters read` opens it."""
    (tmp_path / "site.key").touch(mode=0o600)
    (tmp_path / "site.key").write_text(KEY)
    key = 'key_file = "../site.key"' if payload == "encrypted" else ""
    place = site(tmp_path, f'payload = "{payload}"\n{key}')
    assert run_command(["run", str(place.config), "--drain"]) == Exit.OK
    (line,) = (place.folder / "dead-letters.jsonl").read_text().splitlines()
    value = b64decode(json.loads(line)["value"])
    capsys.readouterr()
    assert run_command(["letters", "read", str(place.config)]) == Exit.OK
    (shown,) = capsys.readouterr().out.splitlines()
    assert "wrong_type at $.id" in shown
    assert ("secret-person" in shown) == (payload != "none")
    assert run_command(["letters", "read", str(place.config), "--json"]) == Exit.OK
    read = json.loads(capsys.readouterr().out)
    assert (b"secret-person" in b64decode(read["value"])) == (payload != "none")
    if payload == "encrypted":
        value = Sealer(KEY, 524_288).unseal(value)["value"]
        assert assembly.erase_dead_letters(place.settings, ["secret-person"]) == 1
    assert (b"secret-person" in value) == (payload != "none")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('payload = "encrypted"', "key_file or key_env"),
        ('key_file = "x"', 'payload = "encrypted"'),
        ('payload = "encrypted"\nkey_file = "nowhere"', "cannot be read"),
    ],
)
def test_config_check_names_what_is_missing(tmp_path, capsys, more, words):
    """A key that is missing, or not asked for, is found without starting anything."""
    place = site(tmp_path, more)
    assert run_command(["config", "check", str(place.config)]) == Exit.USAGE
    assert words in capsys.readouterr().err


def test_the_key_itself_does_not_stand_in_the_configuration(tmp_path):
    """There is no setting for the key, only for its place."""
    place = site(tmp_path, f'key = "{KEY}"')
    with pytest.raises(config.ConfigError) as caught:
        config.load(place.config)
    assert KEY not in str(caught.value)
