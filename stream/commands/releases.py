"""`ktsafe releases`: rebuild releases from where they were published."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from connectors.base import ReleaseBundle, ReleaseReader
from stream.errors import Exit

app = typer.Typer(help="Read published releases.", no_args_is_help=True)


@app.callback()
def releases() -> None:
    """Group the release commands."""


@app.command("read")
def read(
    config: Annotated[
        Path,
        typer.Argument(help="A configuration whose [sink] names the releases.", metavar="CONFIG"),
    ],
    into: Annotated[Path, typer.Option(help="Folder to rebuild releases in.")],
    every: Annotated[
        bool, typer.Option("--all", help="All releases, not just the latest.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for further releases.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object each.")] = False,
) -> int:
    """Rebuild complete releases, every byte checked: the latest, all, or as they appear."""
    from stream import assembly
    from stream import config as configuration

    reader = assembly.release_reader(configuration.load(config))
    into.mkdir(parents=True, exist_ok=True)
    with closing(reader):
        if every or follow:
            found = False
            for bundle in reader.read(into, follow=follow):
                found = True
                _print(bundle, as_json=as_json)
        else:
            found = _read_latest(reader, into, as_json=as_json)
    if not found:
        typer.echo("no complete release there yet", err=True)
    return Exit.OK


def _read_latest(reader: ReleaseReader, into: Path, *, as_json: bool) -> bool:
    """Rebuild the latest release in `into`; earlier ones pass through a temporary folder."""
    with tempfile.TemporaryDirectory(dir=into, prefix=".reading-") as temporary:
        latest: ReleaseBundle | None = None
        for bundle in reader.read(Path(temporary)):
            if latest is not None:
                shutil.rmtree(latest.folder)
            latest = bundle
        if latest is None:
            return False
        folder = into / latest.release_id
        if folder.exists():
            shutil.rmtree(folder)
        latest.folder.rename(folder)
        _print(dataclasses.replace(latest, folder=folder), as_json=as_json)
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
