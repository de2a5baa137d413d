"""What every event source must do (`ktsafe.connectors.base.Source`), whatever it reads from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Protocol

import pytest

from ktsafe.connectors.base import OffsetLost, Record, Source, SourceMismatch, TopicPartition


class SourceWorld(Protocol):
    """Three partitions that a test writes to, and sources that read them."""

    topic: str

    def write(self, partition: int, values: list[bytes]) -> None:
        """Append records."""

    def source(self) -> Source:
        """Return a new source, not opened."""

    def replace(self) -> None:
        """Put something else in the place of what the sources read."""


N_PARTITIONS = 3


def read_all(source: Source, *, records_max: int = 1000, seconds: float = 20.0) -> list[Record]:
    """Poll until every partition is at its end."""
    records: list[Record] = []
    deadline = time.monotonic() + seconds
    while not all(source.at_end(partition) for partition in source.partitions()):
        assert time.monotonic() < deadline, "the source does not reach its end"
        records += source.poll(0.2, records_max)
    return records


def values_of(records: list[Record], partition: int) -> list[bytes | None]:
    return [record.value for record in records if record.partition == partition]


def next_offsets(records: list[Record]) -> dict[TopicPartition, int]:
    return {TopicPartition(r.topic, r.partition): r.offset + 1 for r in records}


class SourceContract:
    """Subclasses give a `world` fixture."""

    @pytest.fixture
    def source(self, world: SourceWorld) -> Iterator[Source]:
        source = world.source()
        yield source
        source.close()

    def at(self, world: SourceWorld, partition: int) -> TopicPartition:
        return TopicPartition(world.topic, partition)

    def fill(self, world: SourceWorld, count: int = 20) -> dict[int, list[bytes]]:
        written = {p: [b"%d:%d" % (p, i) for i in range(count)] for p in range(N_PARTITIONS)}
        for partition, values in written.items():
            world.write(partition, values)
        return written

    def test_every_record_once_in_order(self, world: SourceWorld, source: Source) -> None:
        """Every record comes exactly once, in offset order within its partition."""
        written = self.fill(world)
        source.open({}, {})
        records = read_all(source, records_max=7)
        for partition, values in written.items():
            assert values_of(records, partition) == values
            offsets = [r.offset for r in records if r.partition == partition]
            assert offsets == sorted(set(offsets))
        assert {r.topic for r in records} == {world.topic}

    def test_partitions_are_all_listed(self, world: SourceWorld, source: Source) -> None:
        """Partitions without records and paused ones are listed too."""
        world.write(1, [b"x"])
        source.open({}, {})
        source.pause(self.at(world, 0), 0)
        assert source.partitions() == [self.at(world, p) for p in range(N_PARTITIONS)]

    def test_reading_goes_on_from_stored_offsets(self, world: SourceWorld, source: Source) -> None:
        """A new source given the next offsets returns exactly the rest."""
        written = self.fill(world)
        source.open({}, {})
        first = source.poll(5.0, 17)
        identity = source.identity()
        source.close()
        second = world.source()
        try:
            second.open(next_offsets(first), identity)
            rest = read_all(second)
        finally:
            second.close()
        assert 0 < len(first) <= 17
        for partition, values in written.items():
            assert values_of(first, partition) + values_of(rest, partition) == values

    def test_poll_is_bounded(self, world: SourceWorld, source: Source) -> None:
        """No poll returns more records than asked for."""
        self.fill(world)
        source.open({}, {})
        for _ in range(10):
            assert len(source.poll(0.2, 3)) <= 3

    def test_nothing_to_read(self, world: SourceWorld, source: Source) -> None:
        """Empty partitions are at their end without lag; polls end."""
        source.open({}, {})
        assert source.poll(0.05, 10) == []
        assert all(source.at_end(partition) for partition in source.partitions())
        assert set(source.lag().values()) == {0}

    def test_paused_partition_returns_its_records_again(
        self, world: SourceWorld, source: Source
    ) -> None:
        """What was returned at or beyond the pause comes again.

        Others go on meanwhile.
        """
        written = self.fill(world)
        source.open({}, {})
        paused = self.at(world, 1)
        before: list[Record] = []
        while len(values_of(before, 1)) < 5:
            before += source.poll(1.0, 9)
        stop = [r for r in before if r.partition == 1][3].offset
        source.pause(paused, stop)
        while not (source.at_end(self.at(world, 0)) and source.at_end(self.at(world, 2))):
            before += source.poll(0.2, 9)
        assert source.poll(0.05, 9) == []
        assert not source.at_end(paused)
        source.resume(paused)
        after = read_all(source)
        assert after[0].offset == stop
        assert values_of(after, 1) == written[1][3:]
        for partition in (0, 2):
            assert values_of(before, partition) == written[partition]

    def test_pause_where_reading_stands(self, world: SourceWorld, source: Source) -> None:
        """Pausing at the next offset takes nothing back.

        Pausing again further back does.
        """
        written = self.fill(world, 6)
        source.open({}, {})
        records = read_all(source)
        at = self.at(world, 0)
        offsets = [r.offset for r in records if r.partition == 0]
        source.pause(at, offsets[-1] + 1)
        assert source.poll(0.05, 9) == []
        source.pause(at, offsets[2])
        source.resume(at)
        assert values_of(read_all(source), 0) == written[0][2:]

    def test_pause_before_anything_was_read(self, world: SourceWorld, source: Source) -> None:
        """A partition paused at its beginning gives everything after it is resumed."""
        written = self.fill(world, 4)
        source.open({}, {})
        source.pause(self.at(world, 2), 0)
        seen = [r for _ in range(6) for r in source.poll(0.1, 100)]
        assert values_of(seen, 2) == []
        source.resume(self.at(world, 2))
        assert values_of(read_all(source), 2) == written[2]

    def test_resume_of_a_running_partition_does_nothing(
        self, world: SourceWorld, source: Source
    ) -> None:
        """Resuming a partition that runs neither repeats nor skips."""
        written = self.fill(world)
        source.open({}, {})
        records: list[Record] = []
        for _ in range(60):
            records += source.poll(0.2, 2)
            source.resume(self.at(world, 0))
            if len(records) == 3 * 20:
                break
        assert values_of(records, 0) == written[0]

    def test_end_and_lag(self, world: SourceWorld, source: Source) -> None:
        """A partition is at its end once all records were returned.

        Its lag is 0 exactly then.
        """
        self.fill(world, 5)
        source.open({}, {})
        assert not any(source.at_end(partition) for partition in source.partitions())
        lag = source.lag()
        assert all(value is None or value == 5 for value in lag.values())
        last = read_all(source)[-1]
        assert set(source.lag().values()) == {0}
        at = self.at(world, last.partition)
        source.pause(at, last.offset)
        assert not source.at_end(at)

    def test_identity_is_stable(self, world: SourceWorld, source: Source) -> None:
        """A source opened with its stored identity keeps every entry."""
        self.fill(world)
        source.open({}, {})
        read_all(source)
        identity = source.identity()
        source.close()
        assert identity
        world.write(0, [b"later"])
        again = world.source()
        try:
            again.open({}, identity)
            assert identity.items() <= again.identity().items()
        finally:
            again.close()

    def test_another_source_is_refused(self, world: SourceWorld, source: Source) -> None:
        """Offsets never apply to another source of the same name."""
        self.fill(world)
        source.open({}, {})
        records = read_all(source)
        identity = source.identity()
        source.close()
        world.replace()
        self.fill(world)
        with pytest.raises(SourceMismatch):
            world.source().open(next_offsets(records), identity)

    def test_offset_beyond_the_end_is_refused(self, world: SourceWorld, source: Source) -> None:
        """A stored offset out of reach means that records are gone."""
        self.fill(world, 3)
        with pytest.raises(OffsetLost):
            source.open({self.at(world, 1): 1000}, {})

    @pytest.mark.parametrize("index", [7, -1])
    def test_unknown_partition_is_refused(
        self, world: SourceWorld, source: Source, index: int
    ) -> None:
        """Stored offsets of a partition that does not exist are not ignored."""
        self.fill(world, 3)
        positions: Mapping[TopicPartition, int] = {self.at(world, index): 1}
        with pytest.raises(SourceMismatch):
            source.open(positions, {})

    def test_unknown_topic_is_refused(self, world: SourceWorld, source: Source) -> None:
        """Stored offsets of another topic are not ignored."""
        with pytest.raises(SourceMismatch):
            source.open({TopicPartition("other", 0): 1}, {})

    def test_from_the_ends_only_what_comes_later_is_read(
        self, world: SourceWorld, source: Source
    ) -> None:
        """The ends of a source are offsets to begin at.

        Behind all there is, before all to come.
        """
        self.fill(world)
        source.open({}, {})
        read_all(source)
        ends = source.ends()
        assert sorted(ends) == sorted(source.partitions())
        world.write(1, [b"later"])
        later = world.source()
        try:
            later.open(ends, source.identity())
            assert [record.value for record in read_all(later)] == [b"later"]
        finally:
            later.close()

    def test_reading_goes_on_from_where_a_source_stood(
        self, world: SourceWorld, source: Source
    ) -> None:
        """Up to the passed offset every record was returned, none beyond."""
        written = self.fill(world)
        source.open({}, {})
        first = source.poll(5.0, 17)
        places = {partition: source.passed(partition) for partition in source.partitions()}
        assert all(places[at] >= offset for at, offset in next_offsets(first).items())
        later = world.source()
        try:
            later.open(places, source.identity())
            rest = read_all(later)
        finally:
            later.close()
        for partition, values in written.items():
            assert values_of(first, partition) + values_of(rest, partition) == values

    def test_nothing_is_open_where_no_transaction_was_begun(
        self, world: SourceWorld, source: Source
    ) -> None:
        """At the end, and before it."""
        self.fill(world)
        source.open({}, {})
        assert not any(source.has_open_transaction(at) for at in source.partitions())
        read_all(source)
        assert not any(source.has_open_transaction(at) for at in source.partitions())

    def test_acknowledging_changes_nothing(self, world: SourceWorld, source: Source) -> None:
        """Acknowledged offsets do not move the reading."""
        written = self.fill(world)
        source.open({}, {})
        records: list[Record] = []
        while not all(source.at_end(partition) for partition in source.partitions()):
            records += source.poll(0.2, 11)
            source.acknowledge({self.at(world, 0): 1})
        assert values_of(records, 0) == written[0]

    def test_values_are_handed_over_as_they_are(self, world: SourceWorld, source: Source) -> None:
        """No value is decoded, stripped or normalized."""
        values = [b"", b" ", b"\x00\xff", "ä\u2028".encode(), b"\r", b"x" * 100_000]
        world.write(0, values)
        source.open({}, {})
        assert values_of(read_all(source), 0) == values

    def test_close_twice(self, world: SourceWorld, source: Source) -> None:
        """Closing twice, and closing what was never opened, does nothing."""
        world.source().close()
        source.open({}, {})
        source.close()
        source.close()
