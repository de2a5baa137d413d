"""`ktsafe config`: check a configuration offline, or print one to start from."""

from __future__ import annotations

from importlib import resources

import typer

from ktsafe.stream.errors import Exit
from ktsafe.stream.process.command_line import Config, Json, say

app = typer.Typer(help="Check a configuration, or print an example.", no_args_is_help=True)


@app.command("check")
def check(
    config: Config,
    as_json: Json = False,
) -> int:
    """Check a configuration without connecting to anything.

    The files that it names for certificates and secrets must be there; a feed that is not there
    yet is named.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration

    settings = configuration.load(config)
    if settings.config.kafka is not None:
        settings.config.kafka.client_options()
    where = places.by_name(settings)
    missing = settings.config.source.missing(settings.site)
    report = {
        "config": str(config),
        "ok": True,
        "params": settings.params.to_mapping(),
        "guarantee": places.promise(settings),
        "places": where,
        "missing": missing,
    }
    lines = [f"{config}: sound", *(f"  {name:<9} {place}" for name, place in where.items())]
    lines += [f"  missing   {path}: the service does not start without it" for path in missing]
    say(report, "\n".join(lines), as_json=as_json)
    return Exit.OK


@app.command("example")
def example() -> int:
    """Print a configuration with every key, its default and what it means."""
    typer.echo(
        resources.files("ktsafe.stream").joinpath("example.toml").read_text(encoding="utf-8")
    )
    return Exit.OK
