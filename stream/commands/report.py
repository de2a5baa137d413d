"""`ktsafe report`: how safe and how useful releases are, on one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.monitoring.progress import phases
from ktsafe.stream.process.command_line import FiguresSeed, Releases, Truth, TruthSchema


def report(
    folders: Releases,
    mapping: Annotated[
        Path,
        typer.Option("--map", help="The private audit folder, with an audit.json per release."),
    ],
    out: Annotated[Path, typer.Option(help="New HTML file.")],
    truth: Truth = None,
    schema: TruthSchema = None,
    attacks: Annotated[
        Path | None, typer.Option(help="What `ktsafe attack --json` printed of these releases.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="For readers of releases: coarse figures only.")
    ] = False,
    context: Annotated[
        Path | None,
        typer.Option(help="TOML with what only the owner can state, for a dossier to sign."),
    ] = None,
    seed: FiguresSeed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> int:
    """Write one HTML page on the last release, beside all before it: safety, and utility.

    It is made from private audits that exist already, and is private; --truth measures what the
    last audit does not tell. --context adds a dossier: clauses of standards with figures and what
    the owner states, and a place to sign. With --public it is made for readers of releases: what
    is promised, and what noise to expect in coarse steps.
    """
    from ktsafe.stream.evaluation.sequence_report import Sources
    from ktsafe.stream.report import public_page
    from ktsafe.stream.report.content import content
    from ktsafe.stream.report.context import read_context
    from ktsafe.stream.report.dossier import dossier
    from ktsafe.stream.report.page import page
    from ktsafe.stream.report.sources import told_of
    from ktsafe.stream.report.writing import new_file, now

    with phases("reporting") as progress:
        sources = Sources(tuple(folders), mapping, truth, schema)
        history = told_of(sources, attacks, seed=seed, progress=progress)
    stated = None if context is None else read_context(context)
    if public and stated is not None:
        raise ConfigError("A dossier is private.", hint="Leave --context or --public out.")
    if public:
        found = public_page.public_content(history[-1])
        text = public_page.page(found)
    else:
        found = content(history, now())
        if stated is not None:
            found["dossier"] = dossier(stated, found)
        text = page(found)
    with new_file(out, is_private=not public) as file:
        file.write(text)
    typer.echo(json.dumps(found, indent=2) if as_json else f"{out}: {_says(public=public)}")
    return Exit.OK


def _says(*, public: bool) -> str:
    if public:
        return "for readers of the release; publish one for a sequence, not one for each release"
    return "private; never publish it"
