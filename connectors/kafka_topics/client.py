"""Reaching a cluster: bounded waits, bounded retries, errors named by their remedy.

Several calls of kafka-python 3.0 wait without a bound (committing and aborting a transaction, every
administrative request); `bounded` gives them one.

Pauses and hints may be changed. No call may wait without a bound, and no text of the broker or of
kafka-python is passed on (tests/connectors/test_client.py). A new error of the client gets its
remedy in `translate`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from ktsafe.connectors.base import ConnectorError, Misconfigured, Unavailable
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics.handshake import reach_some_broker

T = TypeVar("T")

RETRY_PAUSE_S: Final = 1.0
_REFUSED: Final = (
    kafka_errors.AuthorizationError,
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.UnsupportedVersionError,
    kafka_errors.UnrecognizedBrokerVersion,
    kafka_errors.KafkaConfigurationError,
)
_TOPIC_REFUSES: Final = {
    kafka_errors.MessageSizeTooLargeError: "Raise its max.message.bytes.",
    kafka_errors.RecordListTooLargeError: "Raise its max.message.bytes.",
    kafka_errors.InvalidTimestampError: "Raise its message.timestamp.after.max.ms.",
    # What a broker of version 4 says of a timestamp ahead of its clock.
    kafka_errors.InvalidRecordError: "Raise its message.timestamp.after.max.ms; do not compact it.",
    kafka_errors.PolicyViolationError: "Ask the administrator of the cluster for its policy.",
}
"""What would be refused again and again, and what helps."""


class TopicInfo(NamedTuple):
    """What tells a topic from every other one, and its partitions."""

    cluster_id: str
    topic_id: str
    partitions: tuple[int, ...]
    replication_factor: int
    operations: frozenset[str] | None = None
    """What this user may do with it, such as "READ"; None where the cluster does not say."""


def bounded(call: Callable[[], T], timeout_s: float, what: str) -> T:
    """Return what `call` returns, or raise `KafkaTimeoutError` after `timeout_s`.

    The call goes on in a daemon thread until its client is closed; its outcome is dropped.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001 -- raised again in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=run, name=f"ktsafe-{what}", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if failure:
        raise failure[0]
    if not outcome:
        raise kafka_errors.KafkaTimeoutError(f"{what} did not end within {timeout_s:.0f} s")
    return outcome[0]


def translate(
    error: Exception, op: str, subject: str, settings: KafkaSettings, *, at_work: bool = False
) -> ConnectorError:
    """Return the error that names the remedy for one of kafka-python's.

    Rights that were there and are withdrawn (`at_work`) may come back: that is waited for, as for
    a broker. Rights that were never there are a mistake of the settings.
    """
    if isinstance(error, ConnectorError):
        return error
    name = type(error).__name__
    if at_work and isinstance(error, kafka_errors.AuthorizationError):
        hint = (
            f"the cluster at {settings.address} no longer allows it ({name}). Give the access "
            "rights back."
        )
        return Unavailable(op, subject, hint)
    if isinstance(error, _REFUSED):
        hint = (
            f"the cluster at {settings.address} refused ({name}). Check user, password, mechanism, "
            "certificates and the access rights to this topic."
        )
        return Misconfigured(op, subject, hint)
    if isinstance(error, kafka_errors.UnsupportedCodecError):
        hint = (
            f"its records are compressed in a way that cannot be read here ({error}). Install "
            "`ktsafe[service]`, which brings all of Kafka's codecs, or have producers and the "
            "topic's compression.type use gzip."
        )
        return Misconfigured(op, subject, hint)
    if isinstance(error, tuple(_TOPIC_REFUSES)):
        hint = f"the topic refuses such records ({name}). {_TOPIC_REFUSES[type(error)]}"
        return Misconfigured(op, subject, hint)
    hint = (
        f"the cluster at {settings.address} gave no usable answer ({name}). Check that the brokers "
        f"run, can be reached, and speak {settings.security_protocol} there."
    )
    return Unavailable(op, subject, hint)


@contextmanager
def translated(
    op: str, subject: str, settings: KafkaSettings, *, at_work: bool = False
) -> Iterator[None]:
    """Turn errors of kafka-python into ours."""
    try:
        yield
    except (kafka_errors.KafkaError, OSError, RuntimeError) as error:
        raise translate(error, op, subject, settings, at_work=at_work) from None


