"""`ktsafe letters`: the key that dead letters are encrypted with, and reading them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stream.errors import ConfigError, Exit

if TYPE_CHECKING:
    from connectors.sealed_letters import Sealer

app = typer.Typer(help="Read dead letters, or make a key for them.", no_args_is_help=True)


@app.command("key")
def key(
    file: Annotated[Path, typer.Argument(help="New file for the key; keep it apart.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Make a key for `[dead_letters] payload = "encrypted"`, for its owner only.

    Without the key nobody reads the letters again, and `ktsafe erase` cannot search them.
    """
    from connectors.sealed_letters import new_key

    try:
        new_key(file)
    except FileExistsError:
        msg = f"{file} exists already: letters may be sealed with its key."
        raise ConfigError(msg, hint="Name a new file.") from None
    if as_json:
        typer.echo(json.dumps({"key_file": str(file)}))
    else:
        typer.echo(f"{file}: new key; letters sealed with it cannot be read without it")
    return Exit.OK


@app.command("read")
def read(
    config: Annotated[Path, typer.Argument(help="The service's TOML file.", metavar="CONFIG")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, contents in base64.")
    ] = False,
) -> int:
    """Print the dead letters of a file, one per line, decrypted. What it prints is private."""
    from stream.config import settings as configuration
    from stream.upkeep.letter_sealing import sealer_of

    settings = configuration.load(config)
    table = settings.config.dead_letters
    if not isinstance(table, configuration.FilesDeadLetters):
        msg = f"{config}: the dead letters are in topic {table.topic}."
        raise ConfigError(msg, hint="Read them with a Kafka client; this command reads files.")
    sealer = sealer_of(settings)
    path = settings.path(table.path)
    if not path.exists():  # The first letter makes it.
        typer.echo(f"{path}: no dead letters so far", err=True)
        return Exit.OK
    with path.open("rb") as lines:
        for line in lines:
            letter = _opened(json.loads(line), sealer)
            typer.echo(json.dumps(letter) if as_json else _text(letter))
    return Exit.OK


def _opened(letter: dict[str, Any], sealer: Sealer | None) -> dict[str, Any]:
    """Return a letter with the content that was sealed, if it was and the key is there."""
    from connectors.sealed_letters import PAYLOAD

    how = dict(letter["headers"]).get(PAYLOAD)
    if how is None or b64decode(how) != b"encrypted" or sealer is None:
        return letter
    content = sealer.unseal(b64decode(letter["value"]))
    encoded = {
        name: None if content[name] is None else b64encode(content[name]).decode()
        for name in ("key", "value")
    }
    headers = [[name, b64encode(value).decode()] for name, value in content["headers"]]
    cut = {"sha256": content["sha256"]} if content["sha256"] else {}
    return {**letter, **encoded, **cut, "headers": headers, "length": content["length"]}


def _text(letter: dict[str, Any]) -> str:
    """Return one line without a line break in it."""
    from connectors.letters import PREFIX

    told = {name.removeprefix(PREFIX): letter[name] for name in letter if name.startswith(PREFIX)}
    value = repr(b64decode(letter["value"] or ""))[2:-1]
    place = f"{told['topic']}:{told['partition']}:{told['offset']}"
    reason = f"{told['exception.class.name']} {told['exception.message']}".strip()
    return f"{place}  {reason}  {value}"
