"""`ktsafe letters`: dead letters in a file, where they stand in base64, for people."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Annotated, Any

import typer

from stream.errors import ConfigError, Exit
from stream.process.command_line import Config

app = typer.Typer(help="Read dead letters.", no_args_is_help=True)


@app.command("read")
def read(
    config: Config,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, contents in base64.")
    ] = False,
) -> int:
    """Print the dead letters of a file, one per line. What it prints is private."""
    from stream.config import settings as configuration

    settings = configuration.load(config)
    table = settings.config.dead_letters
    if not isinstance(table, configuration.FilesDeadLettersTable):
        msg = f"{config}: the dead letters are in topic {table.topic}."
        raise ConfigError(msg, hint="Read them with a Kafka client; this command reads files.")
    path = settings.path(table.path)
    if not path.exists():  # The first letter makes it.
        typer.echo(f"{path}: no dead letters so far", err=True)
        return Exit.OK
    with path.open("rb") as lines:
        for line in lines:
            letter = json.loads(line)
            typer.echo(json.dumps(letter) if as_json else _text(letter))
    return Exit.OK


def _text(letter: dict[str, Any]) -> str:
    """Return one line without a line break in it."""
    from connectors.letters import PREFIX

    told = {name.removeprefix(PREFIX): letter[name] for name in letter if name.startswith(PREFIX)}
    value = repr(b64decode(letter["value"] or ""))[2:-1]
    place = f"{told['topic']}:{told['partition']}:{told['offset']}"
    reason = f"{told['exception.class.name']} {told['exception.message']}".strip()
    return f"{place}  {reason}  {value}"
