"""`ktsafe releases`: rebuild releases from where they were published."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ktsafe.connectors.base import ReleaseBundle, ReleaseReader
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.process.command_line import hurried

if TYPE_CHECKING:
    from ktsafe.stream.files.latest_read import LatestGraph

app = typer.Typer(help="Read published releases.", no_args_is_help=True)


@app.callback()
def releases() -> None:
    """Group the release commands."""


@app.command("read")
def read(
    into: Annotated[Path, typer.Option(help="Folder to rebuild releases in.")],
    config: Annotated[
        Path | None,
        typer.Argument(help="A configuration whose [sink] names the releases.", metavar="[CONFIG]"),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Read this folder of releases instead.")
    ] = None,
    kafka: Annotated[
        str | None, typer.Option(help="Read from these brokers instead: host:port[,host:port].")
    ] = None,
    kafka_settings: Annotated[
        Path | None,
        typer.Option(help="The same, from a TOML file with a [kafka] table: TLS, SASL."),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="The topic of the releases, with one of these two.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All releases, not just the latest.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for further releases.")] = False,
    joined: Annotated[
        bool,
        typer.Option(
            "--latest",
            help="Write edges-latest.csv, too: pairs of classes without edges as shown last.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object each.")] = False,
) -> int:
    """Rebuild complete releases, every byte checked: the latest, all, or as they appear."""
    reader = _reader(config, folder, kafka, kafka_settings, topic, follow=follow)
    into.mkdir(parents=True, exist_ok=True)
    graph = _Joined() if joined else None
    with closing(reader):
        if every or follow:
            found = False
            for bundle in reader.read(into, follow=follow):
                found = True
                if graph is not None:
                    graph.take(bundle)
                    graph.write(bundle)
                _print(bundle, as_json=as_json)
        else:
            found = _read_latest(reader, into, graph, as_json=as_json)
    if not found:
        typer.echo("no complete release there yet", err=True)
    return Exit.OK


def _reader(
    config: Path | None,
    folder: Path | None,
    kafka: str | None,
    kafka_settings: Path | None,
    topic: str | None,
    *,
    follow: bool,
) -> ReleaseReader:
    """Return a reader of the one place that was named; one that follows is patient."""
    from ktsafe.connectors.files import FileReleaseReader
    from ktsafe.stream.config import settings as configuration

    of_topic = kafka is not None or kafka_settings is not None
    named = (config, folder, kafka, kafka_settings)
    if named.count(None) != len(named) - 1 or of_topic != (topic is not None):
        msg = "Name one place to read from."
        hint = (
            "CONFIG, or --folder DIR, or --kafka HOST:PORT --topic NAME, or --kafka-settings FILE "
            "--topic NAME."
        )
        raise ConfigError(msg, hint=hint)
    patience = (lambda kafka: kafka) if follow else hurried
    if config is not None:
        loaded = configuration.load(config)
        site = loaded.site
        if loaded.config.sink.kafka_topic is not None:
            site = dataclasses.replace(site, kafka=patience(site.cluster))
        return loaded.config.sink.release_reader(site)
    if folder is not None:
        return FileReleaseReader(folder)
    from ktsafe.connectors.kafka_topics import KafkaReleaseReader, KafkaSettings

    if kafka_settings is not None:
        settings = configuration.load_kafka(kafka_settings)
    else:
        assert kafka is not None
        settings = KafkaSettings(bootstrap_servers=tuple(kafka.split(",")))
    assert topic is not None
    return KafkaReleaseReader(patience(settings), topic)


class _Joined:
    """The latest graph of the releases that were read."""

    def __init__(self) -> None:
        self._graph: LatestGraph | None = None

    def take(self, bundle: ReleaseBundle) -> None:
        """Read one more release."""
        from ktsafe.stream.files.latest_read import follow
        from ktsafe.stream.files.releases_read import read_release

        self._graph = follow(self._graph, read_release(bundle.folder))

    def write(self, bundle: ReleaseBundle) -> None:
        """Write the graph beside the release that was read last."""
        from ktsafe.stream.files.latest_read import EDGES_LATEST

        assert self._graph is not None
        with (bundle.folder / EDGES_LATEST).open("w", encoding="utf-8", newline="") as file:
            file.writelines(self._graph.csv())


def _read_latest(
    reader: ReleaseReader, into: Path, graph: _Joined | None, *, as_json: bool
) -> bool:
    """Rebuild the latest release in `into`; earlier ones pass through a temporary folder."""
    with tempfile.TemporaryDirectory(dir=into, prefix=".reading-") as temporary:
        latest: ReleaseBundle | None = None
        for bundle in reader.read(Path(temporary)):
            if latest is not None:
                shutil.rmtree(latest.folder)
            latest = bundle
            if graph is not None:
                graph.take(bundle)
        if latest is None:
            return False
        folder = into / latest.release_id
        if folder.exists():
            shutil.rmtree(folder)
        latest.folder.rename(folder)
        latest = dataclasses.replace(latest, folder=folder)
        if graph is not None:
            graph.write(latest)
        _print(latest, as_json=as_json)
        return True


def _print(bundle: ReleaseBundle, *, as_json: bool) -> None:
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "release_id": bundle.release_id,
                    "folder": str(bundle.folder),
                    "manifest_sha256": bundle.digest(),
                }
            )
        )
    else:
        typer.echo(f"{bundle.release_id}  {bundle.folder}")
