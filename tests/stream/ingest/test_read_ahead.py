"""A process that reads and judges records beside the one that keeps the graph."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing, suppress
from functools import partial
from multiprocessing import Pipe
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.connectors.base import TopicPartition
from ktsafe.connectors.errors import SourceMismatch, Unavailable
from ktsafe.connectors.files import FileSource
from ktsafe.stream.ingest.ingest import NO_LIMIT_US
from ktsafe.stream.ingest.judge import Judge
from ktsafe.stream.ingest.read_ahead import (
    PROGRAM,
    ReadAhead,
    ReaderPlan,
    ReadRun,
    in_columns,
    plain,
)
from ktsafe.stream.ingest.reader_process import ReaderProcess
from ktsafe.stream.ingest.runs import PolledSource
from ktsafe.testing.source_contract import SourceContract
from tests import feeds
from tests.connectors.test_file_source import FileWorld
from tests.memory_connectors import MemoryLog, MemorySource
from tests.memory_store import MemoryStore
from tests.running import children, command_of
from tests.stream.ingest.test_ahead import DAY_US, SCHEMA, ingest_of

FEED = TopicPartition("feed", 0)


def plan_of(make_source):
    """Return a plan with a source."""
    return ReaderPlan(make_source, SCHEMA, 1_000, "plain", "warning", "text")


class ReadAheadWorld(FileWorld):
    """Files that another process reads."""

    def source(self):
        paths = [str(path) for path in self._paths]
        return ReadAhead(plan_of(partial(FileSource, paths, topic=self.topic, follow=self._follow)))


class TestReadAhead(SourceContract):
    """What it gives is what the source in the other process would give."""

    @pytest.fixture
    def world(self, tmp_path):
        return ReadAheadWorld(tmp_path, follow=True)


class Loopback:
    """Reads here, and passes runs on as they come from another process."""

    def __init__(self, source):
        self._here = PolledSource(source, Judge(SCHEMA, record_bytes_max=1_000))

    def read(self, timeout_s, records_max):
        """Return runs in columns."""
        passed = []
        for number, (partition, run) in enumerate(self._here.read(timeout_s, records_max)):
            run.judge_all()
            records = [plain(record) for record in run.records]
            given = in_columns(number, partition, run)
            passed.append((partition, ReadRun(given, lambda _, r=records: r)))
        return passed


def event(number, kind, time_us):
    """Return an event, or what is none."""
    person, other = f"p{number % 7}", f"p{(number + 1) % 7}"
    when = {"time": feeds.iso(time_us)}
    kinds = {
        "join": {"type": "vertex.upsert", "id": person, "attributes": {"gender": "f", "x": 1}},
        "leave": {"type": "vertex.delete", "id": person},
        "tie": {"type": "edge.add", "source": person, "target": other},
        "untie": {"type": "edge.remove", "source": other, "target": person},
    }
    if kind == "tombstone":
        return None
    return b"{" if kind == "bad" else json.dumps(kinds[kind] | when).encode()


KINDS = ["join", "join", "tie", "tie", "tie", "untie", "leave", "bad", "tombstone"]
GOOD = st.sampled_from(KINDS[:6])
EVENTS = st.lists(
    st.tuples(GOOD | st.sampled_from(KINDS), st.integers(0, 11), st.sampled_from([0, 1, 300])),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(
    EVENTS,
    st.sampled_from([3, 20, 100]),
    st.booleans(),
    st.sampled_from([NO_LIMIT_US, 25 * DAY_US, 45 * DAY_US]),
)
def test_what_comes_in_columns_is_taken_in_as_what_is_judged_here(
    events, at_once, is_clean, limit_us
):
    """Late, early, malformed and unlisted ones: the same graph, letters, positions and waiters."""
    log = MemoryLog(partitions=2)
    for number, (kind, day, ahead) in enumerate(events):
        if is_clean:
            done = "tie" if kind in {"bad", "tombstone"} else kind
            log.append(number % 2, event(number, done, (20 + day) * DAY_US + number))
        else:
            log.append(number % 2, event(number, kind, (20 + day + ahead) * DAY_US + number))
    found = []
    for reader_of in (None, Loopback):
        store, letters = MemoryStore(SCHEMA), []
        ingest = ingest_of(log, store, letters, at_once, reader_of)
        for _ in range(80):
            ingest.round(lambda _, time_us: time_us <= limit_us, limit_us)
            ingest.checkpoint()
        snapshot = store.snapshot()
        codes = snapshot.graph.codes.tolist()
        ties = snapshot.graph.edges.tolist()
        found.append(
            (snapshot.ids, codes, ties, letters, store.positions(), dict(ingest.undecided))
        )
    assert found[0] == found[1]


def test_what_was_read_ahead_of_a_pause_comes_again(tmp_path):
    """A partition gives nothing while it is paused, and all from there on when it goes on."""
    world = ReadAheadWorld(tmp_path, follow=True)
    for partition in range(2):
        world.write(partition, [b"%d:%d" % (partition, n) for n in range(40)])
    with closing(world.source()) as reader:
        reader.open({}, {})
        given = []
        while not given:
            given = reader.read(1.0, 10)
        reader.lag()  # Ends the read that goes on: it is held here now.
        assert any(run.changes.partition == 0 for run in reader._ahead)
        reader.pause(FEED, 3)
        values = [record.value for record in reader.poll(1.0, 10)]
        assert not any(value.startswith(b"0:") for value in values)
        reader.resume(FEED)
        while not (reader.at_end(FEED) and reader.at_end(TopicPartition("feed", 1))):
            values += [record.value for record in reader.poll(1.0, 10)]
        assert [v for v in values if v.startswith(b"0:")] == [b"0:%d" % n for n in range(3, 40)]
        assert len(set(values)) == len(values)


class Broken(MemorySource):
    """Fails once, after so many polls."""

    polls = 2

    def poll(self, timeout_s, records_max):
        """Return records, but one at a time."""
        self.polls -= 1
        if not self.polls:
            raise Unavailable("read the source", "feed", "Wait.")
        return super().poll(timeout_s, 1)


def served(source):
    """Return the socket of a reader of a source, which a thread serves."""
    here, there = Pipe()
    threading.Thread(target=ReaderProcess(there, plan_of(lambda: source)).run).start()
    return here


def asked(wire, name, *given):
    """Return what is answered; raises what failed."""
    wire.send((name, given))
    found, error = wire.recv()
    if error is not None:
        raise error
    return found


def three_joins():
    """Return a log of three people who join."""
    log = MemoryLog()
    for number in range(3):
        log.append(0, event(number, "join", DAY_US))
    return log


def test_what_was_read_before_an_error_is_given_before_it():
    """No record is lost: the error comes with the next read, and after it the source goes on."""
    log = three_joins()
    with closing(served(Broken(log))) as wire:
        asked(wire, "open", {}, {})
        (run,) = asked(wire, "read", 0.0, 10).runs
        assert run.offsets.tolist() == [0]
        with pytest.raises(Unavailable, match="Wait"):
            asked(wire, "read", 0.0, 10)
        (run,) = asked(wire, "read", 0.0, 10).runs
        assert run.offsets.tolist() == [1, 2]


def test_the_records_of_the_last_two_reads_can_be_asked_for():
    """Older ones are let go of: who asks has decided about them."""
    log = three_joins()
    with closing(served(MemorySource(log))) as wire:
        asked(wire, "open", {}, {})
        numbers = [asked(wire, "read", 0.0, 1).runs[0].number for _ in range(3)]
        assert asked(wire, "records", numbers[1])[0][2] == 1
        assert asked(wire, "records", numbers[2])[0][5] == event(2, "join", DAY_US)
        with pytest.raises(KeyError):
            asked(wire, "records", numbers[0])


def test_standard_input_is_read_by_the_other_process():
    """A feed that is piped in goes where it is read."""
    code = """
