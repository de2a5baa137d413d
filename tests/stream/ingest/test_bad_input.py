"""Bad input among good: each record has its reason or its effect, and the service goes on."""

import errno
import hashlib
import json
import os
from base64 import b64decode

from ktsafe.connectors.files import FileDeadLetterSink, FileSource
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.ingest.events import REASONS
from ktsafe.stream.observer import Observer
from tests import bad_input, feeds
from tests.bad_input import BAD, Bad, vertex
from tests.stream.service.simulation import World, event

FILE_BAD = [
    *BAD,
    Bad("no_time", "neither event nor record has one", vertex(time="null")),
    Bad("ahead_of_time", "ahead of what follows it", vertex(time="253402300799000")),
]
BIG = Bad("too_large", "over 1048576 bytes", bad_input.big())
OTHER = [None, event("vertex.upsert", 15, "flo", gender="f")]
VALID = [[*bad_input.EARLY, *bad_input.LATE], OTHER[1:]]
PREFIX = "__connect.errors."


def check(world, tmp_path):
    """The graph is the fold of the valid events, every slot has a release, all are kt-safe."""
    assert world.graph() == feeds.fold(VALID, bad_input.SCHEMA.attributes)
    times = [time_ms // 1000 for time_ms, _ in world.releases.releases.values()]
    assert times == [10, 20, 30, 40]
    for release_id, (_, files) in world.releases.releases.items():
        folder = tmp_path / "read" / release_id
        folder.mkdir(parents=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    assert run_command(["verify", str(tmp_path / "read")]) == Exit.OK


def files_world(tmp_path, values, letters):
    """Return a world whose feed are two files, and whose dead letters go to another."""
    world = World(tmp_path, [[]], schema=bad_input.SCHEMA)
    paths = [tmp_path / "feed-0.jsonl", tmp_path / "feed-1.jsonl"]
    paths[0].write_bytes(b"".join(value + b"\n" for value in values))
    paths[1].write_text(json.dumps(OTHER[1]))
    bytes_max = 1_048_576
    world.open_source = lambda: FileSource([str(p) for p in paths], record_bytes_max=bytes_max)
    world.open_dead_letters = lambda: FileDeadLetterSink(letters)
    return world


def run(world, **settings):
    return world.run(ingest={"batch_records_max": 7, "poll_timeout_s": 0.0}, **settings)


def lines_of(letters):
    return [json.loads(line) for line in letters.read_text().splitlines()]


def test_every_bad_record_has_its_reason_and_every_good_one_its_effect(tmp_path):
    """One feed with everything in it; reasons and details are exact and hold nothing of a value."""
    values = bad_input.mixed([bad.value for bad in FILE_BAD])
    world = World(tmp_path, [values, OTHER], schema=bad_input.SCHEMA)
    counts = run(world)
    found = [Bad(item.reason, item.detail, item.record.value) for item in world.letters]
    assert found == FILE_BAD
    assert [item.record.offset for item in world.letters] == bad_input.places(values)
    assert counts.applied == sum(map(len, VALID))
    assert (counts.ignored, counts.attributes_dropped) == (1, 1)
    assert counts.dead_letters.keys() == set(REASONS) - {"too_large", "unknown_row"}
    assert not any("SECRET" in item.reason + item.detail for item in world.letters)
    check(world, tmp_path)


def test_dead_letters_of_files_keep_the_bytes_and_name_no_value(tmp_path):
    """Lines of 10 MB leave their prefix, length and sha256, all others every byte."""
    bad = [FILE_BAD[0], BIG, *FILE_BAD[1:], BIG]
    values = bad_input.mixed([item.value for item in bad])
    letters = tmp_path / "dead" / "letters.jsonl"
    world = files_world(tmp_path, values, letters)
    run(world)
    lines = lines_of(letters)
    assert [line[PREFIX + "exception.class.name"] for line in lines] == [b.reason for b in bad]
    assert [line[PREFIX + "exception.message"] for line in lines] == [b.detail for b in bad]
    assert [int(line[PREFIX + "offset"]) for line in lines] == bad_input.places(values)
    for line, item in zip(lines, bad, strict=True):
        assert b64decode(line["value"]) == item.value[:524_288]
        assert line["length"] == len(item.value)
        whole = hashlib.sha256(item.value).hexdigest() if item is BIG else None
        assert line.get("sha256") == whole
        told = {name: value for name, value in line.items() if name.startswith(PREFIX)}
        assert "SECRET" not in json.dumps(told)
    check(world, tmp_path)


class Repair(Observer):
    """Mends the dead-letter sink once three writes have failed."""

    def __init__(self, mend):
        self.failures = 0
        self._mend = mend

    def retry(self, op):
        assert op == "dead_letter"
        self.failures += 1
        if self.failures == 3:
            self._mend()


def letters_after_an_outage(tmp_path, letters, mend):
    """Run the feed with a sink that `mend` mends; return the offsets found in the letters."""
    values = bad_input.mixed([bad.value for bad in FILE_BAD])
    world = files_world(tmp_path, values, letters)
    repair = Repair(mend)
    run(world, observer=repair)
    assert repair.failures == 3
    check(world, tmp_path)
    assert [int(line[PREFIX + "offset"]) for line in lines_of(letters)] == bad_input.places(values)


def test_ingest_waits_while_the_folder_of_dead_letters_is_missing(tmp_path):
    """A file stands where the folder should be: nothing passes until it is gone."""
    letters = tmp_path / "dead" / "letters.jsonl"
    letters.parent.write_text("in the way")
    letters_after_an_outage(tmp_path, letters, letters.parent.unlink)


def test_ingest_waits_while_the_disk_of_dead_letters_is_full(tmp_path, monkeypatch):
    """What a failed write left behind is cut off: every letter is there once."""
    letters = tmp_path / "dead" / "letters.jsonl"

    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("ktsafe.connectors.letters.os.fsync", full)
        letters_after_an_outage(tmp_path, letters, patch.undo)
