"""`ktsafe advise`: levels of attributes, left-out ones, and prices of k.

Words may be changed. An option has its row in the reference (`make reference`); what is printed
with `--json` is read by programs: keys may be added there
(tests/ktsafe/assess/commands/test_advise.py).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ktsafe.stream.assessment import check_installed
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.report_texts import new_file, text_of
from ktsafe.stream.maintenance.cold_kernels import compile_first
from ktsafe.stream.process.command_line import (
    Columns,
    Edges,
    FiguresSeed,
    Hierarchies,
    Json,
    Keep,
    SchemaFile,
    Vertices,
    numbers,
    phases,
    say,
    words_of,
)

if TYPE_CHECKING:
    from ktsafe.assess.generalization.advice import Advice, ToldSetting, Tried
    from ktsafe.assess.generalization.lattice import Lattice


class AdviceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `ktsafe advise` found: private."""

    advice: str
    recommended: ToldSetting
    check: list[str]
    spellings_corrected: dict[str, int]
    configuration: str
    prices: list[ToldSetting]
    front: list[ToldSetting]
    settings: int
    tried: int
    seconds: float


def advise(
    vertices: Vertices,
    edges: Edges,
    schema: SchemaFile,
    columns: Columns = "",
    k: Annotated[int, typer.Option(help="Fewest candidates of a person; 12 for health data.")] = 10,
    others: Annotated[str, typer.Option("--other-k", help="Other k to price.")] = "5,20",
    alpha: Annotated[str, typer.Option(help="Greatest sensitive share of candidates.")] = "0.2",
    keep: Keep = "",
    hierarchies: Hierarchies = None,
    write: Annotated[
        Path | None, typer.Option(help="New schema file with the proposed groups.")
    ] = None,
    budget: Annotated[
        float, typer.Option(min=0, help="Seconds after which no more releases are made.")
    ] = 60.0,
    seed: FiguresSeed = 1,
    as_json: Json = False,
) -> int:
    """Propose how coarsely to publish each quasi-identifier.

    It estimates many settings and makes releases of the best. Nothing is published. What it
    prints, and the schema that it writes, are private.
    """
    check_installed("`ktsafe advise`")
    ks = numbers(others, "--other-k") if others.strip() else []
    from ktsafe.assess.generalization.advice import (
        advised,
        attributes_table,
        corrected,
        in_words,
    )
    from ktsafe.assess.generalization.lattice import Lattice, to_check
    from ktsafe.assess.generalization.levels import read_levels
    from ktsafe.graph.inputs.names import chosen_columns
    from ktsafe.params import PrivacyParams
    from ktsafe.stream.files.graphs import declared_beside, read_graph, read_schema

    params = PrivacyParams(k=k, alpha=alpha)  # type: ignore[arg-type]
    for each in ks:
        _ = PrivacyParams(k=each, alpha=alpha)  # type: ignore[arg-type]
    declared = read_schema(schema)
    graph = read_graph(vertices, edges, declared, chosen_columns(columns)).graph
    levels = read_levels(hierarchies or schema)
    lattice = Lattice.of(graph, k, levels)
    compile_first()
    started = time.monotonic()
    with phases("trying settings") as progress:

        def go_on(what: str, done: float) -> bool:
            progress(what, done)
            return time.monotonic() - started < budget

        advice = advised(lattice, params, ks, go_on, keep=words_of(keep), seed=seed)
    graph = lattice.at(advice.best.setting.levels)
    attributes = attributes_table(lattice, advice.best, declared_beside(declared))
    report = AdviceReport(
        advice=in_words(advice),
        recommended=advice.best.told_of(lattice),
        check=to_check(lattice, advice.best.setting.levels, levels),
        spellings_corrected=corrected(lattice),
        configuration=f'{attributes}\n[privacy]\nk = {k}\nalpha = "{alpha}"\n',
        prices=[one.told_of(lattice) for one in advice.prices],
        front=[one.told_of(lattice) for one in advice.front],
        settings=lattice.size * len({k, *ks}),
        tried=advice.n_tried,
        seconds=round(time.monotonic() - started, 3),
    )
    if write is not None:
        with new_file(write) as file:
            file.write(attributes)
    if as_json:
        say(report, "", as_json=True)
    else:
        _print(report, advice)
        typer.echo(f"{write}: the schema, private" if write else report.configuration)
    return Exit.OK


def _print(report: AdviceReport, advice: Advice) -> None:
    typer.echo("\n".join((report.advice, *report.check, "")))
    names = advice.lattice.graph.schema.quasi_identifiers
    columns = ("k", *names, "F1", "people", "wrong", "guessed")
    table = Table(*columns, box=SIMPLE_HEAD)
    for one in advice.front:
        table.add_row(str(one.setting.k), *_told(advice.lattice, one), *_worth(one))
    Console(highlight=False).print(table)
    for name, n in report.spellings_corrected.items():
        typer.echo(f"{name}: {n} spellings differ from another by case or spaces; taken for it")
    typer.echo(
        f"Values that each attribute is told in (-: left out), of the {report.tried} of "
        f"{report.settings} settings that were estimated, where no other one is better; in "
        f"{report.seconds:.0f} s. ~: an estimate. wrong: the share of simple conclusions that "
        "are off by more than 20%. guessed: people found by their neighbours.\n"
    )


def _told(lattice: Lattice, one: Tried) -> list[str]:
    return [
        str(len(levels[level].texts)) if level < len(levels) else "-"
        for levels, level in zip(lattice.levels, one.setting.levels, strict=True)
    ]


def _worth(one: Tried) -> list[str]:
    if one.usefulness is not None:
        return [text_of(share) for share in (one.f1, one.people, one.wrong, one.found)]
    if one.is_made:
        return ["no safe release", "", "", ""]
    return [f"~{one.f1:.2f}", f"~{one.people:.2f}", "", ""]
