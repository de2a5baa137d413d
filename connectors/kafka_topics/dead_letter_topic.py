"""Dead letters with Kafka Connect's error headers, and plain records.

Bounds may be tuned within what a record of 1 MiB holds. Headers are those of
`ktsafe.connectors.letters` (docs/asyncapi.yaml, tests/test_schemas.py); `write` returns when all
in-sync replicas have the letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from typing import Any, Final

from kafka import KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition
from kafka import errors as kafka_errors

from ktsafe.connectors.base import DeadLetter
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import client
from ktsafe.connectors.letters import DEAD_LETTER_BYTES_MAX, PREFIX, error_fields, keep

HEADER_BYTES_MAX: Final = 32 * 1024
"""Original headers beyond this are left out, and counted."""
KEY_BYTES_MAX: Final = 32 * 1024
FRAME_BYTES: Final = 128 * 1024
"""Room in a request for everything but the value."""


class KafkaDeadLetterSink:
    """Writes to a topic. Implements `ktsafe.connectors.base.DeadLetterSink`.

    A letter keeps key, value and headers of its record (up to bounds) and adds
    `__connect.errors.*`: topic, partition, offset, stage, exception.class.name (the reason), ...;
    `length` and `sha256` where the value was cut. Its timestamp is the time of writing: a broker
    would refuse an absurd one, and with it everything behind it. A letter may come twice; readers
    drop repeats by topic, partition and offset.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        *,
        dead_letter_bytes_max: int = DEAD_LETTER_BYTES_MAX,
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._bytes_max = dead_letter_bytes_max
        self._producer: Any = None
        self._has_worked = False

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Send `letters` and wait until all are acknowledged by every in-sync replica."""
        topic, settings = self._topic, self._settings
        try:
            producer = self._connected()
            sent = [producer.send(topic, **self._record(letter)) for letter in letters]
            producer.flush(timeout=settings.request_timeout_s)
            for future in sent:
                future.get(timeout=1)
        except (kafka_errors.KafkaError, OSError) as error:
            self.close()
            raise client.translate(
                error, "write dead letters", topic, settings, at_work=self._has_worked
            ) from None
        self._has_worked = True

    def close(self) -> None:
        """Close the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            client.drop_producer(producer, timeout_s=2)

    def _connected(self) -> Any:
        if self._producer is None:
            topic, settings = self._topic, self._settings
            # Rights that were there and are gone may come back: the first record tells.
            rights = () if self._has_worked else ("WRITE",)
            client.topic_there(
                "write dead letters", topic, settings, *rights, at_work=self._has_worked
            )
            options = {
                **client.producing_options(settings),
                "max_request_size": self._bytes_max + FRAME_BYTES,
            }
            self._producer = client.connect(
                lambda: KafkaProducer(**options), "write dead letters", topic, settings, retry=False
            )
        return self._producer

    def _record(self, letter: DeadLetter) -> dict[str, Any]:
        record = letter.record
        kept = keep(record, self._bytes_max)
        headers, size = [], 0
        for name, value in record.headers:
            size += len(name) + len(value)
            if size <= HEADER_BYTES_MAX:
                headers.append((name, value))
        added = error_fields(letter)
        if len(headers) < len(record.headers):
            added["headers.dropped"] = str(len(record.headers) - len(headers))
        if kept is not None and kept.sha256 is not None:
            added |= {"length": str(kept.length), "sha256": kept.sha256}
        headers += [(f"{PREFIX}{name}", text.encode()) for name, text in added.items()]
        key = None if record.key is None else record.key[:KEY_BYTES_MAX]
        data = None if kept is None else kept.data
        if key is None and data is None:
            data = b""  # A record of nothing at all cannot be sent.
        return {"key": key, "value": data, "headers": headers}


# Send records to a topic, or read one to its end.

POLL_MS: Final = 200


def send_values(settings: KafkaSettings, topic: str, values: Iterable[bytes]) -> Iterator[int]:
    """Send values without keys to partitions in turn; yield the progress.

    All are acknowledged by every in-sync replica when the iterator ends.

    Raises
    ------
    Misconfigured, Unavailable
    """
    op = "send events"
    partitions = client.topic_there(op, topic, settings).partitions
    options = {**client.producing_options(settings), "linger_ms": 20}
    producer = client.connect(lambda: KafkaProducer(**options), op, topic, settings, retry=False)
    failures: list[Exception] = []
    try:
        with client.translated(op, topic, settings):
            for count, (value, at) in enumerate(zip(values, cycle(partitions), strict=False), 1):
                sent = producer.send(topic, value=value, partition=at)
                sent.add_errback(failures.append)
                if failures:
                    break
                yield count
            producer.flush(timeout=settings.request_timeout_s)
            if failures:
                raise failures[0]
    finally:
        client.drop_producer(producer, timeout_s=2)


def read_records(settings: KafkaSettings, topic: str) -> Iterator[Any]:
    """Yield the records that a topic holds now, partition by partition.

    Raises
    ------
    Misconfigured, Unavailable
    """
    op = "read records"
    partitions = client.topic_there(op, topic, settings).partitions
    with (
        client.reading(op, topic, settings) as consumer,
        client.translated(op, topic, settings),
    ):
        for at in (KafkaTopicPartition(topic, partition) for partition in partitions):
            consumer.assign([at])
            begin, end = consumer.beginning_offsets([at])[at], consumer.end_offsets([at])[at]
            yield from client.records_between(consumer, at, begin, end, settings, POLL_MS)
