"""`ktsafe config`: check a configuration offline, or print one to start from."""

from __future__ import annotations

from importlib import resources

import typer

from stream.errors import Exit
from stream.process.command_line import Config, Json, say

app = typer.Typer(help="Check a configuration, or print an example.", no_args_is_help=True)


@app.command("check")
def check(
    config: Config,
    as_json: Json = False,
) -> int:
    """Say whether a configuration is sound, without connecting to anything.

    The files that it names for certificates and secrets must be there.
    """
    from stream.config import places
    from stream.config import settings as configuration

    settings = configuration.load(config)
    if settings.config.kafka is not None:
        settings.config.kafka.client_options()
    where = places.by_name(settings)
    report = {
        "config": str(config),
        "ok": True,
        "params": settings.params.to_mapping(),
        "guarantee": places.promise(settings),
        "places": where,
    }
    lines = [f"{config}: sound", *(f"  {name:<9} {place}" for name, place in where.items())]
    say(report, "\n".join(lines), as_json=as_json)
    return Exit.OK


@app.command("example")
def example() -> int:
    """Print a configuration with every key, its default and what it means."""
    typer.echo(resources.files("stream").joinpath("example.toml").read_text(encoding="utf-8"))
    return Exit.OK
