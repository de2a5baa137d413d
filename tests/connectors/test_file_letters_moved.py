"""Letters go to the file of the configured name, whatever was done to it meanwhile."""

import json
import shutil

import pytest

from ktsafe.connectors.base import Unavailable
from ktsafe.connectors.files import FileDeadLetterSink
from ktsafe.connectors.letters import PREFIX
from ktsafe_lab.contracts.letter_contract import letter


def offsets(path):
    return [int(json.loads(line)[f"{PREFIX}offset"]) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dead" / "letters.jsonl"


@pytest.fixture
def sink(path):
    sink = FileDeadLetterSink(path)
    sink.write([letter(1, b"x")])
    yield sink
    sink.close()


def test_letters_after_a_rotation_go_to_a_new_file(path, sink):
    """A file that was moved away keeps its letters and gets no more."""
    moved = path.with_suffix(".1")
    path.rename(moved)
    sink.write([letter(2, b"y")])
    assert (offsets(moved), offsets(path)) == ([1], [2])


def test_a_removed_folder_is_made_anew(path, sink):
    """Letters do not vanish into a file that has no name any more."""
    shutil.rmtree(path.parent)
    sink.write([letter(2, b"y")])
    assert offsets(path) == [2]


def test_a_folder_in_the_way_is_said_so(path, sink):
    """What cannot be put right by itself is `Unavailable`, and right again afterwards."""
    shutil.rmtree(path.parent)
    path.parent.write_text("in the way")
    with pytest.raises(Unavailable, match="Not a directory"):
        sink.write([letter(2, b"y")])
    path.parent.unlink()
    sink.write([letter(2, b"y")])
    assert offsets(path) == [2]
