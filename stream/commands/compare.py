"""`ktsafe compare`: what parameters cost on a data set, side by side, before one is chosen."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO, get_args

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ktsafe.errors import InvalidParams
from ktsafe.options import Effort
from stream import comparison, kernels
from stream.commands.progress import phases
from stream.comparison import Cell, Row, Task
from stream.errors import ConfigError, Exit

COST = (
    ("cost", "cost", "{:,}"),
    ("of copies", "share_of_k_copies", "{:.1%}"),
    ("x bound", "times_lower_bound", "{:.2f}"),
    ("seconds", "seconds", "{:.1f}"),
    ("MiB", "peak_mib", "{:.0f}"),
)
PRIVACY = (
    ("unsafe", "unsafe_vertices", "{:,}"),
    ("k real", "k_real_min", "{:,}"),
    ("below", "k_real_share_below_k", "{:.1%}"),
    ("k known", "k_known_min", "{:,}"),
    ("below", "k_known_share_below_k", "{:.1%}"),
    ("over alpha", "alpha_real_above", "{:,}"),
)
UTILITY = (
    ("degree EMD", "degree_emd", "{:.2f}"),
    ("top ranks kept", "pagerank_overlap", "{:.0%}"),
    ("communities", "nmi", "{:.2f}"),
    ("at best", "nmi_again", "{:.2f}"),
)
STRUCTURE = (
    ("mean degree", "mean_degree", "{:.1f}"),
    ("clustering", "clustering", "{:.3f}"),
    ("hops", "mean_hops", "{:.2f}"),
)


def compare(
    vertices: Annotated[Path, typer.Option(help="CSV with id and attributes (.csv, .csv.gz).")],
    edges: Annotated[Path, typer.Option(help="CSV with source and target (.csv, .csv.gz).")],
    schema: Annotated[Path, typer.Option(help="TOML with the [attributes] table.")],
    table: Annotated[Path, typer.Option("--csv", help="New CSV file, a row per combination.")],
    k: Annotated[str, typer.Option(help="Least numbers of candidates.")] = "5,10,20",
    t: Annotated[str, typer.Option(help="Greatest distances of neighbour attributes.")] = "0.1",
    alpha: Annotated[str, typer.Option(help="Greatest sensitive shares of candidates.")] = "0.2",
    epsilon: Annotated[str, typer.Option(help="Greatest edit distances.")] = "5",
    effort: Annotated[str, typer.Option(help="Of fast, balanced, thorough.")] = "balanced",
    without: Annotated[
        list[str] | None,
        typer.Option(
            help="Also compare without this quasi-identifier (or these: a,b); repeatable.",
            metavar="ATTRIBUTE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same figures.")] = 1,
    utility: Annotated[bool, typer.Option(help="Measure what releases are good for.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Anonymize a data set under every combination of the given parameters and measure each.

    Nothing is published. The figures are private: cost tells how much is inserted. Ctrl-C keeps
    the rows that are finished.
    """
    from stream.graph_files import read_schema

    task = Task(vertices, edges, read_schema(schema), seed, utility)
    variants = [(), *(tuple(_listed(names, "--without")) for names in without or [])]
    for names in variants:
        if unknown := [name for name in names if name not in task.schema.quasi_identifiers]:
            msg = f"--without {unknown[0]}: the schema has no such quasi-identifier."
            raise InvalidParams(msg)
    cells = _grid(variants, effort, alpha, k, t, epsilon)
    rows: list[Row] = []
    try:
        _measure(cells, task, table, rows)
    finally:
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif rows:
            _print(rows, utility=utility)
            typer.echo(f"{table}: {len(rows)} of {len(cells)} combinations; private")
    return _code(rows)


