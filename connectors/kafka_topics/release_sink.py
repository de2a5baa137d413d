"""Publishes releases to a topic in transactions.

Sizes and times may be tuned, within what brokers allow; every size of a chunk is readable. The
three steps of `KafkaReleaseSink` must stay in order, and compression off:
tests/integration/test_kafka_releases.py kills broker and sink in between.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from kafka import KafkaProducer
from kafka import errors as kafka_errors

from ktsafe.connectors import bundles
from ktsafe.connectors.base import (
    MANIFEST,
    ConnectorError,
    Misconfigured,
    PublishedRelease,
    ReleaseBundle,
    Unavailable,
)
from ktsafe.connectors.bundles import is_safe_name
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import chunks, client
from ktsafe.connectors.kafka_topics.chunks import ReleasePart, last_release

log = logging.getLogger(__name__)

CHUNK_BYTES: Final = 512 * 1024
TRANSACTION_BYTES_MAX: Final = 64 * 1024 * 1024
TRANSACTION_TIMEOUT_S: Final = 60.0
"""After so long without its end the broker aborts a transaction."""
DOUBT_S: Final = TRANSACTION_TIMEOUT_S
"""How long after a failure a broker may still carry out what was given up."""
FLUSH_BYTES: Final = 8 * 1024 * 1024
"""Bytes that may wait in memory for the broker."""

_FENCED: Final = (kafka_errors.ProducerFencedError, kafka_errors.InvalidProducerEpochError)


class KafkaReleaseSink:
    """Publishes to a topic of one partition. Implements `ktsafe.connectors.base.ReleaseSink`.

    Each attempt follows the same steps, whatever the one before left behind:

    1. `init_transactions` ends what an earlier attempt or instance left open, and fences it off;
    2. the tail of the topic, read committed, tells the last complete release: if it is this one,
       all is done;
    3. the parts go out in transactions of at most `TRANSACTION_BYTES_MAX`, manifest and marker in
       the last one.

    Any failure gives the producer up, so the next attempt begins at step 1.

    A broker that stood still may carry out what we asked for long after we gave it up, step 1 too.
    A later producer is fenced off then, even if that is our own next producer: for a while after
    a failure being fenced off does not tell that another instance is there, and is tried again.

    Parameters
    ----------
    transactional_id:
        Stable name of this publisher; of two instances with the same one the later wins.
    chunk_bytes, transaction_bytes_max:
        Size of a chunk, and of the values of one transaction.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        *,
        transactional_id: str,
        chunk_bytes: int = CHUNK_BYTES,
        transaction_bytes_max: int = TRANSACTION_BYTES_MAX,
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._transactional_id = transactional_id
        self._chunk_bytes = chunk_bytes
        self._transaction_bytes_max = transaction_bytes_max
        self._producer: Any = None
        self._fenced = False
        self._at_work = False
        self._began_s = 0.0
        self._doubt_until_s = 0.0
        self._doubtful = False

    def open(self) -> None:
        """Check the topic and fence off earlier instances."""
        settings, topic = self._settings, self._topic
        info = client.topic_there("open sink", topic, settings, "READ", "WRITE")
        if len(info.partitions) != 1:
            hint = (
                f"releases need a topic of exactly one partition ({len(info.partitions)} found). "
                "Create one with `ktsafe config CONFIG --topics --create`."
            )
            raise Misconfigured("open sink", topic, hint)
        with client.translated("open sink", topic, settings):
            self._take_over(retry=True)

    def last(self) -> PublishedRelease | None:
        """Return the last release with a committed marker."""
        settings = self._settings
        with client.translated("read releases", self._topic, settings, at_work=self._at_work):
            return last_release(self._settings, self._topic)

    def present(self) -> None:
        """Return nothing: a topic stays as it is until retention removes records."""

    def publish(self, bundle: ReleaseBundle) -> None:
        """Publish `bundle` unless it is there already."""
        if self._fenced:
            raise bundles.fenced(self._topic)
        release = bundles.check_bundle(bundle)
        self._at_work = True
        self._began_s = time.monotonic()
        try:
            # Step 1
            self._take_over(retry=False)
            # Step 2
            if not bundles.check_order(release, self.last(), self._topic):
                # Step 3
                self._send_all(bundle, release)
        except (kafka_errors.KafkaError, OSError, RuntimeError) as error:
            raise self._ended_by(error) from None
        except Unavailable:
            self._give_up()
            raise

    def _ended_by(self, error: Exception) -> ConnectorError:
        """Drop the producer; return what its error means."""
        op, topic, settings = "publish release", self._topic, self._settings
        cause = self._cause(error)
        if not isinstance(cause, _FENCED):
            self._give_up()
            return client.translate(cause, op, topic, settings, at_work=True)
        by_ourselves = self._doubtful
        self._drop()
        # Or this process stood still until the broker aborted its transaction.
        if by_ourselves or time.monotonic() - self._began_s > TRANSACTION_TIMEOUT_S:
            return client.translate(cause, op, topic, settings)
        self._fenced = True
        return bundles.fenced(topic)

    def _cause(self, error: Exception) -> Exception:
        """Return what the broker refused, if it did.

        Else the error as it is.

        One call meets a refusal. To every later one kafka-python says that the producer cannot go
        on, and no more: after a fencing, taking over then would fence off the instance that took
        over from us.
        """
        manager = getattr(self._producer, "_transaction_manager", None)
        refusal: Exception | None = getattr(manager, "last_error", None)
        return error if refusal is None or isinstance(error, _FENCED) else refusal

    def withdraw(self, release_id: str, marker: bytes) -> None:
        """Append a record that withdraws a release, without fencing off a producer."""
        op, settings, topic = "withdraw release", self._settings, self._topic
        last = self.last()
        if not is_safe_name(release_id) or last is None or release_id > last.release_id:
            raise bundles.not_there(release_id)
        part = chunks.part(release_id, 0, chunks.WITHDRAWN, marker)
        options = client.producing_options(settings)
        producer = client.connect(
            lambda: KafkaProducer(**options), op, topic, settings, retry=False
        )
        try:
            with client.translated(op, topic, settings):
                sent = producer.send(
                    topic, value=part.value, key=b"0", headers=part.headers(), partition=0
                )
                producer.flush(timeout=settings.request_timeout_s)
                sent.get(timeout=1)
        finally:
            client.drop_producer(producer, timeout_s=2)

    def close(self) -> None:
        """Close the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            client.drop_producer(producer, timeout_s=2)

    def _take_over(self, *, retry: bool) -> None:
        """Make a producer and fence off earlier ones, unless ours works."""
        if self._producer is not None:
            return
        options = self._options()
        producer = client.connect(
            lambda: KafkaProducer(**options), "open sink", self._topic, self._settings, retry=retry
        )
        self._producer = producer
        asked_s = time.monotonic()
        try:
            client.bounded(producer.init_transactions, self._settings.request_timeout_s + 5, "init")
        except BaseException:
            self._give_up()
            raise
        if time.monotonic() - asked_s >= self._settings.request_timeout_s:
            # kafka-python asked more than once, and only one of the requests is answered.
            self._begin_doubt()
        self._doubtful = time.monotonic() < self._doubt_until_s

    def _options(self) -> dict[str, Any]:
        return {
            **client.producing_options(self._settings),
            "transactional_id": self._transactional_id,
            "transaction_timeout_ms": int(TRANSACTION_TIMEOUT_S * 1000),
            # The size of a compressed record would tell about what is in it.
            "compression_type": None,
        }

    def _send_all(self, bundle: ReleaseBundle, release: PublishedRelease) -> None:
        batch: list[ReleasePart] = []
        size = 0
        for part in self._parts(bundle, release):
            closing = part.kind != chunks.CHUNK
            if batch and size + len(part.value) > self._transaction_bytes_max and not closing:
                self._transaction(batch, bundle)
                batch, size = [], 0
            batch.append(part)
            size += len(part.value)
        self._transaction(batch, bundle)

    def _parts(self, bundle: ReleaseBundle, release: PublishedRelease) -> Iterator[ReleasePart]:
        release_id, names = bundle.release_id, bundle.files[1:]
        seq = 0
        for value in chunks.cut(bundle.folder, names, self._chunk_bytes):
            yield chunks.part(release_id, seq, chunks.CHUNK, value)
            seq += 1
        manifest = (bundle.folder / MANIFEST).read_bytes()
        yield chunks.part(release_id, seq, chunks.MANIFEST, manifest)
        marker = chunks.Marker(
            format=chunks.FORMAT,
            release_id=release_id,
            manifest_sha256=release.digest,
            chunks=seq,
            chunk_bytes=self._chunk_bytes,
            files=[(name, (bundle.folder / name).stat().st_size) for name in names],
        )
        yield chunks.part(release_id, seq + 1, chunks.MARKER, msgspec.json.encode(marker))

    def _transaction(self, parts: list[ReleasePart], bundle: ReleaseBundle) -> None:
        """Send `parts` in one transaction.

        Ends, one way or the other, before the broker would abort it: a fenced error then means
        another instance and not a slow one.
        """
        producer = self._producer
        self._began_s = time.monotonic()
        deadline = self._began_s + TRANSACTION_TIMEOUT_S * 0.8
        producer.begin_transaction()
        sent = []
        waiting = 0
        for part in parts:
            sent.append(
                producer.send(
                    self._topic,
                    value=part.value,
                    key=str(part.seq).encode(),
                    headers=part.headers(),
                    partition=0,
                    timestamp_ms=bundle.nominal_time_ms,
                )
            )
            waiting += len(part.value)
            if waiting >= FLUSH_BYTES:
                _flush(producer, deadline)
                waiting = 0
        _flush(producer, deadline)
        for future in sent:
            future.get(timeout=1)
        client.bounded(producer.commit_transaction, deadline - time.monotonic(), "commit")

    def _give_up(self) -> None:
        """Give up the producer with its unanswered requests."""
        self._drop()
        self._begin_doubt()

    def _begin_doubt(self) -> None:
        """Reckon with it from now on, for a while."""
        self._doubt_until_s = time.monotonic() + DOUBT_S

    def _drop(self) -> None:
        """Abort the open transaction and drop the rest.

        So readers need not wait for its timeout.
        """
        producer, self._producer = self._producer, None
        if producer is None:
            return
        manager = producer._transaction_manager  # noqa: SLF001
        if manager is not None and manager.is_transactional():
            client.close_quietly(producer.abort_transaction)
        client.drop_producer(producer, timeout_s=1)


def _flush(producer: KafkaProducer, deadline: float) -> None:
    producer.flush(timeout=max(0.1, deadline - time.monotonic()))
