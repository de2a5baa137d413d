"""Send records to a topic, or read one to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import Any, Final

from kafka import KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition

from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import client

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
