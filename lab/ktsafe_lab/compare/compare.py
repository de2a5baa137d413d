"""`ktsafe-lab compare`: costs of parameters on a data set, side by side."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ktsafe.anonymization.request import Effort, RareQi
from ktsafe.errors import InvalidParams
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.report_texts import check_page, new_file, now, text_of
from ktsafe.stream.maintenance.cold_kernels import compile_first
from ktsafe.stream.process.command_line import (
    Edges,
    FiguresSeed,
    Json,
    SchemaFile,
    Vertices,
    listed,
    numbers,
    phases,
)
from ktsafe_lab.compare import comparison
from ktsafe_lab.compare.comparison import Cell, Row, Task
from ktsafe_lab.strategies import ALL

COST = (
    ("cost", "cost", ","),
    ("of ties", "edge_cost_share", ".2f"),
    ("precision", "edge_precision", ".2f"),
    ("recall", "edge_recall", ".2f"),
    ("F1", "edge_f1", ".2f"),
    ("people", "vertex_precision", ".1%"),
    ("of copies", "share_of_k_copies", ".1%"),
    ("x bound", "times_lower_bound", ".2f"),
    ("seconds", "seconds", ".1f"),
    ("MiB", "peak_mib", ".0f"),
)
PRIVACY = (
    ("unsafe", "unsafe_vertices", ","),
    ("k real", "k_real_min", ","),
    ("below", "k_real_share_below_k", ".1%"),
    ("k known", "k_known_min", ","),
    ("below", "k_known_share_below_k", ".1%"),
    ("over alpha", "alpha_real_above", ","),
)
UTILITY = (
    ("degree EMD", "degree_emd", ".2f"),
    ("top ranks kept", "pagerank_overlap", ".0%"),
    ("communities", "ami", ".2f"),
    ("at best", "ami_again", ".2f"),
)
STRUCTURE = (
    ("mean degree", "mean_degree", ".1f"),
    ("clustering", "clustering", ".3f"),
    ("hops", "mean_hops", ".2f"),
)


def compare(
    vertices: Vertices,
    edges: Edges,
    schema: SchemaFile,
    table: Annotated[Path, typer.Option("--csv", help="New CSV file, a row per combination.")],
    k: Annotated[str, typer.Option(help="Least numbers of candidates.")] = "5,10,20",
    t: Annotated[str, typer.Option(help="Greatest distances of neighbour attributes.")] = "0.1",
    alpha: Annotated[str, typer.Option(help="Greatest sensitive shares of candidates.")] = "0.2",
    epsilon: Annotated[str, typer.Option(help="Greatest edit distances.")] = "5",
    strategy: Annotated[str, typer.Option(help=f"Of {', '.join(ALL)}; or all.")] = "exact",
    effort: Annotated[str, typer.Option(help="Of fast, balanced.")] = "balanced",
    rare_qi: Annotated[str, typer.Option(help="Of withhold, suppress.")] = "withhold",
    drop_qi: Annotated[
        list[str] | None,
        typer.Option(
            "--drop-qi",
            "--without",
            help="Also compare without this quasi-identifier (or these: a,b); repeatable.",
            metavar="ATTRIBUTE",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Threads; for comparing times.")] = 1,
    seed: FiguresSeed = 1,
    utility: Annotated[bool, typer.Option(help="Measure what releases are good for.")] = True,
    report: Annotated[
        Path | None, typer.Option(help="New HTML file: all combinations side by side; private.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Anonymize a data set under each combination of parameters; measure each.

    Nothing is published. The figures are private: cost tells how much is inserted. Ctrl-C keeps
    the rows that are finished.
    """
    from ktsafe.stream.files.graphs import read_schema

    if report is not None:
        check_page(report)
    task = Task(vertices, edges, read_schema(schema), seed, utility, workers)
    lists: dict[str, Sequence[Any]] = {
        "without": _variants(drop_qi or [], task),
        "rare_qi": _chosen(rare_qi, "--rare-qi", get_args(RareQi)),
        "strategy": _chosen(",".join(ALL) if strategy == "all" else strategy, "--strategy", ALL),
        "effort": _chosen(effort, "--effort", get_args(Effort)),
        "alpha": listed(alpha, "--alpha"),
        "k": numbers(k, "--k"),
        "t": listed(t, "--t"),
        "epsilon": numbers(epsilon, "--epsilon"),
    }
    # What is listed first changes last. Each is checked before the first is measured.
    every = itertools.product(*lists.values())
    cells = [Cell(**dict(zip(lists, values, strict=True))) for values in every]
    for cell in cells:
        _ = cell.params, cell.options
    rows: list[Row] = []
    try:
        _measure(cells, task, table, rows)
    finally:
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif rows:
            _print(rows, utility=utility)
            typer.echo(f"{table}: {len(rows)} of {len(cells)} combinations; private")
        if rows and report is not None:
            from ktsafe_lab.compare.compared import comparison_page

            with new_file(report) as file:
                file.write(comparison_page(rows, list(Cell.__dataclass_fields__), now()))
    return exit_code(rows)


