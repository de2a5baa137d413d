"""`ktsafe topics`: check or create the Kafka topics that a configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.process.command_line import Config, Json, hurried, say

if TYPE_CHECKING:
    from ktsafe.connectors.kafka_settings import KafkaSettings
    from ktsafe.connectors.kafka_topics import TopicSpec


def topics(
    config: Config,
    create: Annotated[
        bool, typer.Option("--create", help="Create those that do not exist yet.")
    ] = False,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of the events topic.")] = 3,
    replication: Annotated[int, typer.Option(help="Replicas; -1 is the cluster's default.")] = -1,
    wait: Annotated[
        float, typer.Option(min=0.1, help="Seconds to wait for the cluster, at most.")
    ] = 10.0,
    as_json: Json = False,
) -> int:
    """Check the Kafka topics, or create them.

    0 only if they are as the service needs them.

    With `--create` topics that do not exist yet get the settings that the service needs, and the
    others are left as they are.
    """
    from ktsafe.connectors.kafka_topics import check_topics, create_topics

    kafka, specs = _specs(config, partitions, replication, wait)
    if create:
        created = create_topics(kafka, specs)
        found = [spec.name for spec in specs if spec.name not in created]
        lines = [f"{name}: created" for name in created] + [f"{name}: there" for name in found]
        say({"created": created, "found": found}, "\n".join(lines), as_json=as_json)
        return Exit.OK
    problems = check_topics(kafka, specs)
    lines = problems or [f"{spec.name}: as it should be" for spec in specs]
    say({"problems": problems}, "\n".join(lines), as_json=as_json)
    return Exit.MISMATCH if problems else Exit.OK


def _specs(
    path: Path, partitions: int, replication: int, wait_s: float
) -> tuple[KafkaSettings, list[TopicSpec]]:
    """Return the cluster, with little patience, and the named topics."""
    from ktsafe.connectors.kafka_topics import Role, TopicSpec
    from ktsafe.stream.config import settings as configuration

    config = configuration.load(path).config
    specs = []
    for table, role, number in (
        (config.source, Role.EVENTS, partitions),
        (config.sink, Role.RELEASES, 1),
        (config.dead_letters, Role.DEAD_LETTERS, 1),
    ):
        if (topic := table.kafka_topic) is not None:
            specs.append(
                TopicSpec(name=topic, role=role, partitions=number, replication_factor=replication)
            )
    if config.kafka is None or not specs:
        msg = f"{path} names no Kafka topic."
        raise ConfigError(msg, hint='Give a connector kind = "kafka" and a [kafka] table.')
    return hurried(config.kafka, wait_s), specs
