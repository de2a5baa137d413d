"""`ktsafe letters`: dead letters of a file or of a topic, for people."""

from __future__ import annotations

import dataclasses
import json
from base64 import b64decode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ktsafe.stream.errors import Exit
from ktsafe.stream.process.command_line import Config, hurried

if TYPE_CHECKING:
    from ktsafe.stream.config.settings import Settings

app = typer.Typer(help="Read dead letters.", no_args_is_help=True)


@app.command("read")
def read(
    config: Config,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, contents in base64.")
    ] = False,
) -> int:
    """Print dead letters, one per line. What it prints is private."""
    from ktsafe.stream.config import settings as configuration

    found = False
    for letter in _letters(configuration.load(config)):
        found = True
        typer.echo(json.dumps(letter) if as_json else _text(letter))
    if not found:
        typer.echo("no dead letters so far", err=True)
    return Exit.OK


def _letters(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield letters as a file has them, wherever they are."""
    table, site = settings.config.dead_letters, settings.site
    if table.kafka_topic is not None:
        site = dataclasses.replace(site, kafka=hurried(site.cluster))
    return table.letters(site)


def _text(letter: dict[str, Any]) -> str:
    """Return one line without a line break in it."""
    from ktsafe.connectors.letters import PREFIX

    told = {name.removeprefix(PREFIX): letter[name] for name in letter if name.startswith(PREFIX)}
    value = repr(b64decode(letter["value"] or ""))[2:-1]
    place = f"{told['topic']}:{told['partition']}:{told['offset']}"
    reason = f"{told['exception.class.name']} {told['exception.message']}".strip()
    # Any producer of the topic may have written this text: no control character is printed.
    return "".join(c if c.isprintable() else "?" for c in f"{place}  {reason}  {value}")