def connect(
    make: Callable[[], T], op: str, subject: str, settings: KafkaSettings, *, retry: bool = True
) -> T:
    """Make a client, trying for up to `retry_for_s`.

    Raises
    ------
    Unavailable, Misconfigured
    """
    deadline = time.monotonic() + (settings.retry_for_s if retry else 0.0)
    while True:
        try:
            # A client of kafka-python that cannot bootstrap leaves its threads and sockets behind,
            # so it is not made before somebody listens.
            reach_some_broker(settings)
            return make()
        except (kafka_errors.KafkaError, OSError) as error:
            problem = translate(error, op, subject, settings)
            if isinstance(problem, Misconfigured) or time.monotonic() >= deadline:
                raise problem from None
        time.sleep(RETRY_PAUSE_S)


def bootstrap_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options of a client that is made by `connect`."""
    timeout_ms = int(settings.request_timeout_s * 1000)
    return {**settings.client_options(), "bootstrap_timeout_ms": timeout_ms}


def producing_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options of a producer that gives up within a bound."""
    timeout_ms = int(settings.request_timeout_s * 1000)
    return {
        **bootstrap_options(settings),
        "acks": "all",
        "max_block_ms": timeout_ms,
        "delivery_timeout_ms": timeout_ms + 10_000,
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
    }


def reading_options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options of a consumer of committed records without group."""
    return {
        **bootstrap_options(settings),
        "group_id": None,
        "enable_auto_commit": False,
        # No silent reset: a lost offset raises.
        "auto_offset_reset": "none",
        "isolation_level": "read_committed",
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
        "max_partition_fetch_bytes": 8 * 1024 * 1024,
        "fetch_max_wait_ms": 200,
    }


@contextmanager
def admin_client(
    op: str, subject: str, settings: KafkaSettings, *, at_work: bool = False
) -> Iterator[Any]:
    """Yield an administrative client that raises our errors, and close it."""
    options = bootstrap_options(settings)
    admin = connect(lambda: KafkaAdminClient(**options), op, subject, settings)
    try:
        with translated(op, subject, settings, at_work=at_work):
            yield admin
    finally:
        close_quietly(admin.close)


def describe_topic(
    admin: KafkaAdminClient, topic: str, settings: KafkaSettings
) -> TopicInfo | None:
    """Return a topic's description, None if there is none."""
    timeout_s = settings.request_timeout_s
    cluster = bounded(admin.describe_cluster, timeout_s, "describe cluster")
    found = bounded(lambda: admin.describe_topics([topic]), timeout_s, "describe topic")
    error = kafka_errors.for_code(found[0]["error_code"])
    if error is kafka_errors.UnknownTopicOrPartitionError:
        return None
    if error is kafka_errors.InvalidTopicError:
        hint = "the cluster refused this name. Use letters, digits, '.', '_' and '-' only."
        raise Misconfigured("describe topic", topic, hint)
    if error is not kafka_errors.NoError:
        raise error(topic)
    partitions = found[0]["partitions"]
    operations = found[0].get("authorized_operations")
    return TopicInfo(
        cluster_id=str(cluster["cluster_id"]),
        topic_id=str(found[0]["topic_id"]),
        partitions=tuple(sorted(p["partition_index"] for p in partitions)),
        replication_factor=min((len(p["replica_nodes"]) for p in partitions), default=0),
        operations=frozenset(operations) if operations else None,
    )


def topic_settings(admin: KafkaAdminClient, topic: str, settings: KafkaSettings) -> dict[str, str]:
    """Return the settings of a topic.

    Nothing where they may not be read.

    kafka-python drops the error code of that answer; a topic without any setting there is not.
    """
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    found = bounded(
        lambda: admin.describe_configs([resource], config_filter="all"),
        settings.request_timeout_s,
        "describe settings",
    )
    return {name: str(entry["value"]) for name, entry in found["topic"][topic].items()}


def check_rights(
    info: TopicInfo, needed: Sequence[str], op: str, topic: str, settings: KafkaSettings
) -> None:
    """Refuse a topic without the rights that this user needs.

    Clusters that tell no rights are believed.

    Raises
    ------
    Misconfigured
        If one is missing. Rights that are withdrawn later are waited for.
    """
    lacking = [right for right in needed if right not in (info.operations or needed)]
    if lacking:
        hint = (
            f"the cluster at {settings.address} does not allow this user to {lacking[0]} it. Check "
            "the user, and the access rights to this topic."
        )
        raise Misconfigured(op, topic, hint)


def topic_there(
    op: str, topic: str, settings: KafkaSettings, *rights: str, at_work: bool = False
) -> TopicInfo:
    """Return the description of a required topic with given `rights`.

    Raises
    ------
    Misconfigured, Unavailable
    """
    with admin_client(op, topic, settings, at_work=at_work) as admin:
        return topic_found(admin, op, topic, settings, *rights)


