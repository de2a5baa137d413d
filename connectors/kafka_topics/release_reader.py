"""Reads releases back from a topic.

Pauses, `SETS_MAX` and words may be changed. Nothing of a release leaves before all of it is
compared, and whatever others wrote to the topic is passed over or refused
(tests/connectors/test_chunks.py, tests/integration/test_kafka_releases.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import logging
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka import errors as kafka_errors
from kafka.consumer.fetcher import ConsumerRecord

from ktsafe.connectors import bundles
from ktsafe.connectors.base import (
    MANIFEST,
    OffsetLost,
    PublishedRelease,
    ReleaseBundle,
    SinkConflict,
    Unavailable,
)
from ktsafe.connectors.bundles import is_safe_name
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import chunks, client
from ktsafe.connectors.kafka_topics.chunks import Marker, ReleasePart

log = logging.getLogger(__name__)

POLL_MS: Final = 500
VERIFY_S: Final = 1.0
"""How long records may come before it is verified that they are still the same topic's."""
REFRESH_S: Final = 2.0
"""How long the cluster may take to say which topic it is that was read."""
SETS_MAX: Final = 16
"""Unfinished releases kept at once; a service publishes one at a time."""
_COPY_BYTES: Final = 1024 * 1024


@dataclasses.dataclass
class PartSet:
    """Parts of one release found so far.

    Chunks lie in a spool file, not in memory.

    The file stays open: a topic may hold any number of small chunks.
    """

    spool: Path
    chunk_bytes: int = 0
    seqs: set[int] = dataclasses.field(default_factory=set)
    manifest: bytes = b""
    file: BinaryIO | None = None

    def take(self, part: ReleasePart) -> None:
        """Keep a part.

        One that comes again takes the place of the first.

        Chunks of another size than those before belong to another attempt, which began again.
        """
        if part.kind == chunks.MANIFEST:
            self.manifest = part.value
        elif part.kind == chunks.CHUNK:
            if len(part.value) != self.chunk_bytes:
                self.drop()
                self.chunk_bytes = len(part.value)
            self.file = self.file or self.spool.open("w+b")
            self.file.seek(part.seq * self.chunk_bytes)
            self.file.write(part.value)
            self.seqs.add(part.seq)

    def complete(self, marker: Marker) -> bool:
        """Whether all of a marker's chunks are here and filled.

        A marker may say anything. Nothing is made of its numbers before they are found to be those
        of the chunks at hand, so what is written is never more than what was received.
        """
        size_fits = self.chunk_bytes == marker.chunk_bytes or not marker.chunks
        counted = sum(seq < marker.chunks for seq in self.seqs)
        lengths = [length for _, length in marker.files]
        room = marker.chunks * self.chunk_bytes
        fits = all(0 <= length <= room for length in lengths) and sum(lengths) <= room
        return size_fits and counted == marker.chunks and fits and bool(self.manifest)

    def drop(self) -> None:
        """Forget all chunks."""
        if self.file is not None:
            self.file.close()
            self.file = None
        self.spool.unlink(missing_ok=True)
        self.seqs.clear()


