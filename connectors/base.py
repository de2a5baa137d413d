"""Protocols of source, dead-letter sink, release sink and reader, and their errors.

Every implementation (`files`, `kafka_topics`, and one in memory for tests) passes the contract
tests of `ktsafe_lab.contracts`, and so should yours: docs/plug-ins.md.

A changed protocol breaks plug-ins of others: change the contract with it, and
ops/examples/sqlite_sink. An error is named after its remedy, with an action in
`ktsafe.stream.errors` and a row of the runbook.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from ktsafe.errors import OperationFailed

MANIFEST = "manifest.json"
"""Name of the release file that lists all others with their sha256."""


WITHDRAWN = "withdrawn.json"
"""Name of the marker beside a release that its owner has withdrawn: when, and why."""


class TopicPartition(NamedTuple):
    """One ordered log of events.

    For files the topic is the configured name, the partition the index in the configured list.
    """

    topic: str
    partition: int


class Record(msgspec.Struct, frozen=True, gc=False):
    """One event record as the source holds it, undecoded.

    `offset` is the line number (from 0) for files. `timestamp_ms` is None where the source has
    none (files). `value` is None for a Kafka tombstone. A header without a value has b"".
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()


class Source(Protocol):
    """Partitions that can be read from any offset, repeatedly.

    Life cycle: `open` once, then any of the others, then `close`. Not thread-safe: the loop
    owns it.
    """

    def open(self, positions: Mapping[TopicPartition, int], identity: Mapping[str, str]) -> None:
        """Connect and seek every partition to its next offset.

        A partition without one begins at its first record.

        `identity` is what `identity()` returned when the positions were stored ({} at first).

        Raises
        ------
        SourceMismatch
            If the stored identity is not this source's.
        OffsetLost
            If a position lies below the first retained offset or beyond the end.
        Unavailable
            If the source does not answer within its bounded retries.
        """

    def identity(self) -> dict[str, str]:
        """Return the source's identity.

        Cluster and topic id, or the hash of a file's head.

        May grow (a new file or partition) but a stored entry never changes its value.
        """

    def partitions(self) -> list[TopicPartition]:
        """Return all partitions, paused ones included."""

    def poll(self, timeout_s: float, records_max: int) -> list[Record]:
        """Return up to `records_max` next records of partitions that are not paused.

        Records of one partition come in offset order, without repeats. An empty list means that
        nothing arrived within `timeout_s`.
        """

    def pause(self, partition: TopicPartition, at_offset: int) -> None:
        """Stop `partition`; after `resume` it returns `at_offset` next.

        Records at or beyond `at_offset` that `poll` returned already will be returned again.
        """

    def resume(self, partition: TopicPartition) -> None:
        """Let `partition` go on. Resuming one that is not paused does nothing."""

    def at_end(self, partition: TopicPartition) -> bool:
        """Whether every record that exists now has been returned.

        A final file is then at its end for good.
        """

    def passed(self, partition: TopicPartition) -> int:
        """Return the offset from which `partition` goes on.

        All records before were returned.

        It may lie beyond the last record and one. Offsets between may have held what is no record,
        such as the mark at which a transaction ended, or records that were taken back.
        """

    def has_open_transaction(self, partition: TopicPartition) -> bool:
        """Whether records lie behind the end, in an open transaction."""

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return the records not yet returned, by partition.

        None where that is not known.
        """

    def ends(self) -> dict[TopicPartition, int]:
        """Return the next record's offset in each partition.

        Raises
        ------
        Misconfigured
            If a partition cannot be read to its end without consuming it (a pipe).
        Unavailable
        """

    def acknowledge(self, positions: Mapping[TopicPartition, int]) -> None:
        """Tell the source which next offsets are durable. Advisory.

        Only tools that show lag read it.
        """

    def close(self) -> None:
        """Release every resource. Safe to call twice."""


@dataclasses.dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that is refused, with a short fixed reason."""

    record: Record
    reason: str
    detail: str = ""