def _variants(left_out: list[str], task: Task) -> list[tuple[str, ...]]:
    """Return the sets of quasi-identifiers to leave out, the empty one first."""
    variants = [(), *(tuple(listed(names, "--drop-qi")) for names in left_out)]
    for names in variants:
        if unknown := [name for name in names if name not in task.schema.quasi_identifiers]:
            msg = f"--drop-qi {unknown[0]}: the schema has no such quasi-identifier."
            raise InvalidParams(msg, hint=f"It has {', '.join(task.schema.quasi_identifiers)}.")
    return variants


def _chosen(text: str, option: str, known: Collection[str]) -> list[str]:
    """Return the values of a list with commas, all of them known."""
    values = listed(text, option)
    if unknown := [value for value in values if value not in known]:
        raise InvalidParams(f"{option} {unknown[0]}: there are {', '.join(known)}.")
    return values


def _measure(cells: list[Cell], task: Task, path: Path, rows: list[Row]) -> None:
    """Measure cells; each row goes to file and `rows` at once."""
    compile_first()
    with new_file(path) as file, phases("comparing") as show:

        def progress(number: int, phase: str, done: float) -> None:
            cell = cells[number]
            which = f"{number + 1} of {len(cells)}, {cell.strategy}, k {cell.k}, t {cell.t}"
            show(f"{which}: {phase}", (number + done) / len(cells))

        names = comparison.columns(task.schema, utility=task.utility)
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for row in comparison.measured_cells(cells, task, progress):
            writer.writerow(row)
            file.flush()
            rows.append(row)


def exit_code(rows: list[Row]) -> Exit:
    """Return the code of the worst outcome."""
    outcomes = {row["outcome"] for row in rows}
    if outcomes & {"unsafe", "infeasible"}:
        return Exit.UNSAFE
    return Exit.INTERNAL if "failed" in outcomes else Exit.OK


def _print(rows: list[Row], *, utility: bool) -> None:
    """Print what cells share, then a narrow table on each matter."""
    # Where nobody looks at a terminal, nothing needs to be squeezed into one.
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    first = rows[0]
    parameters = list(Cell.__dataclass_fields__)
    varied = [name for name in parameters if any(row[name] != first[name] for row in rows)]
    alike = {n: first[n] for n in parameters if n not in varied}
    fixed = ", ".join(f"{n} {x}" for n, x in alike.items() if x != "" and x is not False)
    size = f"{first.get('vertices', '?')} vertices, {first.get('edges', '?')} edges"
    console.print(f"{size}; {fixed}")
    matters = [("Cost and usefulness", COST, _one), ("Privacy of the real vertices", PRIVACY, _one)]
    if utility:
        matters.append(("Utility", UTILITY, _one))
        matters.append(("Structure, true -> released", STRUCTURE, _change))
        matters.append(("Assortativity, true -> released", _assortativities(rows), _change))
    for title, columns, show in matters:
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
        for head in [*varied, "outcome"]:
            table.add_column(head, overflow="fold")
        for head, _, _ in columns:
            # Folded, not cut: half a number would be a wrong one.
            table.add_column(head, justify="right", overflow="fold")
        for row in rows:
            names = [str(row[name]) for name in [*varied, "outcome"]]
            table.add_row(*names, *(show(row, key, form) for _, key, form in columns))
        console.print(table)


def _assortativities(rows: list[Row]) -> tuple[tuple[str, str, str], ...]:
    """Return a column for each quasi-identifier that some cell kept."""
    keys = {key.removesuffix("_original"): None for row in rows for key in row}
    names = [key for key in keys if key.startswith("assortativity_") and f"{key}_released" in keys]
    return tuple((name.removeprefix("assortativity_"), name, ".2f") for name in names)


def _one(row: Row, key: str, form: str) -> str:
    return text_of(row.get(key), form)


def _change(row: Row, key: str, form: str) -> str:
    return " -> ".join(_one(row, f"{key}_{of}", form) for of in ("original", "released"))
