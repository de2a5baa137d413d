"""In-memory twins of the connectors, with faults on demand, for tests of whatever uses them.

What outlives a crash of the service (the log, the published releases, the letters) is one object,
the connector another: a test "crashes" by dropping the connectors and making new ones.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ktsafe.connectors import bundles
from ktsafe.connectors.base import (
    MANIFEST,
    DeadLetter,
    OffsetLost,
    PublishedRelease,
    Record,
    ReleaseBundle,
    SourceMismatch,
    TopicPartition,
    Unavailable,
)


class Crash(BaseException):
    """Raised by a twin to end the service at an exact item; no handler of errors catches it."""


class MemoryLog:
    """A topic: partitions of records that outlive whoever reads them."""

    def __init__(self, topic: str = "feed", partitions: int = 1, identity: str = "log-1") -> None:
        self.topic = topic
        self.topics = [topic] * partitions
        """Of each partition; a test may deal them out to several. Numbers stay as they are."""
        self.identity = identity
        self.items: list[list[Record | None]] = [[] for _ in range(partitions)]
        self.beginnings = [0] * partitions
        self.open_transactions: set[int] = set()

    def append(
        self,
        partition: int,
        value: bytes | None,
        *,
        key: bytes | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> int:
        """Append a record and return its offset."""
        items = self.items[partition]
        offset = len(items)
        items.append(
            Record(
                self.topics[partition], partition, offset, timestamp_ms, key, value, tuple(headers)
            )
        )
        return offset

    def add_partition(self) -> None:
        """Add an empty partition."""
        self.items.append([])
        self.topics.append(self.topic)
        self.beginnings.append(0)

    def delete_before(self, partition: int, offset: int) -> None:
        """Drop records as retention does."""
        self.beginnings[partition] = offset


class MemorySource:
    """Reads a `MemoryLog`. Implements `ktsafe.connectors.base.Source`."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self._next: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self.acknowledged: dict[TopicPartition, int] = {}

    def open(self, positions: Mapping[TopicPartition, int], identity: Mapping[str, str]) -> None:
        """Check identity and positions."""
        log = self._log
        if identity and dict(identity) != self.identity():
            raise SourceMismatch("open source", log.topic, "it is another log.")
        for partition in sorted(set(positions) - set(self.partitions())):
            raise SourceMismatch("open source", str(partition), "there is no such partition.")
        for at in self.partitions():
            beginning = log.beginnings[at.partition]
            offset = positions.get(at, beginning)
            if not beginning <= offset <= len(log.items[at.partition]):
                raise OffsetLost("open source", str(at), "the offset is not retained.")
            self._next[at] = offset

    def identity(self) -> dict[str, str]:
        """Return the log's identity."""
        return dict.fromkeys(self._log.topics, self._log.identity) or {
            self._log.topic: self._log.identity
        }

    def partitions(self) -> list[TopicPartition]:
        """Return all partitions of the log, added ones included."""
        return [TopicPartition(topic, i) for i, topic in enumerate(self._log.topics)]

    def poll(self, timeout_s: float, records_max: int) -> list[Record]:
        """Return next records; never waits."""
        records: list[Record] = []
        for at in self.partitions():
            if at in self._paused:
                continue
            items = self._log.items[at.partition]
            offset = self._next.setdefault(at, self._log.beginnings[at.partition])
            while offset < len(items) and len(records) < records_max:
                item = items[offset]
                if item is not None:
                    records.append(item)
                offset += 1
            self._next[at] = offset
        return records

    def pause(self, partition: TopicPartition, at_offset: int) -> None:
        """Stop `partition` at `at_offset`."""
        self._paused.add(partition)
        self._next[partition] = at_offset

    def resume(self, partition: TopicPartition) -> None:
        """Let `partition` go on."""
        self._paused.discard(partition)

    def at_end(self, partition: TopicPartition) -> bool:
        """Whether all records were returned."""
        return self._left(partition) == 0

    def passed(self, partition: TopicPartition) -> int:
        """Return the next offset."""
        return self._next.get(partition, self._log.beginnings[partition.partition])

    def has_open_transaction(self, partition: TopicPartition) -> bool:
        """Whether a test says so."""
        return partition.partition in self._log.open_transactions

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return the records not yet returned."""
        return {at: self._left(at) for at in self.partitions()}

    def _left(self, partition: TopicPartition) -> int:
        number = partition.partition
        offset = self._next.get(partition, self._log.beginnings[number])
        return len(self._log.items[number]) - offset

    def ends(self) -> dict[TopicPartition, int]:
        """Return the length of every partition's log."""
        return {at: len(self._log.items[at.partition]) for at in self.partitions()}

    def acknowledge(self, positions: Mapping[TopicPartition, int]) -> None:
        """Remember what was acknowledged."""
        self.acknowledged.update(positions)

    def close(self) -> None:
        """Do nothing."""


