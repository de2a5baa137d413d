"""Names that commands had before: not listed, and understood until the next version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ktsafe.stream.process.command_line import (
    FiguresSeed,
    Json,
    Mappings,
    Releases,
    Truth,
    TruthSchema,
)


def attack(
    folders: Releases,
    mapping: Mappings,
    truth: Truth,
    schema: TruthSchema = None,
    attacks: Annotated[str, typer.Option(help="Names with commas between. Default: all.")] = "",
    seed: FiguresSeed = 0,
    as_json: Json = False,
) -> int:
    """Run known attacks: now `ktsafe audit --attacks`."""
    from ktsafe.stream.commands.audit import attacked, say_attacks
    from ktsafe.stream.evaluation.sequence_report import Sources

    sources = Sources(tuple(folders), mapping, truth, schema)
    return say_attacks(attacked(sources, attacks, seed), as_json=as_json)


def report(
    folders: Releases,
    mapping: Mappings,
    out: Annotated[Path, typer.Option(help="New HTML file.")],
    truth: Truth = None,
    schema: TruthSchema = None,
    attacks: Annotated[
        Path | None, typer.Option(help="What attacks printed as JSON of these releases.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="For readers of releases.")] = False,
    context: Annotated[Path | None, typer.Option(help="TOML for a dossier to sign.")] = None,
    seed: FiguresSeed = 0,
    as_json: Json = False,
) -> int:
    """Write a report: now `ktsafe audit --page`."""
    from ktsafe.stream.commands.audit import write_page
    from ktsafe.stream.evaluation.sequence_report import Sources
    from ktsafe.stream.report.sources import read_attacks

    found = None if attacks is None else read_attacks(attacks)
    sources = Sources(tuple(folders), mapping, truth, schema)
    return write_page(
        sources, out, found, public=public, context=context, seed=seed, as_json=as_json
    )
