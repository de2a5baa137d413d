"""Encoding of a release as records of a topic.

All of this is a format that readers of others know (docs/asyncapi.yaml, tests/test_schemas.py): a
change needs another `FORMAT`. Records stay of one size and uncompressed
(tests/security/test_leaks.py). `WINDOW` and `POLL_MS` may be tuned.

All files but the manifest, in published order, are one stream of bytes, cut into chunks of equal
size, the last one padded with zeros: neither the number of bytes of a record nor its order tells
anything about a vertex. Every record has the headers `release_id`, `seq`, `kind` and `sha256` (of
its value) and no others, and the release's nominal time as its timestamp.

    kind      seq    value
    chunk     0..n-1 `chunk_bytes` bytes
    manifest  n      manifest.json
    marker    n+1    a `Marker` as JSON: the release is complete
    withdrawn 0      why its owner has withdrawn it, at any time later

Chunks may be spread over several transactions; manifest and marker come in the last. A release that
is sent again after a failure begins again at seq 0 with the same bytes.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from ktsafe.connectors.base import PublishedRelease, Unavailable
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import client

CHUNK: Final = "chunk"
MANIFEST: Final = "manifest"
MARKER: Final = "marker"
WITHDRAWN: Final = "withdrawn"
FORMAT: Final = 1
SEQ_MAX: Final = 1_000_000
"""Half a terabyte of the chunks that are published; their numbers take a reader 100 MB."""


class Marker(msgspec.Struct, frozen=True):
    """The last record of a release.

    Attributes
    ----------
    manifest_sha256:
        Fixes every byte of the release.
    files:
        Name and length of each file in the stream of chunks, in order.
    """

    format: int
    release_id: str
    manifest_sha256: str
    chunks: int
    chunk_bytes: int
    files: list[tuple[str, int]]


class ReleasePart(NamedTuple):
    """One record of a release."""

    release_id: str
    seq: int
    kind: str
    sha256: str
    value: bytes

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the headers as they are published: these four and no others."""
        return [
            ("release_id", self.release_id.encode()),
            ("seq", str(self.seq).encode()),
            ("kind", self.kind.encode()),
            ("sha256", self.sha256.encode()),
        ]


def part(release_id: str, seq: int, kind: str, value: bytes) -> ReleasePart:
    """Return a record of a release."""
    return ReleasePart(release_id, seq, kind, hashlib.sha256(value).hexdigest(), value)


def cut(folder: Path, names: Sequence[str], chunk_bytes: int) -> Iterator[bytes]:
    """Yield the files' bytes as equal chunks, the last one padded."""
    rest = b""
    for name in names:
        with (folder / name).open("rb") as file:
            while block := file.read(chunk_bytes - len(rest)):
                rest += block
                if len(rest) == chunk_bytes:
                    yield rest
                    rest = b""
    if rest:
        yield rest.ljust(chunk_bytes, b"\0")


def decode(record: ConsumerRecord) -> ReleasePart | None:
    """Return the release part in a consumed record, else None.

    The sha256 is not checked here.
    """
    headers = {name: value for name, value in record.headers if value is not None}
    try:
        found = ReleasePart(
            release_id=headers["release_id"].decode(),
            seq=int(headers["seq"]),
            kind=headers["kind"].decode(),
            sha256=headers["sha256"].decode(),
            value=record.value or b"",
        )
    except (KeyError, ValueError):
        return None
    return found if 0 <= found.seq < SEQ_MAX else None


def intact(found: ReleasePart) -> bool:
    """Whether the value is what its sha256 says."""
    return hashlib.sha256(found.value).hexdigest() == found.sha256


def decode_marker(found: ReleasePart) -> Marker | None:
    """Return a part's marker, None if damaged or of a later format."""
    if found.kind != MARKER or not intact(found):
        return None
    try:
        marker = msgspec.json.decode(found.value, type=Marker)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return marker if marker.format == FORMAT and marker.release_id == found.release_id else None


# Finds a topic's last complete release, backwards from its end.

WINDOW: Final = 16
"""Offsets looked at first; each further step back looks at twice as many."""
POLL_MS: Final = 20
"""Short, because a poll that meets nothing but control records waits for its whole time."""


def last_release(settings: KafkaSettings, topic: str) -> PublishedRelease | None:
    """Return the last release with a committed marker.

    Waits until no transaction is open, so the answer is final: the caller has fenced off
    the producer that may have left one.

    Raises
    ------
    kafka.errors.KafkaError
        If the cluster does not answer within `request_timeout_s`.
    Unavailable
        If a transaction stays open as long.
    """
    with client.reading("read releases", topic, settings) as consumer:
        at = KafkaTopicPartition(topic, 0)
        consumer.assign([at])
        deadline = time.monotonic() + settings.request_timeout_s
        beginning = consumer.beginning_offsets([at])[at]
        end = stable_end(consumer, at, beginning, deadline)
        size = WINDOW
        stop = end
        while stop > beginning:
            start = max(beginning, stop - size)
            marker = _last_marker(consumer, at, start, stop, settings)
            if marker is not None:
                return PublishedRelease(marker.release_id, marker.manifest_sha256)
            stop, size = start, size * 2
        return None


def stable_end(
    consumer: KafkaConsumer, at: KafkaTopicPartition, beginning: int, deadline: float
) -> int:
    """Return the end of a partition once no transaction is open there.

    The committed end is compared with the end of everything. The latter comes with a fetch, which
    is the only way kafka-python tells it to a consumer that reads committed records.
    """
    while True:
        end: int = consumer.end_offsets([at])[at]
        # From the last record, not from the end: there the broker would wait for more.
        consumer.seek(at, max(beginning, end - 1))
        consumer.poll(timeout_ms=POLL_MS)
        everything = consumer.highwater(at)
        if everything is not None and everything <= end:
            return end
        if time.monotonic() > deadline:
            hint = (
                "another producer has a transaction open on it, and what it holds is not known "
                "before that ends. Only this service may write there."
            )
            raise Unavailable("read releases", at.topic, hint)


def _last_marker(
    consumer: KafkaConsumer, at: KafkaTopicPartition, start: int, stop: int, settings: KafkaSettings
) -> Marker | None:
    """Return the last marker in a range of offsets."""
    found = None
    for record in client.records_between(consumer, at, start, stop, settings, POLL_MS):
        part = decode(record)
        if part is not None:
            found = decode_marker(part) or found
    return found
