"""Files as dead-letter sink."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path

import pytest

from ktsafe.connectors.base import Unavailable
from ktsafe.connectors.files import FileDeadLetterSink, blank_dead_letters
from ktsafe.connectors.letters import PREFIX
from ktsafe_lab.contracts.letter_contract import BYTES_MAX, Found, LetterContract, letter


class FileLetterWorld:
    """A file of letters."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def sink(self) -> FileDeadLetterSink:
        return FileDeadLetterSink(self.path, dead_letter_bytes_max=BYTES_MAX)

    def letters(self) -> list[Found]:
        if not self.path.exists():
            return []
        return [parse(line) for line in self.path.read_bytes().splitlines()]


def parse(line: bytes) -> Found:
    fields = json.loads(line)

    def data(text: str | None) -> bytes | None:
        return None if text is None else base64.b64decode(text)

    return Found(
        fields[f"{PREFIX}topic"],
        int(fields[f"{PREFIX}partition"]),
        int(fields[f"{PREFIX}offset"]),
        fields[f"{PREFIX}exception.class.name"],
        fields[f"{PREFIX}exception.message"],
        data(fields["key"]),
        data(fields["value"]),
        fields.get("length"),
        fields.get("sha256"),
        tuple((name, base64.b64decode(value)) for name, value in fields["headers"]),
    )


class TestFileLetters(LetterContract):
    """Letters in a file."""

    @pytest.fixture
    def world(self, tmp_path: Path) -> FileLetterWorld:
        return FileLetterWorld(tmp_path / "sub" / "dead.jsonl")


def test_letters_are_private(tmp_path: Path) -> None:
    """The file is readable by its owner only."""
    sink = FileDeadLetterSink(tmp_path / "dead.jsonl")
    sink.write([letter(1, b"x")])
    sink.close()
    assert stat.S_IMODE((tmp_path / "dead.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize("torn", [b"", b"{", b'{"half": "' + b"x" * 200_000])
def test_a_torn_line_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    """A line that a crash left unfinished goes; the ones before stay."""
    world = FileLetterWorld(tmp_path / "dead.jsonl")
    sink = world.sink()
    sink.write([letter(offset, b"x") for offset in range(500)])
    sink.close()
    with world.path.open("ab") as file:
        file.write(torn)
    again = world.sink()
    again.write([letter(500, b"y")])
    again.close()
    assert [found.offset for found in world.letters()] == list(range(501))


def test_letters_that_hold_a_word_are_emptied(tmp_path: Path) -> None:
    """Those letters, and no others, lose their content; a torn line goes and is not counted."""
    world = FileLetterWorld(tmp_path / "dead.jsonl")
    sink = world.sink()
    values = [b'{"id": "ann"}', b'{"id": "ann-2"}', b'{"id": "bea"}']
    sink.write([letter(i, value) for i, value in enumerate(values)])
    sink.write([letter(3, b"{", headers=(("who", b"ann"),))])
    sink.close()
    with world.path.open("ab") as file:
        file.write(b'{"torn": "ann')
    assert blank_dead_letters(world.path, [b"ann"]) == 2
    found = world.letters()
    assert [one.value for one in found] == [None, *values[1:], None]
    assert [one.offset for one in found] == [0, 1, 2, 3]
    assert found[3].headers == ()
    assert stat.S_IMODE(world.path.stat().st_mode) == 0o600
    assert blank_dead_letters(world.path, [b"ann"]) == 0
    assert blank_dead_letters(tmp_path / "none", [b"ann"]) == 0


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters that could not be synced are cut off again and can be written later."""
    world = FileLetterWorld(tmp_path / "dead.jsonl")
    sink = world.sink()
    sink.write([letter(1, b"x")])
    with monkeypatch.context() as patch:

        def full(_descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(os, "fsync", full)
        with pytest.raises(Unavailable):
            sink.write([letter(2, b"y")])
    assert [found.offset for found in world.letters()] == [1]
    sink.write([letter(2, b"y")])
    assert [found.offset for found in world.letters()] == [1, 2]
    sink.close()


@pytest.mark.parametrize(
    "name", ["J\u00fcrgen\u00dfen42", "O'Bri/en9", 'a"b', "\U0001f600x", "ann"]
)
def test_a_person_is_found_under_escapes(tmp_path: Path, name: str) -> None:
    """As JSON writers escape: all of it, nothing, slashes, or an event inside another's string."""
    plain = json.dumps({"id": name}, ensure_ascii=False)
    spelled = "".join(f"\\u{unit:04X}" for unit in _units(name))
    texts = [
        plain,
        json.dumps({"id": name}),
        json.dumps({"id": name}).replace("/", "\\/"),
        f'{{"id":"{spelled}"}}',
        json.dumps({"payload": json.dumps({"id": name})}),
        f"\\n{name}, which is no JSON",
    ]
    other = json.dumps({"id": f"{name}2"})
    sink = FileDeadLetterSink(tmp_path / "letters.jsonl")
    sink.write([letter(i, text.encode()) for i, text in enumerate([*texts, other])])
    sink.close()
    assert blank_dead_letters(tmp_path / "letters.jsonl", [name.encode()]) == len(texts)
    left = [parse(line).value for line in (tmp_path / "letters.jsonl").read_bytes().splitlines()]
    assert left == [None] * len(texts) + [other.encode()]


def _units(text: str) -> list[int]:
    """Return the code units of a text in UTF-16."""
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
