"""`ktsafe state`: back up and restore the private folder of a service that is not running."""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

from state.errors import StateUnusable
from state.folder import WITNESS
from stream.commands.progress import phases
from stream.errors import Exit
from stream.slots import rfc3339

app = typer.Typer(help="Back up and restore the private state.", no_args_is_help=True)

_Config = Annotated[Path, typer.Argument(help="The service's TOML file.", metavar="CONFIG")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("import")
def import_files(
    config: _Config,
    vertices: Annotated[Path, typer.Option(help="CSV with id and attributes (.csv, .csv.gz).")],
    edges: Annotated[Path, typer.Option(help="CSV with source and target (.csv, .csv.gz).")],
    at: Annotated[
        str, typer.Option(help="When the files' graph holds: RFC 3339, or epoch milliseconds.")
    ],
    offsets: Annotated[
        str,
        typer.Option(
            help='Where the feed goes on: a file of "topic:partition:offset" lines, or "latest".'
        ),
    ],
    as_json: _Json = False,
) -> int:
    """Begin with a graph that exists already. Once, before the service runs for the first time.

    The offsets are those of the first events that the files do not know. "latest" is the end of
    the feed as of now: right if nothing was written to it since the files were. Events that are
    older than `--at` do not change what the files name. The schema is that of the configuration.
    """
    from stream import assembly, state_import
    from stream import config as configuration

    settings = configuration.load(config)
    at_us = state_import.moment_us(at, time.time_ns() // 1000)
    known = None if offsets == "latest" else state_import.offsets_in(Path(offsets))
    private = assembly.make_private_folder(settings)
    feed = state_import.feed_at(assembly.source(settings), known)
    with phases("importing") as progress:
        imported = state_import.import_graph(
            private, settings.schema, vertices, edges, at_us=at_us, feed=feed, progress=progress
        )
    report = {
        **dataclasses.asdict(imported),
        "at": rfc3339(at_us),
        "offsets": {f"{topic}:{p}": offset for (topic, p), offset in sorted(feed.offsets.items())},
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return Exit.OK
    typer.echo(f"imported  {imported.vertices:,} vertices, {imported.edges:,} ties")
    if passed := imported.edges_repeated + imported.loops:
        typer.echo(f"          {passed:,} lines passed over: repeated ties, or to oneself")
    for partition, offset in report["offsets"].items():
        typer.echo(f"feed      {partition} goes on at {offset:,}")
    typer.echo(f"next      ktsafe run {config}")
    return Exit.OK


@app.command("backup")
def backup(
    config: _Config,
    to: Annotated[Path, typer.Argument(help="New folder for the backup; keep it private.")],
) -> int:
    """Copy true graph, ledger, staged bytes and audits. Stop the service first.

    A backup is worth as much to an attacker as the network's own database.
    """
    from stream import assembly
    from stream import config as configuration

    settings = configuration.load(config)
    folder = assembly.private_folder(settings)
    if not (folder / "store").is_dir():
        hint = "there is no state yet. Name the configuration of a service that has run."
        raise StateUnusable("back up state", str(folder), hint)
    if to.exists():
        hint = "it exists already. Name a new folder."
        raise StateUnusable("back up state", str(to), hint)
    if to.resolve().is_relative_to(folder):
        hint = "it lies in what is to be backed up. Name a folder elsewhere."
        raise StateUnusable("back up state", str(to), hint)
    store = assembly.open_store(settings)  # Holds the lock, so that nothing changes meanwhile.
    try:
        _copy(folder, to)
    finally:
        store.close()
    typer.echo(f"{to}: backup of {folder}; keep it private")
    return Exit.OK


@app.command("restore")
def restore(
    config: _Config,
    backup: Annotated[Path, typer.Argument(help="Folder that `ktsafe state backup` made.")],
) -> int:
    """Put a backup in the place of a state folder, which must be gone or empty.

    Events since the backup are read again from the feed. If releases were published since, the
    service refuses to publish after them: the sink is ahead then.
    """
    from stream import assembly
    from stream import config as configuration

    settings = configuration.load(config)
    folder = assembly.private_folder(settings)
    if not (backup / "store").is_dir():
        hint = "it is no backup. Name a folder that `ktsafe state backup` made."
        raise StateUnusable("restore state", str(backup), hint)
    if folder.exists() and any(folder.iterdir()):
        hint = "it is not empty. Move it away first, so that nothing is overwritten."
        raise StateUnusable("restore state", str(folder), hint)
    if folder.exists():
        folder.rmdir()
    _copy(backup, folder)
    assembly.open_store(settings).close()  # Reads everything back before it is called restored.
    typer.echo(f"{folder}: restored from {backup}")
    return Exit.OK


def _copy(source: Path, target: Path) -> None:
    """Copy a private folder; the count of commits beside the store is no part of a backup."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(WITNESS, "LOCK"))
        target.chmod(0o700)
    except (OSError, shutil.Error) as error:
        shutil.rmtree(target, ignore_errors=True)
        hint = f"could not be written ({type(error).__name__}). Free space or restore access."
        raise StateUnusable("copy state", str(target), hint) from error
