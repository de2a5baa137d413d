"""`ktsafe config`: check a configuration, its topics or state; print an example.

Words and the layout of what is printed may be changed. Without arguments it prints
stream/example.toml as it stands: keys and their comments are changed there. `--state` must refuse
what `run` refuses, for the same reason (tests/stream/service/test_config_state.py).
"""

from __future__ import annotations

from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.process.command_line import Json, Report, hurried, say

if TYPE_CHECKING:
    from ktsafe.connectors.kafka_settings import KafkaSettings
    from ktsafe.connectors.kafka_topics import TopicSpec


def config(
    path: Annotated[
        Path | None, typer.Argument(help="The service's TOML file.", metavar="[CONFIG]")
    ] = None,
    state: Annotated[
        bool, typer.Option("--state", help="Check its state and releases instead, every byte.")
    ] = False,
    backup: Annotated[
        Path | None, typer.Option(help="Check this backup instead, as --state the state itself.")
    ] = None,
    topics: Annotated[
        bool, typer.Option("--topics", help="Check its Kafka topics instead; asks the cluster.")
    ] = False,
    create: Annotated[
        bool, typer.Option("--create", help="With --topics: create those that do not exist yet.")
    ] = False,
    partitions: Annotated[
        int, typer.Option(min=1, help="Partitions of the events topic, if it is created.")
    ] = 3,
    replication: Annotated[
        int, typer.Option(help="Replicas of created topics; -1 is the cluster's default.")
    ] = -1,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Seconds to wait at most. Default: 10 for the cluster, 600 for a service.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Check a configuration, its topics or state; without one, print an example.

    The example has every key, its default and what it means. Of a configuration the files that it
    names for certificates and secrets must be there; a feed that is not there yet is named. Nothing
    is connected to, unless `--topics` asks for the topics: 0 only if they are as the service needs
    them. With `--create` missing ones are created so, and the others are left as they are.

    `--state` and `--backup` read all that a service would read: every block of the database, the
    chain of releases, the memory of the sequence, the sha256 of staged bytes, private audits and
    every file of a backup. Releases at the sink are compared with the ledger, the configuration
    with what state and sequence began with. A running service goes on meanwhile.
    """
    if path is None and (topics or create or state or backup):
        msg = "There is no configuration to check by."
        raise ConfigError(msg, hint="Name the service's TOML file.")
    if create and not topics:
        raise ConfigError("--create needs --topics.")
    if topics + state + (backup is not None) > 1:
        msg = "--topics, --state and --backup are checked one at a time."
        raise ConfigError(msg, hint="Ask for one of them.")
    if path is None:
        example = resources.files("ktsafe.stream").joinpath("example.toml")
        typer.echo(example.read_text(encoding="utf-8"))
        return Exit.OK
    if topics:
        patience_s = 10.0 if wait is None else wait
        kafka, specs = _specs(path, partitions, replication, patience_s)
        return _topics(kafka, specs, create=create, as_json=as_json)
    if state or backup:
        report, text = _checked_state(path, backup, 600.0 if wait is None else wait)
        say(report, text, as_json=as_json)
        return Exit.OK
    report, lines = _checked(path)
    say(report, "\n".join(lines), as_json=as_json)
    return Exit.OK


def _checked(path: Path) -> tuple[Report, list[str]]:
    """Return what a sound configuration means: JSON-ready, and in lines."""
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration

    settings = configuration.load(path)
    if settings.config.kafka is not None:
        settings.config.kafka.client_options()
    where = places.by_name(settings)
    missing = settings.config.source.missing(settings.site)
    report = {
        "config": str(path),
        "ok": True,
        "params": settings.params.to_mapping(),
        "guarantee": places.PROMISE,
        "places": where,
        "missing": missing,
    }
    lines = [f"{path}: sound", *(f"  {name:<9} {place}" for name, place in where.items())]
    lines += [f"  missing   {one}: the service does not start without it" for one in missing]
    return report, lines


def _checked_state(path: Path, backup: Path | None, wait_s: float) -> tuple[Report, str]:
    """Read all of a state or backup; report in JSON and words."""
    from ktsafe.stream.commands.state import parts_now
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.maintenance import backup as backups
    from ktsafe.stream.service import assembly
    from ktsafe.stream.service.housekeeping import check_configured, check_parts, check_sink

    settings = configuration.load(path)
    with ExitStack() as stack:
        if backup is None:
            parts = stack.enter_context(parts_now(settings, wait_s))
        else:
            backups.read_listing(backup)
            parts = backups.parts_of(backup / places.STORE, backup, frozen=False)
        found = check_parts(parts, settings.schema)
        check_configured(found, parts, settings)
        missing = check_sink(assembly.release_reader(settings), found, parts)
    report = {
        "checked": str(backup or places.private_folder(settings)),
        "sound": True,
        **found.counts,
        "releases": len(found.releases),
        "pages": len(found.pages),
        "gone_from_sink": missing,
    }
    text = (
        f"{report['checked']}: sound; {report['vertices']:,} vertices, {report['edges']:,} ties, "
        f"{report['releases']:,} releases"
    )
    if missing:
        text += f"\ngone from the sink: {', '.join(missing)}"
    return report, text


def _topics(kafka: KafkaSettings, specs: list[TopicSpec], *, create: bool, as_json: bool) -> int:
    """Check topics, or create them, and say what was found."""
    from ktsafe.connectors.kafka_topics import check_topics, create_topics

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