def topic_found(
    admin: KafkaAdminClient, op: str, topic: str, settings: KafkaSettings, *rights: str
) -> TopicInfo:
    """Return a required topic's description by an open client.

    Raises
    ------
    Misconfigured
    """
    info = describe_topic(admin, topic, settings)
    if info is None:
        hint = (
            f"there is no such topic at {settings.address}. Create it with `ktsafe config "
            "CONFIG --topics --create`, or correct the name."
        )
        raise Misconfigured(op, topic, hint)
    check_rights(info, rights, op, topic, settings)
    return info


@contextmanager
def reading(op: str, topic: str, settings: KafkaSettings, *, retry: bool = False) -> Iterator[Any]:
    """Yield a consumer of committed records without group, and close it."""
    options = reading_options(settings)
    consumer = connect(lambda: KafkaConsumer(**options), op, topic, settings, retry=retry)
    try:
        yield consumer
    finally:
        drop_consumer(consumer)


def records_between(
    consumer: KafkaConsumer,
    at: TopicPartition,
    start: int,
    stop: int,
    settings: KafkaSettings,
    poll_ms: int,
) -> Iterator[Any]:
    """Yield the records of an assigned partition in a range of offsets.

    Raises
    ------
    kafka.errors.KafkaTimeoutError
        If none comes for `request_timeout_s`.
    """
    consumer.seek(at, start)
    deadline = time.monotonic() + settings.request_timeout_s
    while consumer.position(at) < stop:
        for record in consumer.poll(timeout_ms=poll_ms).get(at, []):
            deadline = time.monotonic() + settings.request_timeout_s
            if record.offset < stop:
                yield record
        if time.monotonic() > deadline:
            raise kafka_errors.KafkaTimeoutError("the topic cannot be read")


def known_topic_id(consumer: KafkaConsumer, topic: str) -> str | None:
    """Return a topic's id as the consumer's metadata have it; costs nothing."""
    found = consumer._cluster.topic_id(topic)  # noqa: SLF001 -- no public way
    return None if found is None else str(found)


def known_partitions(consumer: KafkaConsumer, topic: str) -> set[int]:
    """Return a topic's partitions as the consumer's metadata have them; costs nothing."""
    # The public `partitions_for_topic` waits without a bound for a topic that is gone.
    return set(consumer._cluster.partitions_for_topic(topic) or ())  # noqa: SLF001


def seek(consumer: KafkaConsumer, partition: TopicPartition, offset: int) -> None:
    """Go to an offset of an assigned partition.

    The public `seek` makes a set of all partitions each time, and `position` looks through all of
    them: with 10,000 partitions either takes minutes.
    """
    consumer._subscription.seek(partition, offset)  # noqa: SLF001


def known_position(consumer: KafkaConsumer, partition: TopicPartition) -> int | None:
    """Return an assigned partition's next offset, at no cost."""
    position = consumer._subscription.assignment[partition].position  # noqa: SLF001
    return None if position is None else int(position.offset)


def known_top(consumer: KafkaConsumer, partition: TopicPartition) -> int | None:
    """Return an assigned partition's end, open transactions included.

    It is as old as the last fetch.
    """
    state = consumer._subscription.assignment.get(partition)  # noqa: SLF001
    return None if state is None or state.highwater is None else int(state.highwater)


def refresh_metadata(consumer: KafkaConsumer, timeout_s: float) -> None:
    """Have the consumer ask for its topic anew.

    Raises
    ------
    kafka.errors.KafkaError
        If no answer came, or there is no such topic.
    """
    asked = consumer._cluster.request_update()  # noqa: SLF001 -- no public way
    consumer._net.run(consumer._manager.wait_for, asked, timeout_s * 1000)  # noqa: SLF001


def drop_producer(producer: KafkaProducer, timeout_s: float) -> None:
    """Close a producer.

    What it could not deliver within `timeout_s` is given up.

    `KafkaProducer.close` raises if something stays undelivered, and leaves its sender running.
    """

    def close() -> None:
        try:
            producer.close(timeout=timeout_s)
        except kafka_errors.KafkaError:
            sender = producer._sender  # noqa: SLF001 -- no public way
            sender.force_close()
            sender.join(timeout_s)
            producer.close(timeout=0)

    close_quietly(close, 3 * timeout_s + 1)


def drop_consumer(consumer: KafkaConsumer) -> None:
    """Close a consumer without a group's offsets, within a bound."""
    close_quietly(lambda: consumer.close(autocommit=False, timeout_ms=1000))


def close_quietly(close: Callable[[], Any], timeout_s: float = 5.0) -> None:
    """Close a client whatever state it is in, within a bound."""
    with suppress(Exception):
        bounded(close, timeout_s, "close")