def _grid(  # the order of the rows: what is listed first changes last
    variants: list[tuple[str, ...]], effort: str, alpha: str, k: str, t: str, epsilon: str
) -> list[Cell]:
    """Return all combinations, each checked before the first one is measured."""
    efforts = _listed(effort, "--effort")
    if unknown := [name for name in efforts if name not in get_args(Effort)]:
        msg = f"--effort {unknown[0]}: there are {', '.join(get_args(Effort))}."
        raise InvalidParams(msg)
    cells = [
        Cell(k_, t_, alpha_, epsilon_, effort_, names)
        for names, effort_, alpha_, k_, t_, epsilon_ in itertools.product(
            variants,
            efforts,
            _listed(alpha, "--alpha"),
            _numbers(k, "--k"),
            _listed(t, "--t"),
            _numbers(epsilon, "--epsilon"),
        )
    ]
    for cell in cells:
        _ = cell.params
    return cells


def _listed(text: str, option: str) -> list[str]:
    """Return the values of a list with commas, each once."""
    values = list(dict.fromkeys(value.strip() for value in text.split(",") if value.strip()))
    if not values:
        msg = f"{option} names nothing."
        raise InvalidParams(msg, hint="Give values with commas between them.")
    return values


def _numbers(text: str, option: str) -> list[int]:
    try:
        return [int(value) for value in _listed(text, option)]
    except ValueError as error:
        msg = f"{option} must be whole numbers with commas between them."
        raise InvalidParams(msg) from error


def _measure(cells: list[Cell], task: Task, path: Path, rows: list[Row]) -> None:
    """Measure the cells; each row goes to the file and to `rows` as soon as it is there."""
    if kernels.is_cold():
        typer.echo(f"ktsafe: {kernels.COLD_NOTICE}", err=True)
    with _created(path) as file, phases("comparing") as show:

        def progress(number: int, phase: str, done: float) -> None:
            cell = cells[number]
            which = f"{number + 1} of {len(cells)}, k {cell.k}, t {cell.t}, epsilon {cell.epsilon}"
            show(f"{which}: {phase}", (number + done) / len(cells))

        names = comparison.columns(task.schema, utility=task.utility)
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for row in comparison.measured_cells(cells, task, progress):
            writer.writerow(row)
            file.flush()
            rows.append(row)


@contextmanager
def _created(path: Path) -> Iterator[TextIO]:
    """Give a new private file."""
    try:
        file = path.open("x", encoding="utf-8", newline="")
    except OSError as error:
        msg = f"{path} cannot be created ({error.strerror})."
        raise ConfigError(msg, hint="Name a new file in a folder that is writable.") from error
    with file:
        path.chmod(0o600)
        yield file


def _code(rows: list[Row]) -> Exit:
    outcomes = {row["outcome"] for row in rows}
    if outcomes & {"unsafe", "infeasible"}:
        return Exit.UNSAFE
    return Exit.INTERNAL if "failed" in outcomes else Exit.OK


def _print(rows: list[Row], *, utility: bool) -> None:
    """Print what the cells have in common, then a table on each matter: narrow ones fit."""
    # Where nobody looks at a terminal, nothing needs to be squeezed into one.
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    first = rows[0]
    parameters = list(Cell.__dataclass_fields__)
    varied = [name for name in parameters if any(row[name] != first[name] for row in rows)]
    fixed = ", ".join(f"{n} {first[n]}" for n in parameters if n not in varied and first[n] != "")
    size = f"{first.get('vertices', '?')} vertices, {first.get('edges', '?')} edges"
    console.print(f"{size}; {fixed}")
    matters = [("Cost", COST, _one), ("Privacy of the real vertices", PRIVACY, _one)]
    if utility:
        matters.append(("Utility", UTILITY, _one))
        matters.append(("Structure, true > released", STRUCTURE, _change))
        matters.append(("Assortativity, true > released", _assortativities(rows), _change))
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
    return tuple((name.removeprefix("assortativity_"), name, "{:.2f}") for name in names)


def _one(row: Row, key: str, form: str) -> str:
    value = row.get(key)
    return "-" if value is None else form.format(value)


def _change(row: Row, key: str, form: str) -> str:
    return " > ".join(_one(row, f"{key}_{of}", form) for of in ("original", "released"))
