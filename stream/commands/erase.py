"""`ktsafe erase`: take persons out of everything that the service keeps."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ktsafe.graph.inputs.spelling import id_text
from ktsafe.state.errors import StateLocked
from ktsafe.stream.config.places import STORE, check_there
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.process.command_line import Config, Json, Wait, Yes, ask_first, say

if TYPE_CHECKING:
    from ktsafe.state.store import GraphStore
    from ktsafe.stream.config.settings import Settings

OUT_OF_REACH = (
    "Out of reach: releases already published, backups of the state folder, and the feed itself."
)
REMAINS = f"{OUT_OF_REACH} Erase the person at the source too: later events would bring them back."


def erase(
    person: Annotated[
        str, typer.Argument(help='Id of the person; "-" reads ids from standard input.')
    ],
    config: Config,
    yes: Yes = False,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Erase nothing: read every byte that is kept, and say where these ids, or "
            "values of attributes, are left.",
        ),
    ] = False,
    wait: Wait = 600.0,
    as_json: Json = False,
) -> int:
    """Erase a person from graph, mappings, file letters, and disk.

    A running service does it between two rounds of its work, once a release that is being built is
    staged. With none running, a release that was cut and not staged is given up. What an id means
    in published releases is forgotten here; in the next release nobody keeps the place.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.config import settings as configuration
    from ktsafe.stream.maintenance import erasure
    from ktsafe.stream.maintenance.erasure import note
    from ktsafe.stream.service.control_wire import Arguments, ask

    settings = configuration.load(config)
    ids = _ids(person)
    if prove:
        return _prove(settings, ids, wait, as_json=as_json)
    ids = list(dict.fromkeys(id_text(each) or each for each in ids))
    if not yes:
        ask_first(f"Erase {len(ids):,} person(s) for good?")
    report = ask(places.private_folder(settings), "erase", Arguments(ids), patience_s=wait)
    if report is None:
        with closing(_opened(settings)) as store:
            report = erasure.erase_everywhere(
                store,
                ids,
                places.audit_folder(settings),
                lambda ids: settings.config.dead_letters.erase(settings.site, ids),
                lambda aliases: note(places.private_folder(settings), aliases),
            )
    report["note"] = REMAINS
    say(report, "\n".join(_lines(report)), as_json=as_json)
    return Exit.OK


def _prove(settings: Settings, texts: list[str], wait_s: float, *, as_json: bool) -> int:
    """Report the remains of ids and values.

    Returns 1 if there are any, but for what chance may have put.
    """
    from ktsafe.stream.commands.state import parts_now
    from ktsafe.stream.config import places
    from ktsafe.stream.maintenance.remains import remains

    letters = settings.config.dead_letters.private_file(settings.site)
    private = places.private_folder(settings)
    with parts_now(settings, wait_s) as parts:
        others = [path for path in sorted(private.iterdir()) if path.name != STORE]
        others += [letters] if letters is not None and letters.exists() else []
        left, chance = remains(texts, [parts.store, *others])
    report = {"looked_for": len(texts), "left": left, "chance": chance, "note": OUT_OF_REACH}
    lines = [f"left      {n:,} in {place}" for place, n in left.items()]
    lines = lines or [f"left      nothing of {len(texts):,}"]
    lines += [
        f"chance    {n:,} in {place}: among random letters, where short texts stand by chance"
        for place, n in chance.items()
    ]
    if letters is None:
        lines.append("letters   in a topic: not looked at")
    say(report, "\n".join([*lines, f"note      {OUT_OF_REACH}"]), as_json=as_json)
    return Exit.UNSAFE if left else Exit.OK


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"erased    {report['erased']:,} of {report['asked']:,}"]
    if unknown := report["unknown"]:
        lines.append(f"          {unknown:,} not in the graph; whatever was left of them is gone")
    blanked, letters = report["mapping_entries_blanked"], report["dead_letters_blanked"]
    lines.append(f"mappings  {blanked:,} entries of past releases blanked")
    if letters is None:
        lines.append("letters   in a topic: they go when its retention ends")
    else:
        lines.append(f"letters   {letters:,} dead letters blanked")
    if report["release_given_up"]:
        lines.append("release   one that was not staged yet is given up")
    if not report["noted"]:
        lines.append(
            "restore   nothing could be noted beside the state folder: restoring a backup from "
            "before will bring them back without a word"
        )
    return [*lines, f"note      {report['note']}"]


def _opened(settings: Settings) -> GraphStore:
    """Open the store of a service that does not run.

    Raises
    ------
    StateUnusable
        If there is none, or not yet.
    StateLocked
        If a service holds it all the same.
    """
    from ktsafe.stream.config import places
    from ktsafe.stream.service import assembly

    private = places.private_folder(settings)
    check_there(private, "erase")
    try:
        return assembly.open_store(settings)
    except StateLocked as error:
        hint = (
            "a service holds it that cannot be asked yet. Wait, or send it a vertex.delete event."
        )
        raise StateLocked("erase", error.subject, hint) from None


def _ids(person: str) -> list[str]:
    lines = sys.stdin.read().splitlines() if person == "-" else [person]
    ids = list(dict.fromkeys(line for line in lines if line))
    if not ids:
        msg = "No id was given."
        raise ConfigError(msg, hint="Name one, or give one per line on standard input.")
    return ids