class KafkaReleaseReader:
    """Reads complete releases of a topic. Implements `ktsafe.connectors.base.ReleaseReader`.

    Only committed records count, and only sets that a marker completes. A release whose first
    chunks retention has removed is ignored with a warning, if it is the first that is left.
    """

    def __init__(self, settings: KafkaSettings, topic: str) -> None:
        self._settings = settings
        self._topic = topic
        self._closed = threading.Event()
        self._verified_s = 0.0

    def read(self, into: Path, *, follow: bool = False) -> Iterator[ReleaseBundle]:
        """Yield every complete release, rebuilt in `into/<release_id>/`."""
        into.mkdir(parents=True, exist_ok=True)
        spools = into / ".parts"
        shutil.rmtree(spools, ignore_errors=True)
        spools.mkdir()
        sets: dict[str, PartSet] = {}
        done: dict[str, str] = {}
        whole: dict[str, ReleaseBundle] = {}
        try:
            for record in self._records(follow=follow):
                part = chunks.decode(record)
                if part is None or not is_safe_name(part.release_id):
                    continue
                if part.kind == chunks.WITHDRAWN:
                    bundle = whole.get(part.release_id)
                    if bundle is not None and bundle.folder.exists() and chunks.intact(part):
                        bundles.lay_marker(bundle.folder, part.value)
                        yield bundle
                    continue
                if part.release_id not in sets and len(sets) == SETS_MAX:
                    sets.pop(next(iter(sets))).drop()
                found = sets.get(part.release_id)
                if found is None:
                    found = sets[part.release_id] = PartSet(spools / part.release_id)
                if part.kind != chunks.MARKER:
                    if chunks.intact(part) and part.release_id not in done:
                        found.take(part)
                    continue
                marker = chunks.decode_marker(part)
                if marker is None:
                    hint = "its marker is damaged, or of another version. Do not use this copy."
                    raise SinkConflict("read releases", f"release {part.release_id}", hint)
                if not self._repeated(marker, done):
                    bundle = self._finish(found, marker, into, record, first=not done)
                    done[marker.release_id] = marker.manifest_sha256
                    if bundle is not None:
                        whole[bundle.release_id] = bundle
                        yield bundle
                found.drop()
                del sets[part.release_id]
        finally:
            for unfinished in sets.values():
                unfinished.drop()
            shutil.rmtree(spools, ignore_errors=True)

    def check(self) -> Iterator[PublishedRelease]:
        """Yield every complete release, once it is read and compared."""
        return bundles.checked(self)

    def close(self) -> None:
        """End a `read` that follows, within half a second."""
        self._closed.set()

    def _records(self, *, follow: bool) -> Iterator[Any]:
        """Yield committed records, up to the present end, or for ever."""
        settings, topic = self._settings, self._topic
        topic_id = client.topic_there("read releases", topic, settings).topic_id
        at = KafkaTopicPartition(topic, 0)
        with client.reading("read releases", topic, settings, retry=True) as consumer:
            with client.translated("read releases", topic, settings):
                consumer.assign([at])
                consumer.seek(at, consumer.beginning_offsets([at])[at])
                end = consumer.end_offsets([at])[at]
            heard_s = time.monotonic()
            while not self._closed.is_set() and (follow or consumer.position(at, 0) < end):
                records = self._poll(consumer, at, topic_id)
                yield from records
                if records or follow:
                    heard_s = time.monotonic()
                elif time.monotonic() - heard_s > settings.request_timeout_s:
                    silent = f"the cluster at {settings.address} went silent."
                    hint = f"{silent} Check the brokers, then read again."
                    raise Unavailable("read releases", topic, hint)

    def _poll(self, consumer: KafkaConsumer, at: KafkaTopicPartition, topic_id: str) -> list[Any]:
        try:
            records: list[Any] = consumer.poll(timeout_ms=POLL_MS).get(at, [])
        except (kafka_errors.OffsetOutOfRangeError, kafka_errors.LogTruncationError) as error:
            self._check_topic_id(consumer, topic_id)
            hint = (
                f"what follows is no longer there ({type(error).__name__}): retention removed it "
                "before it was read. Read the topic anew."
            )
            raise OffsetLost("read releases", self._topic, hint) from None
        except kafka_errors.RetriableError:
            return []
        except kafka_errors.KafkaError as error:
            raise client.translate(error, "read releases", self._topic, self._settings) from None
        if records and time.monotonic() - self._verified_s > VERIFY_S:
            self._verified_s = time.monotonic()
            self._check_topic_id(consumer, topic_id)
        return records

    def _check_topic_id(self, consumer: KafkaConsumer, topic_id: str) -> None:
        """Refuse a topic in the place of the one read so far.

        kafka-python reads by name: records of a new topic would pass for the next ones of the old.
        """
        with suppress(kafka_errors.KafkaError):
            client.refresh_metadata(consumer, REFRESH_S)
        if client.known_topic_id(consumer, self._topic) not in {None, topic_id}:
            hint = (
                "the topic was deleted and made again while it was read. Read it anew, into "
                "another folder: its releases are of another sequence, or were sent again."
            )
            raise SinkConflict("read releases", self._topic, hint)

    def _repeated(self, marker: Marker, done: dict[str, str]) -> bool:
        """Whether this release came before; it must have been the same."""
        digest = done.get(marker.release_id)
        if digest is not None and digest != marker.manifest_sha256:
            hint = "the topic holds two releases of this id with other bytes. Do not use either."
            raise SinkConflict("read releases", f"release {marker.release_id}", hint)
        return digest is not None

    def _finish(
        self, found: PartSet, marker: Marker, into: Path, record: ConsumerRecord, *, first: bool
    ) -> ReleaseBundle | None:
        """Rebuild a complete release and check every byte."""
        release_id = marker.release_id
        if not found.complete(marker):
            if first:
                log.warning("release %s: retention has removed its beginning", release_id)
                return None
            raise bundles.damaged(release_id, "its chunks")
        if hashlib.sha256(found.manifest).hexdigest() != marker.manifest_sha256:
            raise bundles.damaged(release_id, MANIFEST)
        sums = bundles.manifest_sums(found.manifest, release_id)
        if sorted(name for name, _ in marker.files) != sorted(sums):
            raise bundles.damaged(release_id, "its marker")
        temporary = into / f".tmp-{release_id}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        (temporary / MANIFEST).write_bytes(found.manifest)
        split(found.file or io.BytesIO(), temporary, marker.files)
        bundles.check_folder(temporary, release_id)
        bundles.put_in_place(temporary, into / release_id)
        names = tuple(name for name, _ in marker.files)
        return ReleaseBundle(release_id, record.timestamp, into / release_id, (MANIFEST, *names))


def split(stream: BinaryIO, folder: Path, files: list[tuple[str, int]]) -> None:
    """Cut a stream of chunks into the files it holds."""
    stream.seek(0)
    for name, length in files:
        with (folder / name).open("wb") as file:
            left = length
            while left and (block := stream.read(min(left, _COPY_BYTES))):
                file.write(block)
                left -= len(block)
