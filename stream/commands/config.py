"""`ktsafe config`: check a configuration offline, or print one to start from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from ktsafe.stream.errors import Exit
from ktsafe.stream.process.command_line import Json, say


def config(
    path: Annotated[
        Path | None, typer.Argument(help="The service's TOML file.", metavar="[CONFIG]")
    ] = None,
    as_json: Json = False,
) -> int:
    """Check a configuration without connecting to anything; without one, print an example.

    The example has every key, its default and what it means. Of a configuration the files that it
    names for certificates and secrets must be there; a feed that is not there yet is named.
    """
    if path is None:
        example = resources.files("ktsafe.stream").joinpath("example.toml")
        typer.echo(example.read_text(encoding="utf-8"))
        return Exit.OK
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
    say(report, "\n".join(lines), as_json=as_json)
    return Exit.OK