class DeadLetterSink(Protocol):
    """Where records go that cannot be applied. At least once.

    Deduplicated by the reader.
    """

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Append `letters` and return once they are durable.

        Raises
        ------
        Unavailable
            If they could not be made durable; the caller keeps them, pauses and tries again.
        """

    def close(self) -> None:
        """Release every resource. Safe to call twice."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReleaseBundle:
    """All published bytes of one release, on disk, as staged.

    The manifest and the files it lists.

    Attributes
    ----------
    release_id:
        Unique for ever; sorts in publication order; a safe file name.
    nominal_time_ms:
        The release's slot, the only time a release carries (epoch milliseconds).
    folder:
        Where the files lie.
    files:
        File names in published order, the manifest first.
    recorded:
        The manifest's sha256 as the service's ledger has it: a sink publishes no others under
        this id. None where nobody has recorded it (a bundle that was read).
    """

    release_id: str
    nominal_time_ms: int
    folder: Path
    files: tuple[str, ...]
    recorded: str | None = None

    def digest(self) -> str:
        """Return the sha256 of the manifest, which fixes every other byte."""
        return hashlib.sha256((self.folder / MANIFEST).read_bytes()).hexdigest()

    def is_withdrawn(self) -> bool:
        """Whether its owner has withdrawn it; `WITHDRAWN` in its folder says why."""
        return (self.folder / WITHDRAWN).exists()


@dataclasses.dataclass(frozen=True, slots=True)
class PublishedRelease:
    """A complete release found at the sink.

    Its id and the sha256 of its manifest.
    """

    release_id: str
    digest: str


class ReleaseSink(Protocol):
    """Where releases are published.

    At most once each, whole or not at all.
    """

    def open(self) -> None:
        """Connect; fence off an earlier instance if the sink can.

        Raises
        ------
        Unavailable, Misconfigured
        """

    def last(self) -> PublishedRelease | None:
        """Return the last complete release at the sink."""

    def present(self) -> list[PublishedRelease] | None:
        """Return the sink's releases in order, by their present manifests.

        None where nobody could have changed one since: records of a topic stay as they are.
        """

    def publish(self, bundle: ReleaseBundle) -> None:
        """Publish `bundle` unless it is there already.

        After an `Unavailable` the outcome is unknown: call again with the same bundle.

        Raises
        ------
        SinkConflict
            If the sink holds this release id with other bytes, or a later release; or if the bytes
            in the folder are not those that were recorded.
        Unavailable
            If the sink did not confirm.
        """

    def withdraw(self, release_id: str, marker: bytes) -> None:
        """Lay a marker beside a published release.

        Its bytes stay. Done again, the last one counts.

        Needs no `open`, since a running service may hold the sink.

        Raises
        ------
        Misconfigured
            If the sink has no such release.
        Unavailable
            If the marker could not be made durable.
        """

    def close(self) -> None:
        """Release every resource. Safe to call twice."""


class ReleaseReader(Protocol):
    """Reads complete releases back, in publication order, checking every sha256."""

    def read(self, into: Path, *, follow: bool = False) -> Iterator[ReleaseBundle]:
        """Yield every complete release, each rebuilt in `into/<release_id>/`.

        With `follow` wait for further ones. Sets without a marker, and repeats, are ignored.
        A withdrawn release has its marker in the folder; with `follow`, one that is withdrawn after
        it was yielded is yielded again.

        Raises
        ------
        SinkConflict
            If the bytes of a complete release do not match their sha256.
        """

    def check(self) -> Iterator[PublishedRelease]:
        """Yield every complete release, once every byte of it is compared.

        None is kept.

        `ktsafe.connectors.bundles.checked` does it by reading.

        Raises
        ------
        SinkConflict
            As `read`.
        """

    def close(self) -> None:
        """Release every resource. Safe to call twice."""


# Errors of the connectors, named by the operator's remedy.


class ConnectorError(OperationFailed):
    """Base of every error a connector raises."""


class Unavailable(ConnectorError):
    """The other side does not answer or refused for now: retry, bounded."""


class SourceMismatch(ConnectorError):
    """The source is not the one the stored offsets belong to.

    Refuse to start.
    """


class OffsetLost(ConnectorError):
    """A stored offset is no longer retained by the source.

    Refuse to start.
    """


class SinkConflict(ConnectorError):
    """The sink's release is ahead of ours, or differs: refuse."""


class Misconfigured(ConnectorError):
    """The connector's settings cannot work: refuse to start."""
