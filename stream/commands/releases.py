"""`ktsafe releases`: read releases, also the latest graph, and withdraw one.

Words may be changed. `EDGES_LATEST` and its columns are read by others (docs/readers.md,
tests/stream/files/test_latest_read.py). A description for catalogues is a member of `Also` and a
function of `ktsafe.reader.exports`.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
import typer

from ktsafe.connectors.base import WITHDRAWN, ReleaseBundle, ReleaseReader
from ktsafe.connectors.bundles import is_safe_name
from ktsafe.graph.latest_graph import of_dark_pairs
from ktsafe.seals import reason_of
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.files.releases_read import Release, read_release
from ktsafe.stream.files.releases_write import csv_blocks, listed
from ktsafe.stream.process.command_line import Config, Json, Yes, ask_first, hurried, say

if TYPE_CHECKING:
    from ktsafe.stream.config.settings import Settings


# The latest graph of a sequence, for its readers.
#
# Dark pairs of classes have the edges that they showed last.
#
# It joins what readers have anyway. It is no release of its own: nobody promises anything for it
# beyond what the releases promise together.

EDGES_LATEST: Final = "edges-latest.csv"
"""Written beside a release that was read; no file of the release itself."""
LATEST_HEADER: Final = ("source", "target", "shown_in")


@dataclasses.dataclass(frozen=True, eq=False)
class LatestGraph:
    """The vertices of a release, and the edges of its latest graph.

    Attributes
    ----------
    release:
        The last release, with the edges of the latest graph in place of its own. Its manifest is
        that of the release, which counts fewer.
    shown_in:
        For every edge the id of the release that showed it last.
    """

    release: Release
    shown_in: list[str]

    def csv(self) -> Iterable[bytes]:
        """Return the edges as CSV, sorted, in blocks."""
        # Each text is made once, not for every edge.
        ids = list(self.release.ids)
        pairs = [sorted((ids[u], ids[v])) for u, v in self.release.edges.tolist()]
        rows = sorted((*pair, shown) for pair, shown in zip(pairs, self.shown_in, strict=True))
        return csv_blocks(LATEST_HEADER, listed(len(LATEST_HEADER), rows))


def follow(before: LatestGraph | None, release: Release) -> LatestGraph:
    """Return a release's latest graph, from that of the former."""
    name = release.manifest.release_id
    own = LatestGraph(release, [name] * len(release.edges))
    former = before.release if before is not None else None
    if former is None or former.manifest.sequence_id != release.manifest.sequence_id:
        return own
    assert before is not None
    position = {one: v for v, one in enumerate(release.ids)}
    moved = np.array([position.get(one, -1) for one in former.ids], dtype=np.int64)
    ends = moved[former.edges]
    there = np.flatnonzero((ends >= 0).all(axis=1))
    of, _ = release.classes()
    kept = there[of_dark_pairs(of, release.edges, ends[there])]
    return LatestGraph(
        dataclasses.replace(release, edges=np.concatenate((release.edges, ends[kept]))),
        own.shown_in + [before.shown_in[row] for row in kept.tolist()],
    )


# `ktsafe releases`: rebuild releases from where they were published.


class Also(enum.StrEnum):
    """Names a description that is written beside a release for catalogues."""

    CROISSANT = "croissant"
    RO_CRATE = "ro-crate"


app = typer.Typer(help="Read and withdraw published releases.", no_args_is_help=True)


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
    also: Annotated[
        list[Also],
        typer.Option(
            help="Write a description for catalogues beside each release: croissant.json, "
            "ro-crate-metadata.json. May be repeated."
        ),
    ] = [],  # noqa: B006 -- typer copies it
    withdrawn: Annotated[
        bool, typer.Option("--withdrawn", help="Give withdrawn releases, too: for audits.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object each.")] = False,
) -> int:
    """Rebuild complete releases, every byte checked: latest, all, or as published.

    A withdrawn release is told on standard error with the reason, counts as none and is not
    written; one that is withdrawn while releases are followed is removed again.
    """
    reader = _reader(config, folder, kafka, kafka_settings, topic, follow=follow)
    into.mkdir(parents=True, exist_ok=True)
    graph = _Joined() if joined else None
    with closing(reader):
        if every or follow:
            found = False
            bundles: Iterable[ReleaseBundle] = reader.read(into, follow=follow)
            if not follow:
                # In a topic a withdrawal comes after its release: the last word counts.
                bundles = list({bundle.release_id: bundle for bundle in bundles}.values())
            for bundle in bundles:
                found = True
                if _is_refused(bundle, withdrawn=withdrawn):
                    continue
                if graph is not None:
                    graph.take(bundle)
                    graph.write(bundle)
                _write_also(bundle.folder, also)
                _print(bundle, as_json=as_json)
        else:
            latest = _latest(reader, into, graph)
            found = latest is not None
            if latest is not None:
                if _is_refused(latest, withdrawn=withdrawn):
                    return Exit.UNSAFE
                if graph is not None:
                    graph.write(latest)
                _write_also(latest.folder, also)
                _print(latest, as_json=as_json)
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
    """Return a reader of the named place; one that follows is patient."""
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
        self._graph = follow(self._graph, read_release(bundle.folder))

    def write(self, bundle: ReleaseBundle) -> None:
        """Write the graph beside the release that was read last."""
        assert self._graph is not None
        with (bundle.folder / EDGES_LATEST).open("wb") as file:
            file.writelines(self._graph.csv())


