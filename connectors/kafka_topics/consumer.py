"""The consumer of events: its records, from bytes, and its group's offsets.

Intervals may be tuned. Records must be those that kafka-python itself would read, which
tests/connectors/test_fetched_records.py compares; offsets of the group are for lag tools alone, and
a failure to commit holds nothing up.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka import errors as kafka_errors
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError
from kafka.record.util import decode_varint
from kafka.structs import OffsetAndMetadata

from ktsafe.connectors.base import Record, TopicPartition
from ktsafe.connectors.kafka_settings import GROUP, KafkaSettings
from ktsafe.connectors.kafka_topics import client

# Reads batches fetched by kafka-python, from bytes to `Record`.
#
# kafka-python makes two objects of each record and asks it for a dozen properties: most of what a
# poll takes a record. What surrounds the records stays with it: fetching,
# decompression, checksums, positions, which transactions were aborted.
#
#     batch    ...header... | record | record | ...
#     record   <length> <attributes:i8> <time: since the batch's first> <offset: since its base>
#              <key length> key <value length> value <headers> {<length> name <length> value}
#
# What is in angles is a varint in zigzag; the length of what is null is -1.

_NULL: Final = 1
"""The byte which says that there is no key: a length of -1."""


class FetchedRecords(Fetcher.PartitionRecords):  # type: ignore[misc]
    """What one fetch gave of one partition, read committed; for `KafkaConsumer._fetcher`."""

    def take(self, n: int | None = None) -> list[Record]:
        """Return the next records."""
        records: list[Record] = super().take(n)
        if records and self:
            self.next_fetch_offset = records[-1].offset + 1
        return records

    def _unpack_records(self, tp: Any, records: Any, *_deserializers: Any) -> Iterator[Record]:
        next_offset = self.next_fetch_offset
        while (batch := records.next_batch()) is not None:
            if self.check_crcs and not batch.validate_crc():
                raise CorruptRecordError(f"a batch of partition {tp.partition} is damaged")
            if batch.magic < 2:
                for found in batch:
                    next_offset = found.offset + 1
                    time_ms = found.timestamp if found.timestamp >= 0 else None
                    key, value = found.key, found.value
                    yield Record(tp.topic, tp.partition, found.offset, time_ms, key, value)
                continue
            self.leader_epoch = batch.leader_epoch
            next_offset = batch.next_offset
            if self._is_left_out(batch):
                self.next_fetch_offset = next_offset
            else:
                yield from unpacked(tp.topic, tp.partition, batch)
        self.next_fetch_offset = next_offset
        self.drain()

    def _is_left_out(self, batch: Any) -> bool:
        """Whether a batch ends a transaction, or is of an aborted one."""
        if batch.has_producer_id():
            self._consume_aborted_transactions_up_to(batch.last_offset)
            if self._contains_abort_marker(batch):
                self.aborted_producer_ids.discard(batch.producer_id)
            elif self._is_batch_aborted(batch):
                return True
        return bool(batch.is_control_batch)


def unpacked(topic: str, partition: int, batch: Any) -> list[Record]:
    """Return the records of a batch of format 2, checksum right.

    Raises
    ------
    kafka.errors.CorruptRecordError
        If it is no such batch all the same.
    """
    try:
        return _unpacked(topic, partition, batch)
    except (ValueError, IndexError) as error:
        raise CorruptRecordError(f"a batch does not read back: {type(error).__name__}") from None


def _unpacked(topic: str, partition: int, batch: Any) -> list[Record]:
    batch._maybe_uncompress()  # noqa: SLF001 -- no public way
    data, at = bytes(batch._buffer), batch._pos  # noqa: SLF001
    base_offset, first_ms = batch.base_offset, batch.first_timestamp
    appended_ms = batch.max_timestamp if batch.timestamp_type else None
    records: list[Record] = []
    for _ in range(batch.records_count):
        # Every record passes here: what is one byte in nearly all is read in place.
        while data[at] > 127:  # The length, which the checksum vouches for.
            at += 1
        since_ms, at = decode_varint(data, at + 2)
        delta, at = decode_varint(data, at)
        key, at = (None, at + 1) if data[at] == _NULL else _bytes(data, at)
        size, at = decode_varint(data, at)
        value = None if size < 0 else data[at : at + size]
        at += max(size, 0)
        headers, at = ((), at + 1) if data[at] == 0 else _headers(data, at)
        time_ms = first_ms + since_ms if appended_ms is None else appended_ms
        when = time_ms if time_ms >= 0 else None
        records.append(Record(topic, partition, base_offset + delta, when, key, value, headers))
    if at != len(data):
        raise CorruptRecordError("a batch does not end where its last record does")
    return records


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def _headers(data: bytes, at: int) -> tuple[tuple[tuple[str, bytes], ...], int]:
    """Return the headers of a record.

    A null value becomes empty bytes.
    """
    n_headers, at = decode_varint(data, at)
    if n_headers < 0:
        raise ValueError("fewer headers than none")
    headers = []
    for _ in range(n_headers):
        name, at = _bytes(data, at)
        value, at = _bytes(data, at)
        if name is None:
            raise ValueError("a header without a name")
        headers.append((name.decode(), value or b""))
    return tuple(headers), at


# Tells a consumer group the read position, for lag tools only.

log = logging.getLogger(__name__)

INTERVAL_S: Final = 1.0
"""Pause between commits; of several offsets the last one counts."""
RETRY_S: Final = 5.0
"""Pause after a commit that failed."""
COMMIT_TIMEOUT_S: Final = 5.0
CLOSE_TIMEOUT_S: Final = 3.0


class GroupOffsets:
    """Commits offsets from a thread and with a consumer of its own.

    Reading neither waits for the group's coordinator nor needs access to the group. The last
    offsets are tried again until they are committed, or others take their place.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._told: dict[TopicPartition, int] = {}
        self._waiting = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def tell(self, positions: Mapping[TopicPartition, int]) -> None:
        """Have `positions` committed soon; returns at once."""
        if not positions:
            return
        # A new mapping, so the thread never sees one change.
        self._told = {**self._told, **positions}
        self._waiting.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ktsafe-offsets", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Commit what was told last, within a bound."""
        self._closed.set()
        self._waiting.set()
        if self._thread is not None:
            self._thread.join(CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        consumer: Any = None
        behind = False
        while True:
            self._waiting.wait()
            self._waiting.clear()
            try:
                if consumer is None:
                    consumer = self._connect()
                self._commit(consumer)
                behind = False
            except Exception as error:  # noqa: BLE001 -- advisory: reading must not suffer
                if not (behind or self._closed.is_set()):
                    log.warning(
                        "offsets are not committed to group %s (%s): the service goes on, lag "
                        "tools know less",
                        GROUP,
                        type(error).__name__,
                    )
                behind = True
                self._waiting.set()
            if self._closed.wait(RETRY_S if behind else INTERVAL_S):
                break
        if consumer is not None:
            with suppress(kafka_errors.KafkaError):
                if self._waiting.is_set():
                    self._commit(consumer)
            client.drop_consumer(consumer)

    def _connect(self) -> Any:
        options = {
            **client.bootstrap_options(self._settings),
            "group_id": GROUP,
            "enable_auto_commit": False,
            "metrics_enabled": False,
        }
        return client.connect(
            lambda: KafkaConsumer(**options), "commit offsets", "", self._settings, retry=False
        )

    def _commit(self, consumer: KafkaConsumer) -> None:
        offsets = {
            KafkaTopicPartition(*at): OffsetAndMetadata(offset, "", -1)
            for at, offset in self._told.items()
        }
        consumer.commit(offsets, timeout_ms=int(COMMIT_TIMEOUT_S * 1000))
