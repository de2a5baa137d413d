"""The built-in kinds of connectors: files, snapshots and Kafka.

Connectors are imported when a table makes one: a configuration is checked without Kafka.

A field is a key: it needs a line in stream/example.toml and `make reference`. A new kind is a table
here and a row of `BUILT_IN`. `FILES_TOPIC` stands in states: it cannot change.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from ktsafe.connectors.base import DeadLetterSink, ReleaseReader, ReleaseSink, Source
from ktsafe.connectors.letters import PREFIX, Letter
from ktsafe.connectors.secrets import Signer
from ktsafe.graph.inputs.names import ENDS, ROLES
from ktsafe.stream.config.connector_kinds import (
    ConnectorTable,
    DeadLettersTable,
    Name,
    SigningTable,
    SinkTable,
    Site,
    SourceTable,
)

FILES_TOPIC: Final = "feed"
"""What a state keeps the offsets in files under."""
LETTER_FIELDS: Final = frozenset(
    {"topic", "partition", "offset", "exception.class.name", "exception.message"}
)
"""Headers that every letter in a topic has."""


class FilesSourceTable(SourceTable, frozen=True, kw_only=True, tag="files"):
    """`[source] kind = "files"`: `.jsonl`, `.jsonl.gz`, or "-" for standard input."""

    paths: Annotated[list[str], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        """Refuse to read standard input twice."""
        if self.paths.count("-") > 1:
            raise ValueError("paths names standard input twice")

    def place(self, site: Site) -> str:
        """Return the paths."""
        return ", ".join(path if path == "-" else str(site.path(path)) for path in self.paths)

    def source(self, site: Site, *, drain: bool) -> Source:
        """Return a source that reads the files in turn."""
        from ktsafe.connectors.files import FileSource

        paths = [path if path == "-" else str(site.path(path)) for path in self.paths]
        return FileSource(paths, topic=FILES_TOPIC, follow=not drain)

    def missing(self, site: Site) -> list[str]:
        """Return the files that are not there."""
        found = [str(site.path(path)) for path in self.paths if path != "-"]
        return [path for path in found if not Path(path).exists()]


class OfTopic:
    """Tables that name a topic of the `[kafka]` cluster."""

    __slots__ = ()
    topic: str

    @property
    def kafka_topic(self) -> str:
        """The topic."""
        return self.topic

    def place(self, site: Site) -> str:
        """Return the topic."""
        return f"topic {self.topic}"


class KafkaSourceTable(OfTopic, SourceTable, frozen=True, kw_only=True, tag="kafka"):
    """`[source] kind = "kafka"`.

    All partitions of one topic of the `[kafka]` cluster.

    With `begin = "earliest kept"` a topic that has lost its first records, or that compacts, is
    read as if nothing were missing.
    """

    topic: Name
    begin: Literal["offset 0", "earliest kept"] = "offset 0"

    def source(self, site: Site, *, drain: bool) -> Source:
        """Return a source that reads the topic; brokers bound records by themselves."""
        from ktsafe.connectors.kafka_topics import KafkaSource

        begins_anywhere = self.begin == "earliest kept"
        return KafkaSource(site.cluster, self.topic, begins_anywhere=begins_anywhere)


class SnapshotsSourceTable(SourceTable, frozen=True, kw_only=True, tag="snapshots"):
    """`[source] kind = "snapshots"`.

    A folder of dated dumps of the whole network.

    Of people the attributes of the schema are read; `columns` say which columns hold ids and the
    ends of ties, if their names do not.
    """

    folder: str
    columns: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        """Refuse tables of a database, and columns of half a tie."""
        if self.tables:
            raise ValueError("dumps have no tables")
        if self.columns.keys() - {*ROLES} or len(self.columns.keys() & {*ENDS}) == 1:
            raise ValueError("columns may name those of id, and of both source and target")

    def place(self, site: Site) -> str:
        """Return the folder."""
        return str(site.path(self.folder))

    @property
    def gives_whole_moments(self) -> bool:
        """Always: a dump is whole, and earlier ones are refused."""
        return True

    def source(self, site: Site, *, drain: bool) -> Source:
        """Return a source that compares each dump with the one before."""
        from ktsafe.connectors.files import SnapshotSource
        from ktsafe.stream.ingest.own_tables import OwnTables

        return SnapshotSource(
            site.path(self.folder),
            OwnTables(self.columns, site.schema),
            attributes=None if site.schema is None else site.schema.columns,
            change_max=site.change_max,
        )

    def missing(self, site: Site) -> list[str]:
        """Return the folder, if it is not there."""
        folder = site.path(self.folder)
        return [] if folder.is_dir() else [str(folder)]


class FilesSinkTable(SinkTable, frozen=True, tag="files"):
    """`[sink] kind = "files"`: one folder per release."""

    folder: str

    def place(self, site: Site) -> str:
        """Return the folder of all releases."""
        return str(site.path(self.folder))

    def release_sink(self, site: Site) -> ReleaseSink:
        """Return a sink that makes a folder for each release."""
        from ktsafe.connectors.files import FileReleaseSink

        return FileReleaseSink(site.path(self.folder))

    def release_reader(self, site: Site) -> ReleaseReader:
        """Return a reader of the folder."""
        from ktsafe.connectors.files import FileReleaseReader

        return FileReleaseReader(site.path(self.folder))

    def folder_handed_out(self, site: Site) -> Path:
        """Return the folder of all releases."""
        return site.path(self.folder)


class KafkaSinkTable(OfTopic, SinkTable, frozen=True, tag="kafka"):
    """`[sink] kind = "kafka"`: a topic of one partition, written in transactions."""

    topic: Name

    def release_sink(self, site: Site) -> ReleaseSink:
        """Return a sink that writes chunks and a marker."""
        from ktsafe.connectors.kafka_topics import KafkaReleaseSink

        # One service alone publishes to a topic: a second one is fenced by the same id.
        return KafkaReleaseSink(site.cluster, self.topic, transactional_id=f"ktsafe-{self.topic}")

    def release_reader(self, site: Site) -> ReleaseReader:
        """Return a reader of the topic."""
        from ktsafe.connectors.kafka_topics import KafkaReleaseReader

        return KafkaReleaseReader(site.cluster, self.topic)


class FilesDeadLettersTable(DeadLettersTable, frozen=True, kw_only=True, tag="files"):
    """`[dead_letters] kind = "files"`: one JSON line per letter."""

    path: str

    def place(self, site: Site) -> str:
        """Return the file."""
        return str(site.path(self.path))

    def dead_letter_sink(self, site: Site) -> DeadLetterSink:
        """Return a sink that appends lines."""
        from ktsafe.connectors.files import FileDeadLetterSink

        return FileDeadLetterSink(site.path(self.path))

    def letters(self, site: Site) -> Iterator[Letter]:
        """Yield the lines; the first letter makes the file."""
        path = site.path(self.path)
        if path.exists():
            with path.open("rb") as lines:
                yield from map(json.loads, lines)

    def erase(self, site: Site, ids: Sequence[str]) -> int | None:
        """Blank letters in the file."""
        from ktsafe.connectors.files import blank_dead_letters

        return blank_dead_letters(site.path(self.path), [name.encode() for name in ids])

    def private_file(self, site: Site) -> Path:
        """Return the file."""
        return site.path(self.path)


class KafkaDeadLettersTable(OfTopic, DeadLettersTable, frozen=True, kw_only=True, tag="kafka"):
    """`[dead_letters] kind = "kafka"`.

    A topic, with error headers in the manner of Connect.
    """

    topic: Name

    def dead_letter_sink(self, site: Site) -> DeadLetterSink:
        """Return a sink that writes records."""
        from ktsafe.connectors.kafka_topics import KafkaDeadLetterSink

        return KafkaDeadLetterSink(site.cluster, self.topic)

    def letters(self, site: Site) -> Iterator[Letter]:
        """Yield the topic's letters, as a file has them."""
        from ktsafe.connectors.kafka_topics import read_records

        for record in read_records(site.cluster, self.topic):
            told = {
                n: v.decode(errors="replace") for n, v in record.headers if n.startswith(PREFIX)
            }
            rest = [[n, _base64(v)] for n, v in record.headers if not n.startswith(PREFIX)]
            content = {"key": _base64(record.key), "value": _base64(record.value), "headers": rest}
            if {name.removeprefix(PREFIX) for name in told} >= LETTER_FIELDS:
                yield {**told, **content}


class FileSigningTable(SigningTable, frozen=True, kw_only=True, tag="file"):
    """`[signing] kind = "file"`.

    An Ed25519 private key in PEM, readable by its owner only.
    """

    key_file: str

    def place(self, site: Site) -> str:
        """Return the file."""
        return str(site.path(self.key_file))

    def signer(self, site: Site) -> Signer:
        """Return what signs with the key in the file."""
        from ktsafe.connectors.secrets import FileSigner

        return FileSigner(site.path(self.key_file))


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


BUILT_IN: Final[dict[str, tuple[type[ConnectorTable], ...]]] = {
    "source": (FilesSourceTable, KafkaSourceTable, SnapshotsSourceTable),
    "sink": (FilesSinkTable, KafkaSinkTable),
    "dead_letters": (FilesDeadLettersTable, KafkaDeadLettersTable),
    "signing": (FileSigningTable,),
}
"""The kinds of each table."""