def _write_also(folder: Path, also: list[Also]) -> None:
    """Describe a release for catalogues, beside its own files."""
    if not also:
        return
    import ktsafe
    from ktsafe.reader import StudiedRelease, exports

    release = ktsafe.read(folder, withdrawn=True)
    assert isinstance(release, StudiedRelease)
    if Also.CROISSANT in also:
        described = exports.croissant(release.manifest)
        (folder / "croissant.json").write_text(described, encoding="utf-8")
    if Also.RO_CRATE in also:
        described = exports.ro_crate(release.manifest)
        (folder / "ro-crate-metadata.json").write_text(described, encoding="utf-8")


def _latest(reader: ReleaseReader, into: Path, graph: _Joined | None) -> ReleaseBundle | None:
    """Rebuild the latest release in `into`, earlier ones in temporary folders."""
    with tempfile.TemporaryDirectory(dir=into, prefix=".reading-") as temporary:
        latest: ReleaseBundle | None = None
        for bundle in reader.read(Path(temporary)):
            if latest is not None and latest.release_id != bundle.release_id:
                shutil.rmtree(latest.folder)
            latest = bundle
            if graph is not None:
                graph.take(bundle)
        if latest is None:
            return None
        folder = into / latest.release_id
        if folder.exists():
            shutil.rmtree(folder)
        latest.folder.rename(folder)
        return dataclasses.replace(latest, folder=folder)


def _is_refused(bundle: ReleaseBundle, *, withdrawn: bool) -> bool:
    """Report a withdrawn release; return whether it was removed here."""
    if not bundle.is_withdrawn():
        return False
    why = reason_of((bundle.folder / WITHDRAWN).read_bytes())
    typer.echo(f"{bundle.release_id} was withdrawn: {why}", err=True)
    if not withdrawn:
        shutil.rmtree(bundle.folder)
    return not withdrawn


@app.command("withdraw")
def withdraw(
    release: Annotated[str, typer.Argument(help="Id of a published release.", metavar="ID")],
    config: Config,
    why: Annotated[str, typer.Option(help="What readers are told. Public: name nobody.")],
    yes: Yes = False,
    as_json: Json = False,
) -> int:
    """Mark a release as withdrawn; readers then refuse it with the reason.

    The service may run. Its bytes stay where they are, for audits. Copies that are out stay out:
    tell those who have one.
    """
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.files.private_audits import marker, note

    audit = _audit_of(release, config)
    if not why.strip():
        raise ConfigError("Say why.", hint="Readers are told the reason: --why TEXT.")
    if not yes:
        ask_first(f"Withdraw {release}? Every reader is told: {why}")
    settings = configuration.load(config)
    told = marker(release, f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ}", why)
    with closing(settings.config.sink.release_sink(settings.site)) as sink:
        sink.withdraw(release, told)
    note(audit, told)
    say({"release_id": release, "withdrawn": why}, f"withdrawn {release}", as_json=as_json)
    return Exit.OK


def _audit_of(release: str, config: Path) -> Path:
    """Return the folder of a release's private audit, kept or not."""
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration

    settings = configuration.load(config)
    audit = places.audit_folder(settings) / release
    if not is_safe_name(release) or not (audit.is_dir() or _is_out(release, settings)):
        msg = f"The state knows no release {release!r}."
        raise ConfigError(msg, hint="`ktsafe status` names those that are out.")
    return audit


def _is_out(release: str, settings: Settings) -> bool:
    """Whether the sink has a release; its audit may be gone."""
    with closing(settings.config.sink.release_reader(settings.site)) as reader:
        return any(each.release_id == release for each in reader.check())


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