import time
from functools import partial
from ktsafe.connectors.files import FileSource
from ktsafe.stream.ingest.read_ahead import ReadAhead
from tests.stream.ingest.test_read_ahead import FEED, plan_of

reader = ReadAhead(plan_of(partial(FileSource, ["-"], topic="feed")))
reader.open({}, {})
values = []
while not reader.at_end(FEED):
    values += [record.value for record in reader.poll(1.0, 2)]
reader.close()
assert values == [b"a", b"b", b"c"], values
"""
    subprocess.run([sys.executable, "-c", code], input=b"a\nb\nc\n", check=True, timeout=60)


def is_there(pid):
    """Whether a process has not ended."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_reader_that_is_gone_is_told(tmp_path):
    """Whatever is asked then, the error says what to do; closing works all the same."""
    world = ReadAheadWorld(tmp_path, follow=True)
    reader = world.source()
    reader.open({}, {})
    reader._process.kill()
    for call in (reader.ends, lambda: reader.read(0.1, 5), lambda: reader.pause(FEED, 0)):
        with pytest.raises(Unavailable, match="Start again: nothing is lost"):
            call()
    reader.close()


def test_a_source_that_does_not_open_leaves_no_process(tmp_path):
    """What it raises is raised here, and its process ends."""
    reader = ReadAheadWorld(tmp_path, follow=True).source()
    before = set(children(os.getpid()))
    with pytest.raises(SourceMismatch):
        reader.open({TopicPartition("feed", 9): 1}, {})
    assert set(children(os.getpid())) <= before


@pytest.mark.parametrize("is_waiting", [True, False])
def test_a_reader_ends_with_the_process_that_started_it(tmp_path, is_waiting):
    """Killed with SIGKILL, the service leaves nothing behind, and signals to both end neither."""
    (tmp_path / "feed.jsonl").touch()
    code = f"""
import time
from functools import partial
from ktsafe.connectors.files import FileSource
from ktsafe.stream.ingest.read_ahead import ReadAhead
from tests.stream.ingest.test_read_ahead import plan_of

source = partial(FileSource, [{str(tmp_path / "feed.jsonl")!r}], topic="feed", follow=True)
reader = ReadAhead(plan_of(source))
reader.open({{}}, {{}})
if {is_waiting}:
    reader.read(0.0, 5)
print("open", flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"open\n"
        (child,) = children(process.pid)
        assert PROGRAM in command_of(child)
        os.kill(child, signal.SIGINT)
        os.kill(child, signal.SIGTERM)
        assert is_there(child)
        process.kill()
    for _ in range(200):
        if not is_there(child):
            return
        threading.Event().wait(0.05)
    pytest.fail("the reader is there still")
