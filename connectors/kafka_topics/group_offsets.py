"""Tells a consumer group the read position, for lag tools only."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka import errors as kafka_errors
from kafka.structs import OffsetAndMetadata

from ktsafe.connectors.base import TopicPartition
from ktsafe.connectors.kafka_settings import GROUP, KafkaSettings
from ktsafe.connectors.kafka_topics import client

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
