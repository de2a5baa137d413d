"""The in-memory connectors keep the contracts, and fail when they are told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktsafe.connectors.base import DeadLetter, OffsetLost, SinkConflict, TopicPartition
from ktsafe.connectors.letters import keep
from ktsafe_lab.contracts.letter_contract import BYTES_MAX, Found, LetterContract
from ktsafe_lab.contracts.release_contract import FILES, ReleaseContract, stage
from ktsafe_lab.contracts.source_contract import N_PARTITIONS, SourceContract
from tests.memory_connectors import (
    MemoryDeadLetterSink,
    MemoryLog,
    MemoryReleaseReader,
    MemoryReleases,
    MemoryReleaseSink,
    MemorySource,
)


class MemoryWorld:
    """A log in memory."""

    def __init__(self) -> None:
        self.topic = "feed"
        self.log = MemoryLog(self.topic, N_PARTITIONS)

    def write(self, partition: int, values: list[bytes]) -> None:
        for value in values:
            self.log.append(partition, value)

    def source(self) -> MemorySource:
        return MemorySource(self.log)

    def replace(self) -> None:
        self.log = MemoryLog(self.topic, N_PARTITIONS, identity="log-2")


class TestMemorySource(SourceContract):
    """The log as a source."""

    @pytest.fixture
    def world(self) -> MemoryWorld:
        return MemoryWorld()


class MemoryReleaseWorld:
    """Releases in memory."""

    def __init__(self) -> None:
        self.releases = MemoryReleases()

    def sink(self) -> MemoryReleaseSink:
        return MemoryReleaseSink(self.releases)

    def reader(self) -> MemoryReleaseReader:
        return MemoryReleaseReader(self.releases)


class TestMemoryReleases(ReleaseContract):
    """Releases in memory, published and read."""

    @pytest.fixture
    def world(self) -> MemoryReleaseWorld:
        return MemoryReleaseWorld()


class MemoryLetterWorld:
    """Letters in memory."""

    def __init__(self) -> None:
        self._letters: list[DeadLetter] = []

    def sink(self) -> MemoryDeadLetterSink:
        return MemoryDeadLetterSink(self._letters)

    def letters(self) -> list[Found]:
        found = []
        for one in self._letters:
            record, kept = one.record, keep(one.record, BYTES_MAX)
            found.append(
                Found(
                    record.topic,
                    record.partition,
                    record.offset,
                    one.reason,
                    one.detail,
                    record.key,
                    None if kept is None else kept.data,
                    None if kept is None else kept.length,
                    None if kept is None else kept.sha256,
                    record.headers,
                )
            )
        return found


class TestMemoryLetters(LetterContract):
    """Letters in memory, written and read."""

    @pytest.fixture
    def world(self) -> MemoryLetterWorld:
        return MemoryLetterWorld()


def test_retention_and_added_partitions() -> None:
    """A position below the first retained offset is refused; added partitions are read."""
    log = MemoryLog()
    for _ in range(5):
        log.append(0, b"x")
    log.delete_before(0, 3)
    with pytest.raises(OffsetLost):
        MemorySource(log).open({TopicPartition("feed", 0): 2}, {})
    source = MemorySource(log)
    source.open({}, {})
    log.add_partition()
    log.append(1, b"new")
    assert [r.value for r in source.poll(0, 10)] == [b"x", b"x", b"new"]


def test_an_older_sink_is_fenced(tmp_path: Path) -> None:
    """Of two sinks the one opened later publishes; the other one is refused."""
    releases = MemoryReleases()
    old, new = MemoryReleaseSink(releases), MemoryReleaseSink(releases)
    old.open()
    new.open()
    with pytest.raises(SinkConflict):
        old.publish(stage(tmp_path, "s-0001", FILES))
    assert new.last() is None
