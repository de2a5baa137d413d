"""`ktsafe attack`: how real attackers fare against releases, by the private mapping and truth."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ktsafe.stream.errors import Exit
from ktsafe.stream.formatting import text_of
from ktsafe.stream.monitoring.progress import phases
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
    attacks: Annotated[
        str, typer.Option(help="Names of attacks, separated by commas. Default: all.")
    ] = "",
    seed: FiguresSeed = 0,
    as_json: Json = False,
) -> int:
    """Attack releases as known attackers would, and say how many people each of them finds.

    Every figure stands beside its baseline, an attacker without that knowledge, and beside its
    bound, if there is one; ! marks figures surely above it. They are figures, not a verdict,
    which `ktsafe verify` and `ktsafe audit` give.

    What it prints is private.
    """
    from ktsafe.stream.evaluation.attacks import NAMES, attack_releases
    from ktsafe.stream.evaluation.sequence_report import Sources

    wanted = [name.strip() for name in attacks.split(",") if name.strip()] or NAMES
    sources = Sources(tuple(folders), mapping, truth, schema)
    with phases("attacking") as progress:
        report = attack_releases(sources, wanted, seed=seed, progress=progress)
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return Exit.OK
    for part in report["releases"]:
        if part["results"]:
            _print(f"release {part['release_id']}", part["results"])
    for part in report["sequences"]:
        _print(f"sequence {part['sequence_id']}, {part['releases']} releases", part["results"])
    return Exit.OK


def _print(title: str, results: list[dict[str, Any]]) -> None:
    """Print a table of results, one line each."""
    typer.echo(title)
    width = max(len(result["attack"]) for result in results)
    typer.echo(f"  {'attack':{width}}  {'of':>7}  figure (95%)         baseline    bound")
    for result in results:
        targets = f"  {result['attack']:{width}}  {result['targets']:>7}"
        if not result["targets"]:
            typer.echo(f"{targets}  nobody")
            continue
        low, high = result["interval"]
        word = "auc  " if result["measure"] == "auc" else "share"
        bound = text_of(result["promise"], ".3f", "none")
        mark = " !" if result["is_broken"] else ""
        typer.echo(
            f"{targets}  {word} {result['value']:.3f} ({low:.3f}-{high:.3f})  "
            f"{result['control']:8.3f}  {bound:>7}{mark}"
        )
