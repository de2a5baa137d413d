"""`ktsafe advise`: which attributes to leave out or tell in broader buckets, and what k costs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ktsafe.stream.commands.after_install import compile_first
from ktsafe.stream.errors import Exit
from ktsafe.stream.figure_text import text_of
from ktsafe.stream.process.command_line import (
    Edges,
    FiguresSeed,
    Json,
    SchemaFile,
    Vertices,
    numbers,
)
from ktsafe.stream.watching.progress import phases

if TYPE_CHECKING:
    from ktsafe import Schema
    from ktsafe.stream.study.advice import ReleaseSetting, Tried


def advise(
    vertices: Vertices,
    edges: Edges,
    schema: SchemaFile,
    k: Annotated[int, typer.Option(help="Least number of candidates that you want.")] = 10,
    others: Annotated[str, typer.Option("--other-k", help="Other k to try.")] = "5,20",
    alpha: Annotated[str, typer.Option(help="Greatest sensitive share of candidates.")] = "0.2",
    budget: Annotated[
        float, typer.Option(min=0, help="Seconds after which no more releases are made.")
    ] = 60.0,
    seed: FiguresSeed = 1,
    as_json: Json = False,
) -> int:
    """Advise which quasi-identifiers to keep: all settings are estimated, the best are released.

    Nothing is published. What it prints is private.
    """
    ks = numbers(others, "--other-k") if others.strip() else []
    from ktsafe.params import PrivacyParams
    from ktsafe.stream.files.graphs import read_graph, read_schema
    from ktsafe.stream.study.advice import advised, in_words, settings_of

    params = PrivacyParams(k=k, alpha=alpha)  # type: ignore[arg-type]
    for each in ks:
        _ = PrivacyParams(k=each, alpha=alpha)  # type: ignore[arg-type]
    graph = read_graph(vertices, edges, read_schema(schema)).graph
    compile_first()
    started = time.monotonic()
    with phases("trying settings") as progress:

        def go_on(what: str, done: float) -> bool:
            progress(what, done)
            return time.monotonic() - started < budget

        advice = advised(graph, params, ks, go_on, seed=seed)
    report: dict[str, Any] = {
        "advice": in_words(advice.base, advice.best),
        "recommended": advice.best.to_mapping(),
        "configuration": _configuration(graph.schema, advice.best.setting, alpha),
        "prices": [one.to_mapping() for one in advice.prices],
        "front": [one.to_mapping() for one in advice.front],
        "settings": len(settings_of(graph.schema, (k, *ks))),
        "seconds": round(time.monotonic() - started, 3),
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
    else:
        _print(report, advice.front)
    return Exit.OK


def _configuration(schema: Schema, setting: ReleaseSetting, alpha: str) -> str:
    """Return the lines to paste; those of [attributes] stand in a schema file, too."""
    from ktsafe.stream.study.advice import broader_buckets

    names = [name for name in schema.quasi_identifiers if name not in setting.dropped]
    buckets = {
        name: list(broader_buckets(schema, name) if name in setting.broader else borders)
        for name, borders in schema.buckets.items()
        if name not in setting.dropped
    }
    told = ", ".join(f"{json.dumps(name)} = {borders}" for name, borders in buckets.items())
    return (
        f"[attributes]\nquasi_identifiers = {json.dumps(names)}\n"
        + (f"buckets = {{ {told} }}\n" if told else "")
        + f'\n[privacy]\nk = {setting.k}\nalpha = "{alpha}"\n'
    )


def _print(report: dict[str, Any], best: list[Tried]) -> None:
    typer.echo(f"{report['advice']}\n")
    columns = ("k", "left out", "broader", "precision", "recall", "F1", "people")
    table = Table(*columns, box=SIMPLE_HEAD)
    for one in best:
        said = [", ".join(names) or "-" for names in (one.setting.dropped, one.setting.broader)]
        if one.usefulness is not None:
            ties = one.usefulness["edges"]
            shares = [ties["precision"], ties["recall"], ties["f1"], one.people]
            texts = [text_of(share) for share in shares]
        elif one.is_made:
            texts = ["no safe release", "", "", ""]
        else:
            texts = ["", "", f"~{one.f1:.2f}", f"~{one.people:.2f}"]
        table.add_row(str(one.setting.k), *said, *texts)
    Console(highlight=False).print(table)
    typer.echo(
        f"Of {report['settings']} settings, those that no other one beats, in "
        f"{report['seconds']:.0f} s; ~ is an estimate. To paste:\n\n{report['configuration']}"
    )
