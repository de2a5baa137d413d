"""Creates the topics a service needs, and reports faults of existing ones.

Sentences may be reworded. `RIGHTS` are what the service needs, compared with a real broker in
tests/integration/test_rights.py; settings of a topic of releases must not tell more than the
releases do.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec
from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import client
from ktsafe.connectors.kafka_topics.client import TopicInfo

FOREVER: Final = -1
_LONG_MAX: Final = str(2**63 - 1)
RECORD_BYTES: Final = 1_048_588
"""Kafka's default bound of a record batch; chunks and dead letters fit in it."""


class Role(enum.StrEnum):
    """What a topic is for."""

    EVENTS = "events"
    RELEASES = "releases"
    DEAD_LETTERS = "dead_letters"


RIGHTS: Final = {
    Role.EVENTS: ("READ",),
    Role.RELEASES: ("READ", "WRITE"),
    Role.DEAD_LETTERS: ("WRITE",),
}
"""What the service does with each topic; beside it, it describes all of them."""


class TopicSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A topic as it should be.

    Attributes
    ----------
    partitions:
        Number when created; releases have one.
    replication_factor:
        -1: the cluster's default.
    retention_ms:
        -1: for ever. Releases carry their nominal times and events may be old, so any other
        value may delete what has just been written.
    """

    name: str
    role: Role
    partitions: Annotated[int, msgspec.Meta(ge=1)] = 1
    replication_factor: int = -1
    retention_ms: int = FOREVER

    def configs(self) -> dict[str, str]:
        """Return the topic's settings when it is created."""
        configs = {
            "cleanup.policy": "delete",
            "retention.ms": str(self.retention_ms),
            "retention.bytes": "-1",
            "message.timestamp.type": "CreateTime",
        }
        if self.role is Role.RELEASES:
            # A nominal time may lie ahead of the broker's clock.
            configs["message.timestamp.after.max.ms"] = _LONG_MAX
        return configs


def create_topics(settings: KafkaSettings, specs: Sequence[TopicSpec]) -> list[str]:
    """Create missing topics; return their names.

    Raises
    ------
    Unavailable
        If the cluster does not answer.
    Misconfigured
        If it refuses a topic.
    """
    created = []
    with client.admin_client("create topics", settings.address, settings) as admin:
        for spec in specs:
            if client.describe_topic(admin, spec.name, settings) is None:
                _create(admin, spec, settings)
                created.append(spec.name)
    return created


def check_topics(settings: KafkaSettings, specs: Sequence[TopicSpec]) -> list[str]:
    """Return the faults of the topics, one sentence each; empty if none.

    Raises
    ------
    Unavailable, Misconfigured
        If the cluster does not answer or refuses.
    """
    problems = []
    with client.admin_client("check topics", settings.address, settings) as admin:
        brokers = len(admin.describe_cluster()["brokers"])
        for spec in specs:
            info = client.describe_topic(admin, spec.name, settings)
            if info is None:
                problems.append(f"{spec.name}: there is no such topic; create it.")
                continue
            configs = client.topic_settings(admin, spec.name, settings)
            problems += [f"{spec.name}: {text}" for text in _problems(spec, info, configs, brokers)]
    return problems


def _create(admin: KafkaAdminClient, spec: TopicSpec, settings: KafkaSettings) -> None:
    topic = {
        "num_partitions": 1 if spec.role is Role.RELEASES else spec.partitions,
        "replication_factor": spec.replication_factor,
        "configs": spec.configs(),
    }
    try:
        client.bounded(
            lambda: admin.create_topics({spec.name: topic}, wait_for_metadata=True),
            settings.request_timeout_s,
            "create topic",
        )
    except kafka_errors.TopicAlreadyExistsError:
        return
    except (
        kafka_errors.InvalidTopicError,
        kafka_errors.InvalidPartitionsError,
        kafka_errors.InvalidReplicationFactorError,
        kafka_errors.InvalidConfigurationError,
        kafka_errors.PolicyViolationError,
    ) as error:
        hint = (
            f"the cluster refused it ({type(error).__name__}). Check the name (letters, digits, "
            "'.', '_', '-'), and that there are as many brokers as replicas."
        )
        raise Misconfigured("create topic", spec.name, hint) from None


def _problems(
    spec: TopicSpec, info: TopicInfo, configs: Mapping[str, str], brokers: int
) -> list[str]:
    problems = [
        f"this user may not {right} it. Grant that right."
        for right in RIGHTS[spec.role]
        if info.operations is not None and right not in info.operations
    ]
    if spec.role is Role.RELEASES and len(info.partitions) != 1:
        problems.append(
            f"has {len(info.partitions)} partitions; releases need exactly one, for their order."
        )
    if info.replication_factor < min(2, brokers):
        problems.append(
            "has one replica on a cluster of several brokers; the loss of one disk loses it."
        )
    if not configs:
        problems.append(
            "this user may not read its settings, so nothing is known of them: change none. Grant "
            "DESCRIBE_CONFIGS to the user that checks; the service does not need it."
        )
        return problems
    if configs.get("cleanup.policy") != "delete":
        problems.append(
            f"cleanup.policy is {configs.get('cleanup.policy')}; compaction would remove records "
            "of the same key. Set it to delete."
        )
    if spec.role is not Role.DEAD_LETTERS and configs.get("retention.ms") != "-1":
        problems.append(
            f"retention.ms is {configs.get('retention.ms')}: Kafka counts it from the records' own "
            "times, which may be old, so new records may vanish at once. Set it to -1, or "
            "make sure that nothing older is ever written."
        )
    if spec.role is Role.RELEASES:
        problems += _release_problems(configs)
    if int(configs.get("max.message.bytes", RECORD_BYTES)) < RECORD_BYTES:
        problems.append(
            f"max.message.bytes is {configs['max.message.bytes']}; raise it to {RECORD_BYTES}."
        )
    return problems


def _release_problems(configs: Mapping[str, str]) -> list[str]:
    """What would tell readers of releases more than the releases do."""
    problems = []
    if configs.get("message.timestamp.type") != "CreateTime":
        problems.append(
            "message.timestamp.type is not CreateTime; the broker's times tell when a release was "
            "built and how long that took."
        )
    if configs.get("compression.type") not in {"producer", "uncompressed"}:
        problems.append(
            f"compression.type is {configs.get('compression.type')}; the size of compressed "
            "records tells about their content. Set it to producer."
        )
    return problems
