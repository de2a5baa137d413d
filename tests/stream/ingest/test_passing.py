"""Offsets that hold no record: marks of transactions, and what was taken back."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.connectors.base import OffsetLost, TopicPartition
from ktsafe.state.store_base import Position
from ktsafe.stream.ingest.ingest import PASSING_S, Ingest, IngestSettings
from ktsafe.stream.observer import Observer
from ktsafe.stream.slots import Clocks
from tests.memory_connectors import MemoryDeadLetterSink, MemoryLog, MemorySource
from tests.memory_store import MemoryStore
from tests.stream.service.simulation import SCHEMA, World
from tests.stream.service.simulation_feed import FIRST

AT = ("feed", 0)
LIMIT_US = 1_780_000_000_000_000  # before 2027
EVENT = b'{"type":"vertex.delete","id":"a","time":"2026-01-01T00:00:00Z"}'


class Taker:
    """An ingest of one log, by a clock that a test sets."""

    def __init__(self, log: MemoryLog, store: MemoryStore, at_once: int = 10_000) -> None:
        self.now_s = 0.0
        self.store = store
        source = MemorySource(log)
        offsets = {TopicPartition(*p): at.start for p, at in store.positions().items()}
        source.open(offsets, store.source_identity())
        self.ingest = Ingest(
            source,
            store,
            MemoryDeadLetterSink(),
            schema=SCHEMA,
            settings=IngestSettings(batch_records_max=at_once),
            observer=Observer(),
            clocks=Clocks(monotonic=lambda: self.now_s),
        )

    def go_on(self, seconds: float) -> None:
        """Take in what there is, and make durable what is due."""
        self.ingest.round(lambda _partition, _time_us: True, LIMIT_US)
        self.now_s += seconds
        if self.ingest.checkpoint_due():
            self.ingest.checkpoint()


KINDS = ("event", "no event", "mark")


@given(st.lists(st.sampled_from(KINDS), max_size=12), st.integers(1, 5), st.integers(0, 5))
def test_positions_are_behind_the_last_record_whatever_lies_between(
    kinds: list[str], at_once: int, restart: int
) -> None:
    """Offsets with gaps, as transactions and compaction leave: none is read twice or passed.

    What is refused counts as read, and a partition that gave nothing else is known after a restart.
    """
    log, store = MemoryLog(), MemoryStore(SCHEMA)
    for offset, kind in enumerate(kinds):
        if kind == "mark":
            mark(log)
        else:
            event = EVENT.replace(b'"a"', b'"%d"' % offset)
            log.append(0, event if kind == "event" else b"no event")
    taker, read = Taker(log, store, at_once), []
    for number in range(len(kinds) + 1):
        if number == restart:
            taker.ingest.checkpoint()
            taker = Taker(log, store, at_once)
        taker.ingest.round(lambda _partition, _time_us: True, LIMIT_US)
        if AT in taker.ingest.offsets:
            read.append(taker.ingest.offsets[AT])
    behind = [offset + 1 for offset, kind in enumerate(kinds) if kind != "mark"]
    assert set(read) <= {*behind}
    assert read[-1:] == behind[-1:]
    taker.ingest.checkpoint()
    assert store.positions().get(AT, Position(0, None, 0)).next_offset == (behind or [0])[-1]
    assert Taker(log, store).ingest.offsets == ({AT: behind[-1]} if behind else {})


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def taker(log: MemoryLog) -> Iterator[Taker]:
    return Taker(log, MemoryStore(SCHEMA))


def mark(log: MemoryLog) -> None:
    """Append what takes an offset and is no record."""
    log.items[0].append(None)


def test_what_is_no_record_counts_as_read(log: MemoryLog, taker: Taker) -> None:
    """Retention may remove it: the next start goes on behind it."""
    log.append(0, EVENT)
    mark(log)
    taker.go_on(2.0)
    (position,) = taker.store.positions().values()
    assert (position.next_offset, position.start) == (1, 2)
    mark(log)
    taker.go_on(PASSING_S)
    taker.go_on(PASSING_S)
    assert taker.store.positions()[AT].start == 3
    log.delete_before(0, 3)
    again = Taker(log, taker.store)
    assert again.ingest.offsets == {AT: 1}
    log.append(0, EVENT)
    again.go_on(2.0)
    assert again.store.positions()[AT] == Position(4, position.time_us_max)


def test_a_partition_that_gave_no_record_was_not_read(log: MemoryLog, taker: Taker) -> None:
    """Nor is there anything to release of it; but it goes on behind what was taken back."""
    mark(log)
    taker.go_on(PASSING_S)
    assert taker.store.positions() == {AT: Position(0, None, 1)}
    log.delete_before(0, 1)
    again = Taker(log, taker.store)
    assert again.ingest.offsets == {}


def test_an_event_that_waits_is_not_passed(log: MemoryLog, taker: Taker) -> None:
    """What was read and is undecided is read again after a crash."""
    log.append(0, EVENT)
    taker.go_on(2.0)
    log.append(0, EVENT.replace(b"2026", b"2027"))
    for _ in range(3):
        taker.go_on(PASSING_S)
    assert taker.ingest.undecided
    assert taker.store.positions()[AT].start == 1
    log.delete_before(0, 2)
    with pytest.raises(OffsetLost):
        Taker(log, taker.store)


def test_marks_alone_make_no_release(tmp_path) -> None:
    """Nothing is new, in this run and after the next start."""
    world = World(tmp_path, [FIRST, []])
    world.run()
    before = world.digests()
    assert before
    for number in (0, 1):
        world.log.items[number].append(None)
    for _ in range(2):
        world.run()
        assert world.digests() == before
    stored = world.open_store().positions()
    assert [stored["feed", number].start for number in (0, 1)] == [len(FIRST) + 1, 1]
