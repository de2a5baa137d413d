"""`ktsafe advise`: which attributes to leave out, and what k costs, before any release."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ktsafe.errors import InvalidParams
from stream.commands.after_install import compile_first
from stream.errors import Exit
from stream.watching.progress import phases

if TYPE_CHECKING:
    from stream.study.advice import Tried


def advise(
    vertices: Annotated[Path, typer.Option(help="CSV with id and attributes (.csv, .csv.gz).")],
    edges: Annotated[Path, typer.Option(help="CSV with source and target (.csv, .csv.gz).")],
    schema: Annotated[Path, typer.Option(help="TOML with the [attributes] table.")],
    k: Annotated[int, typer.Option(help="Least number of candidates that you want.")] = 10,
    others: Annotated[str, typer.Option("--other-k", help="Other k to try.")] = "5,20",
    alpha: Annotated[str, typer.Option(help="Greatest sensitive share of candidates.")] = "0.2",
    budget: Annotated[
        float, typer.Option(min=0, help="Seconds; each attribute is left out once at least.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same figures.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Advise which quasi-identifiers to keep, by quick releases of a graph with and without them.

    Nothing is published. What it prints is private.
    """
    try:
        ks = [int(each) for each in others.split(",") if each.strip()]
    except ValueError as error:
        msg = "--other-k must be whole numbers with commas between them."
        raise InvalidParams(msg) from error
    compile_first()
    from ktsafe.params import PrivacyParams
    from stream.files.graphs import read_graph, read_schema
    from stream.study.advice import front, in_words, recommended, tried

    params = PrivacyParams(k=k, alpha=alpha)  # type: ignore[arg-type]
    for each in ks:
        _ = PrivacyParams(k=each, alpha=alpha)  # type: ignore[arg-type]
    graph = read_graph(vertices, edges, read_schema(schema)).graph
    started = time.monotonic()
    with phases("trying settings") as progress:

        def go_on(done: int, of: int) -> bool:
            progress(f"tried {done} of {of} settings", done / of)
            return time.monotonic() - started < budget

        found = tried(graph, params, ks, go_on, seed=seed)
    base, advised = found[0], recommended(found, k)
    names = [n for n in graph.schema.quasi_identifiers if n not in advised.dropped]
    count = 2 ** len(graph.schema.quasi_identifiers) * len({k, *ks})
    report: dict[str, Any] = {
        "advice": in_words(base, advised),
        "recommended": advised.to_mapping(),
        "configuration": _configuration(names, k, alpha),
        "front": [one.to_mapping() for one in front(found)],
        "tried": len(found),
        "settings": count,
        "seconds": round(time.monotonic() - started, 3),
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _print(report, front(found))
    return Exit.OK


def _configuration(names: list[str], k: int, alpha: str) -> str:
    """Return the lines to paste; those of [attributes] stand in a schema file, too."""
    return (
        f"[attributes]\nquasi_identifiers = {json.dumps(names)}\n\n"
        f'[privacy]\nk = {k}\nalpha = "{alpha}"\n'
    )


def _print(report: dict[str, Any], best: list[Tried]) -> None:
    typer.echo(f"{report['advice']}\n")
    table = Table("k", "left out", "precision", "recall", "F1", "people", box=SIMPLE_HEAD)
    for one in best:
        left_out = ", ".join(one.dropped) or "nothing"
        if one.usefulness is None:
            table.add_row(str(one.k), left_out, "no safe release", "", "", "")
            continue
        ties = one.usefulness["edges"]
        shares = [ties["precision"], ties["recall"], ties["f1"], one.people]
        texts = ["-" if share is None else f"{share:.2f}" for share in shares]
        table.add_row(str(one.k), left_out, *texts)
    Console(highlight=False).print(table)
    typer.echo(
        f"Settings that no other one beats, of {report['tried']} that were tried of "
        f"{report['settings']} in {report['seconds']:.0f} s. To paste:\n\n{report['configuration']}"
    )
