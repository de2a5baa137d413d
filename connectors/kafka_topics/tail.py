"""Finds a topic's last complete release, backwards from its end."""

from __future__ import annotations

import time
from typing import Any, Final

from kafka import TopicPartition as KafkaTopicPartition

from ktsafe.connectors.base import PublishedRelease
from ktsafe.connectors.errors import Unavailable
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import chunks, client

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


def stable_end(consumer: Any, at: KafkaTopicPartition, beginning: int, deadline: float) -> int:
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
    consumer: Any, at: KafkaTopicPartition, start: int, stop: int, settings: KafkaSettings
) -> chunks.Marker | None:
    """Return the last marker in a range of offsets."""
    found = None
    for record in client.records_between(consumer, at, start, stop, settings, POLL_MS):
        part = chunks.decode(record)
        if part is not None:
            found = chunks.decode_marker(part) or found
    return found
