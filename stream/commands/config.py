"""`ktsafe config`: check a configuration offline, or print one to start from."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from stream.errors import Exit

app = typer.Typer(help="Check a configuration, or print an example.", no_args_is_help=True)


@app.command("check")
def check(
    config: Annotated[Path, typer.Argument(help="The service's TOML file.", metavar="CONFIG")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Say whether a configuration is sound, without connecting to anything.

    The files that it names for certificates and secrets must be there.
    """
    from stream.config import places
    from stream.config import settings as configuration

    settings = configuration.load(config)
    if settings.config.kafka is not None:
        settings.config.kafka.client_options()
    report = {
        "config": str(config),
        "ok": True,
        "params": settings.params.to_mapping(),
        "guarantee": places.promise(settings),
        "places": places.by_name(settings),
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        typer.echo(f"{config}: sound")
        for name, place in places.by_name(settings).items():
            typer.echo(f"  {name:<9} {place}")
    return Exit.OK


@app.command("example")
def example() -> int:
    """Print a configuration with every key, its default and what it means."""
    typer.echo(resources.files("stream").joinpath("example.toml").read_text(encoding="utf-8"))
    return Exit.OK
