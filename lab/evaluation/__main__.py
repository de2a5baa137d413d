"""Runs the paper's evaluation and writes its page.

    python -m lab.evaluation [--data FOLDER] [--out FOLDER] [--full] [--seconds 3600] [--page]

Rows go to `FOLDER/evaluation/small.csv` (`full.csv`), one per measurement; what has a row is not
run again, so a run that was ended goes on. Each cell runs in a process of its own, which is ended
after `--seconds`. `--page` only writes the page and its plots, from the rows that are there.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import multiprocessing
import sys
from collections.abc import Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ktsafe import AttributedGraph
from lab.evaluation.evaluation_page import write_page
from lab.evaluation.paper_cells import Cell, measured, warm
from lab.evaluation.paper_experiments import Row, cells_of
from lab.evaluation.paper_graphs import cut_to, paper_graph

FIELDS = [field.name for field in dataclasses.fields(Cell)]
MEASURED = (
    *("outcome", "true_vertices", "true_edges", "core_s", "partition_s", "anonymize_s", "merge_s"),
    *("inserted_vertices", "inserted_edges", "deleted_vertices", "deleted_edges"),
    *("unsafe", "unsafe_originals", "safe_share", "released_vertices"),
    *(
        "released_edges",
        "hash",
        "degree_mean",
        "degree_sd",
        "degree_root",
        "degree_spread",
        "path_mean",
        "path_sd",
        "path_root",
    ),
    *("connected", "clustering", "largest_component", "parts", "estimate", "pruned_pairs"),
    *("cost_mean", "cost_sd", "degree_shares", "path_shares", "clustering_shares"),
)


def main() -> int:
    """Run what has no row yet, and write the page; return the number of cells without a result."""
    parser = argparse.ArgumentParser(description="The paper's evaluation.")
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    parser.add_argument("--out", type=Path, default=Path("var/paper"), help="folder of the page")
    parser.add_argument("--full", action="store_true", help="the paper's sizes: days")
    parser.add_argument("--seconds", type=float, default=3600.0, help="limit of one cell")
    parser.add_argument("--page", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    path = arguments.out / "evaluation" / f"{'full' if arguments.full else 'small'}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = cells_of(full=arguments.full)
    if not arguments.page:
        run(cells, path, arguments.data, full=arguments.full, seconds=arguments.seconds)
    rows = {name: read_rows(path.with_name(f"{name}.csv")) for name in ("small", "full")}
    write_page(arguments.out, rows["small"], rows["full"])
    return sum(row["outcome"] != "measured" for row in rows[path.stem])


def run(
    cells: Iterable[Cell], path: Path, data: Path | None, *, full: bool, seconds: float
) -> None:
    """Append a row for each cell that has none."""
    there = {tuple(row[name] for name in FIELDS) for row in read_rows(path)}
    missing = [cell for cell in cells if key(cell) not in there]
    if missing:
        warm()
    for number, cell in enumerate(missing):
        graph = graph_of(cell, data, full=full)
        if graph is None:
            continue
        row = limited(cell, graph, full=full, seconds=seconds)
        is_new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*FIELDS, *MEASURED], lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(dataclasses.asdict(cell) | row)
        print(f"{number + 1}/{len(missing)} {' '.join(key(cell))}: {row['outcome']}", flush=True)


def graph_of(cell: Cell, data: Path | None, *, full: bool) -> AttributedGraph | None:
    """Return the graph of a cell, None where its files are not at hand."""
    sizes = {"vertices": cell.vertices, "tuples": cell.tuples}
    if cell.kind != "hops":
        return paper_graph(cell.graph, data, full=full, **sizes)
    graph = paper_graph(cell.graph, data, full=True, tuples=cell.tuples)
    return graph and cut_to(graph, cell.vertices)


def key(cell: Cell) -> tuple[str, ...]:
    """Return a cell as it stands in a row."""
    return tuple(str(value) for value in dataclasses.astuple(cell))


def limited(cell: Cell, graph: AttributedGraph, *, full: bool, seconds: float) -> dict[str, Any]:
    """Measure a cell in a process of its own; return its row, or why there is none."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(cell, graph, full, there))
    process.start()
    there.close()
    try:
        if not here.poll(seconds):
            return {"outcome": f"not finished in {seconds:g} s"}
        return {"outcome": "measured", **here.recv()}
    except EOFError:
        process.join()
        return {"outcome": f"ended with code {process.exitcode}"}
    finally:
        process.kill()
        process.join()


def _answer(cell: Cell, graph: AttributedGraph, full: bool, answer: Connection) -> None:
    row = measured(cell, graph, full=full)
    answer.send({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, cells without a value left out."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{k: v for k, v in row.items() if v} for row in csv.DictReader(file)]


if __name__ == "__main__":
    sys.exit(main())
