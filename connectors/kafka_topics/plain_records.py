"""Records as they are: sent to a topic, or read from it up to its end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaTopicPartition
from kafka import errors as kafka_errors

from connectors.errors import Misconfigured
from connectors.kafka_settings import KafkaSettings
from connectors.kafka_topics import client


def send_values(settings: KafkaSettings, topic: str, values: Iterable[bytes]) -> Iterator[int]:
    """Send values without keys, to each partition in turn, and yield how many went so far.

    All are acknowledged by every in-sync replica when the iterator ends.

    Raises
    ------
    Misconfigured, Unavailable
    """
    op = "send events"
    partitions = _partitions(op, settings, topic)
    options = {
        **client.bootstrap_options(settings),
        "acks": "all",
        "linger_ms": 20,
        "max_block_ms": int(settings.request_timeout_s * 1000),
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
    }
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
    partitions = _partitions(op, settings, topic)
    options = client.reading_options(settings)
    consumer = client.connect(lambda: KafkaConsumer(**options), op, topic, settings, retry=False)
    try:
        with client.translated(op, topic, settings):
            for partition in partitions:
                yield from _held(consumer, KafkaTopicPartition(topic, partition), settings)
    finally:
        client.close_quietly(lambda: consumer.close(autocommit=False, timeout_ms=1000))


def _held(consumer: Any, at: KafkaTopicPartition, settings: KafkaSettings) -> Iterator[Any]:
    consumer.assign([at])
    consumer.seek_to_beginning(at)
    end = consumer.end_offsets([at])[at]
    deadline = time.monotonic() + settings.request_timeout_s
    while consumer.position(at) < end:
        for record in consumer.poll(timeout_ms=200).get(at, []):
            deadline = time.monotonic() + settings.request_timeout_s
            if record.offset < end:
                yield record
        if time.monotonic() > deadline:
            raise kafka_errors.KafkaTimeoutError("the topic cannot be read")


def _partitions(op: str, settings: KafkaSettings, topic: str) -> tuple[int, ...]:
    with client.admin_client(op, topic, settings) as admin:
        info = client.describe_topic(admin, topic, settings)
    if info is None:
        hint = "there is no such topic. Create it with `ktsafe topics create`."
        raise Misconfigured(op, topic, hint)
    return info.partitions