@dataclasses.dataclass
class Faults:
    """Failures to come, by the name of the operation; each is raised once, in order.

    `before` raises before the operation takes effect, `after` once it has (an unknown outcome).
    """

    before: dict[str, list[BaseException]] = dataclasses.field(
        default_factory=lambda: defaultdict(list)
    )
    after: dict[str, list[BaseException]] = dataclasses.field(
        default_factory=lambda: defaultdict(list)
    )

    def run(self, op: str, effect: Callable[[], None]) -> None:
        """Run `effect` between the failures planned for `op`."""
        for planned, act in ((self.before, effect), (self.after, lambda: None)):
            if planned.get(op):
                raise planned[op].pop(0)
            act()


class MemoryReleases:
    """Published releases, and which sink may publish; outlives the sinks."""

    def __init__(self) -> None:
        self.releases: dict[str, tuple[int, dict[str, bytes]]] = {}
        self.withdrawn: dict[str, bytes] = {}
        self.epoch = 0


class MemoryReleaseSink:
    """Publishes into `MemoryReleases`. Implements `ktsafe.connectors.base.ReleaseSink`.

    Operations for `faults`: "open", "publish".
    """

    def __init__(self, releases: MemoryReleases, faults: Faults | None = None) -> None:
        self._releases = releases
        self._faults = faults or Faults()
        self._epoch = -1

    def open(self) -> None:
        """Fence off every earlier sink of the same releases."""
        self._faults.run("open", self._take_over)

    def last(self) -> PublishedRelease | None:
        """Return the last release."""
        releases = self._releases.releases
        if not releases:
            return None
        release_id = max(releases)
        manifest = releases[release_id][1][MANIFEST]
        return PublishedRelease(release_id, hashlib.sha256(manifest).hexdigest())

    def present(self) -> list[PublishedRelease]:
        """Return every release."""
        return [
            PublishedRelease(release_id, hashlib.sha256(files[MANIFEST]).hexdigest())
            for release_id, (_, files) in sorted(self._releases.releases.items())
        ]

    def publish(self, bundle: ReleaseBundle) -> None:
        """Publish `bundle` unless it is there already."""
        if self._epoch != self._releases.epoch:
            raise bundles.fenced("memory")
        release = bundles.check_bundle(bundle)

        def effect() -> None:
            if not bundles.check_order(release, self.last(), "memory"):
                files = {name: (bundle.folder / name).read_bytes() for name in bundle.files}
                self._releases.releases[bundle.release_id] = (bundle.nominal_time_ms, files)

        self._faults.run("publish", effect)

    def withdraw(self, release_id: str, marker: bytes) -> None:
        """Keep the marker beside the release."""
        if release_id not in self._releases.releases:
            raise bundles.not_there(release_id)
        self._releases.withdrawn[release_id] = marker

    def close(self) -> None:
        """Do nothing."""

    def _take_over(self) -> None:
        self._releases.epoch += 1
        self._epoch = self._releases.epoch


class MemoryReleaseReader:
    """Reads `MemoryReleases`. Implements `ktsafe.connectors.base.ReleaseReader`."""

    def __init__(self, releases: MemoryReleases) -> None:
        self._releases = releases
        self._closed = threading.Event()

    def read(self, into: Path, *, follow: bool = False) -> Iterator[ReleaseBundle]:
        """Yield every release, rebuilt and checked."""
        told: set[tuple[str, bool]] = set()
        while True:
            for release_id in sorted(self._releases.releases):
                news = release_id, release_id in self._releases.withdrawn
                if news not in told:
                    told.add(news)
                    yield self._rebuild(release_id, into)
            if not follow or self._closed.wait(0.01):
                return

    def check(self) -> Iterator[PublishedRelease]:
        """Yield every release, read and compared."""
        return bundles.checked(self)

    def close(self) -> None:
        """End a `read` that follows."""
        self._closed.set()

    def _rebuild(self, release_id: str, into: Path) -> ReleaseBundle:
        time_ms, files = self._releases.releases[release_id]
        temporary = into / f".tmp-{release_id}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        for name, data in files.items():
            (temporary / name).write_bytes(data)
        bundles.check_folder(temporary, release_id)
        bundles.put_in_place(temporary, into / release_id)
        if marker := self._releases.withdrawn.get(release_id):
            bundles.lay_marker(into / release_id, marker)
        return ReleaseBundle(release_id, time_ms, into / release_id, tuple(files))


class MemoryDeadLetterSink:
    """Keeps letters in a list, a `ktsafe.connectors.base.DeadLetterSink`; `faults`: "write"."""

    def __init__(
        self, letters: list[DeadLetter] | None = None, faults: Faults | None = None
    ) -> None:
        self.letters: list[DeadLetter] = [] if letters is None else letters
        self._faults = faults or Faults()

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Append `letters`."""
        self._faults.run("write", lambda: self.letters.extend(letters))

    def close(self) -> None:
        """Do nothing."""


def unavailable(op: str = "publish release") -> Unavailable:
    """Return an error to plan as a fault."""
    return Unavailable(op, "memory", "planned by a test; try again.")
