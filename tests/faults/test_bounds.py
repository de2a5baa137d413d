"""Memory and queues are bounded: where something is slow the source is not read."""

import itertools
import os

import pytest

from ktsafe.connectors.base import DeadLetter, Unavailable
from ktsafe.state import database, store
from ktsafe.stream.ingest import ingest
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.observer import Observer
from ktsafe.stream.slots import Clocks
from tests.memory_connectors import MemoryDeadLetterSink, MemoryLog, MemorySource
from tests.memory_store import MemoryStore
from tests.stream.service.simulation import SCHEMA, World, event

RECORD_BYTES = 64 * 1024
DEPARTURES_A_SECOND = 250


class Refusing(MemoryDeadLetterSink):
    """A dead-letter sink that refuses until it is told otherwise."""

    refuses = True

    def write(self, letters):
        if self.refuses:
            raise Unavailable("write dead letters", "memory", "planned by a test")
        super().write(letters)


def ingest_of(log, sink, **settings):
    """Return an ingest of a log, and its source."""
    source = MemorySource(log)
    source.open({}, {})
    taker = Ingest(
        source,
        MemoryStore(SCHEMA),
        sink,
        schema=SCHEMA,
        settings=IngestSettings(**settings),
        observer=Observer(),
        clocks=Clocks(wall_us=lambda: 0, monotonic=lambda: 0.0),
    )
    return taker, source


def rounds_until_due(taker, step):
    """Take records in until a checkpoint is due; return how many."""
    taken = 0
    while not taker.checkpoint_due():
        taken += taker.round(lambda _partition, _time_us: True, 2**62)
        assert taken <= step * 1000
    return taken


def test_a_batch_is_bounded_in_records():
    """However much the source has, no more than a batch is held."""
    log = MemoryLog()
    for number in range(500):
        log.append(0, b'{"type":"vertex.delete","id":"p%d","time":"1970-01-01T00:00:01Z"}' % number)
    taker, source = ingest_of(log, MemoryDeadLetterSink(), batch_records_max=64)
    assert rounds_until_due(taker, 64) == 64
    assert source.lag() == {("feed", 0): 436}


def test_dead_letters_are_bounded_in_bytes(monkeypatch):
    """Great bad records are written soon, though they are few."""
    monkeypatch.setattr(ingest, "LETTER_BYTES_MAX", 10 * RECORD_BYTES)
    log = MemoryLog()
    for _ in range(100):
        log.append(0, b"x" * RECORD_BYTES)
    sink = Refusing()
    taker, source = ingest_of(log, sink, batch_records_max=4)
    monkeypatch.setattr(source, "poll", lambda t, n, poll=source.poll: poll(t, 1))
    taker._settings = IngestSettings(batch_records_max=2_000)
    assert rounds_until_due(taker, 100) == 10
    with pytest.raises(Unavailable):
        taker.checkpoint()
    assert taker.checkpoint_due()
    sink.refuses = False
    taker.checkpoint()
    assert not taker.checkpoint_due()
    assert len(sink.letters) == 10
    assert all(isinstance(letter, DeadLetter) for letter in sink.letters)


def test_while_dead_letters_are_refused_nothing_is_read(tmp_path):
    """Ingest waits, and the feed stays where it is; then all of it is read."""
    bad = [b"not an event"] * 5
    good = [event("vertex.upsert", 1 + n, f"p{n}", gender="f") for n in range(40)]
    world = World(tmp_path, [[*bad, *good]])
    sink = Refusing(world.letters)
    world.open_dead_letters = lambda: sink
    held, lags = [], []
    source = MemorySource(world.log)
    world.open_source = lambda: source
    rounds = iter(range(200))

    def stopping():
        lags.append(source.lag()[("feed", 0)] if source._next else None)
        return next(rounds, None) is None

    world.run(stopping=stopping)
    held = [lag for lag in lags if lag is not None]
    assert min(held) >= 45 - 3 * 2
    assert not world.letters
    sink.refuses = False
    world.run()
    assert len(world.letters) == len(bad)
    assert len(world.graph()[0]) == 40


@pytest.mark.parametrize("lateness_s", [1, 4])
def test_tombstones_are_forgotten_at_the_pace_of_a_replay(tmp_path, monkeypatch, lateness_s):
    """Replayed as fast as it goes, the store keeps the tombstones of the lateness bound only."""
    monkeypatch.setattr(store, "LOGGED_MIN", DEPARTURES_A_SECOND)
    ends = [(f"p{n}", 1 + n / DEPARTURES_A_SECOND) for n in range(20 * DEPARTURES_A_SECOND)]
    lives = [
        [event("vertex.upsert", at_s, name, gender="f"), event("vertex.delete", at_s, name)]
        for name, at_s in ends
    ]
    world = World(tmp_path, [list(itertools.chain(*lives))])
    greatest = 0

    class Watch(Observer):
        def state(self, counts, size_bytes):
            nonlocal greatest
            greatest = max(greatest, counts["tombstones"])

    world.run(
        observer=Watch(),
        loop={"lateness_max_s": lateness_s, "prune_interval_s": 1.0, "report_interval_s": 0.001},
        ingest={"batch_records_max": 100, "lateness_max_s": lateness_s},
    )
    assert 0 < greatest < DEPARTURES_A_SECOND * (lateness_s + 3)


def test_blocks_that_were_read_are_kept_up_to_a_bound(tmp_path):
    """Three times as much is read as may be kept, from two families."""
    opened = database.Database(tmp_path / "db", create=True)
    names = [b"%d" % number for number in range(3 * 1024)]
    families = ["people", "pages"]
    for family in families:
        batch = opened.batch()
        batch.write(family, {name: os.urandom(4096) for name in names})
        opened.commit(batch)
        opened.flush(family)
        assert None not in opened.get_many(family, names)
    used = {int(opened._families[f].property_value("rocksdb.block-cache-usage")) for f in families}
    opened.close()
    assert len(used) == 1, "each family has a cache of its own"
    assert 2**22 < used.pop() <= database._CACHE_BYTES
