"""`ktsafe erase`: take persons out of everything that the service keeps."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from state.errors import StateLocked
from stream.errors import ConfigError, Exit

REMAINS = (
    "Out of reach: releases already published, backups of the state folder, and the feed itself. "
    "Erase the person at the source too: later events would bring them back."
)


def erase(
    person: Annotated[
        str, typer.Argument(help='Id of the person; "-" reads ids from standard input.')
    ],
    config: Annotated[Path, typer.Argument(help="The service's TOML file.", metavar="CONFIG")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Erase a person from graph, ties, past mappings, dead letters in a file, and the disk.

    Stop the service first, or send a `vertex.delete` event to a running one. A release that was cut
    and not staged is given up. What an id means in published releases is forgotten here; in the
    next release the place is kept by nobody.
    """
    from stream import assembly, erasure
    from stream import config as configuration

    settings = configuration.load(config)
    ids = _ids(person)
    if not yes:
        typer.confirm(f"Erase {len(ids):,} person(s) for good?", abort=True)
    try:
        store = assembly.open_store(settings)
    except StateLocked as error:
        hint = "a service is running. Stop it first, or send it a vertex.delete event."
        raise StateLocked("erase", error.subject, hint) from None
    try:
        unknown = sum(store.gone(ids, erasure.ALL_LIVES))
        had_cut = store.ledger.pending_cut() is not None
        letters = assembly.erase_dead_letters(settings, ids)
        blanked = erasure.erase_persons(store, ids, assembly.audit_folder(settings))
    finally:
        store.close()
    report = {
        "asked": len(ids),
        "erased": len(ids) - unknown,
        "unknown": unknown,
        "mapping_entries_blanked": blanked,
        "dead_letters_blanked": letters,
        "release_given_up": had_cut,
        "note": REMAINS,
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return Exit.OK
    typer.echo(f"erased    {report['erased']:,} of {len(ids):,}")
    if unknown:
        typer.echo(f"          {unknown:,} not in the graph; whatever was left of them is gone")
    typer.echo(f"mappings  {blanked:,} entries of past releases blanked")
    if letters is None:
        typer.echo("letters   in a topic: they go when its retention ends")
    else:
        typer.echo(f"letters   {letters:,} dead letters blanked")
    if had_cut:
        typer.echo("release   one that was not staged yet is given up")
    typer.echo(f"note      {REMAINS}")
    return Exit.OK


def _ids(person: str) -> list[str]:
    lines = sys.stdin.read().splitlines() if person == "-" else [person]
    ids = list(dict.fromkeys(line for line in lines if line))
    if not ids:
        msg = "No id was given."
        raise ConfigError(msg, hint="Name one, or give one per line on standard input.")
    return ids
