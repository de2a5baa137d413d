"""The page of the evaluation: what each figure shows, what was measured, whether they agree."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Final

import numpy as np

from lab.evaluation.paper_cells import Cell
from lab.evaluation.paper_experiments import (
    ALL,
    COST,
    Experiment,
    Figure,
    Row,
    cells_of,
    cost_of,
    experiments,
)
from lab.evaluation.paper_graphs import (
    PUBLIC,
    SCALE,
    SMALL_VERTICES,
    SYNTHETIC,
    edges_of,
)
from lab.evaluation.paper_plots import write_plots

Answered = tuple[Experiment, list[Row]]
HEAD = """# The paper's evaluation, run again

Ren, Ghazinour, Lian: "kt-Safety: Graph Release via k-Anonymity and t-Closeness". \
`make paper` writes this page. Names in backquotes are the labels of the paper's figures and \
tables. The strict verifier judges every release. Costs are the vertices and edges by which a \
release differs from the true graph. Times are core seconds with kernels loaded, one run each on a \
busy machine. Seed 0.

`none`, `pruning`, `partition`, `partition+pruning` and `kl-graph` do what the paper's text says \
([paper map](../paper-map.md)) and leave people unsafe. `exact`, `tolerant` and `aligned` \
are this project's, and leave nobody unsafe.

A claim *agrees* if it holds on every graph measured, agrees *in part* if on some, and *disagrees* \
if on none. All measured values: `evaluation/small.csv` and `evaluation/full.csv`.

"""
SMALL: Final = (
    f"**Small run.** Graphs above 3,000 vertices are cut to the first {SMALL_VERTICES} that a walk "
    f"in breadth reaches, synthetic ones and gamma are divided by {SCALE}; Cora is whole. Sweeps "
    "are on Cora, Uniform and Zipf. Tables name the paper's values, not the divided ones. A cut is "
    "denser than its graph and keeps its quasi-identifiers: among 400 people with 97 of them "
    "(Epinions, Wikipedia, Arxiv) nearly no tie can be kept. `make paper FULL=1` takes the paper's "
    "sizes."
)
TOP: Final = f"{HEAD}{SMALL}"
TO_GET_THEM: Final = """Vertices and edges as the paper has them. Put each into a folder of \
`vertices.csv` (`id` and attributes), `edges.csv` (`source`, `target`) and `schema.toml` \
([files](../../docs/files.md)); `make paper DATA=folder` reads them. \
The project redistributes none. The digests are the first 16 digits \
of the sha256 of the edges' and the vertices' file."""


def write_page(out: Path, rows: list[Row], full_rows: list[Row]) -> None:
    """Write `evaluation.md` and its plots from the rows of a small run, and of a full one."""
    small, full = (
        [(e, rows_of(e, found)) for e in experiments(full=is_full)]
        for is_full, found in ((False, derived(rows)), (True, derived(full_rows)))
    )
    parts = [TOP, data_section(), settings(), summary(small, full)]
    parts.append(left_over(derived(full_rows)))
    drawn = write_plots(out / "evaluation", small)
    pictures = [f"![{title}](evaluation/{file})" for title, file in drawn]
    parts.append("\n\n".join(["## Drawn", *pictures]))
    (out / "evaluation.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def left_over(rows: list[Row]) -> str:
    """Return how many cells of a full run have no row, and what they would take.

    Core seconds of a release are taken for a power of the edges of its graph, fitted to the
    rows of its strategy.
    """
    lines = [
        "## Not run at the paper's sizes",
        "",
        "Expected is a power of a graph's edges, fitted to the rows above; verifying comes on top.",
        "",
        "| graph | measured | not finished | not run | core hours expected |",
        "|---|---|---|---|---|",
    ]
    at = {tuple(row[name] for name in vars(Cell("", ""))): row for row in rows}
    for graph in ALL:
        own = [cell for cell in cells_of(full=True) if cell.graph == graph]
        found = [at.get(tuple(map(str, dataclasses.astuple(cell)))) for cell in own]
        done = [row["outcome"] == "measured" for row in found if row]
        left = [cell for cell, row in zip(own, found, strict=True) if not row]
        hours = sum(expected_s(cell, rows) for cell in left) / 3600
        lines.append(
            f"| {graph} | {sum(done)} | {len(done) - sum(done)} | {len(left)} | {hours:.2g} |"
        )
    return "\n".join(lines)


def expected_s(cell: Cell, rows: list[Row]) -> float:
    """Return the core seconds that a cell should take."""
    if cell.kind in {"estimate", "partitioning", "pivots"} or cell.strategy == "original":
        return 0.0
    for strategy in (cell.strategy, "partition+pruning"):
        known = [
            (row["true_edges"], row["core_s"])
            for row in rows
            if row["kind"] in {"utility", "release"}
            and row["strategy"] == strategy
            and row["outcome"] == "measured"
        ]
        if len({edges for edges, _ in known}) > 1:
            power, scale = np.polyfit(*np.log(known).T, 1)
            one: float = np.exp(scale) * edges_of(cell.graph, cell.vertices) ** power
            return one * max(cell.iterations, 1)
    return 0.0


def derived(rows: list[Row]) -> list[Row]:
    """Return the rows with what follows from several columns or rows."""
    made = [as_numbers(row) for row in rows]
    own = [row for row in made if row["strategy"] == "partition+pruning" and COST[0] in row]
    utility = {(row["graph"], row["strategy"]): row for row in made if row["kind"] == "utility"}
    actual = {row["graph"]: cost_of(row) for row in own if row["kind"] == "utility"}
    best = [cost_of(row) for row in own if row["kind"] == "orders"]
    for row in made:
        row["strategy_n"] = f"{row['strategy']}, n = {row['n']}"
        if "unsafe_originals" in row:
            row["safe_originals"] = 1 - row["unsafe_originals"] / row["true_vertices"]
        if "partition_s" in row:
            row["partition_share"] = row["partition_s"] / row["core_s"]
        if "estimate" in row and row["graph"] in actual:
            row["actual"] = actual[row["graph"]]
            row["estimate_over_actual"] = row["estimate"] / row["actual"]
        if row["gamma"] == "3000" and best:
            row["over_best"] = cost_of(row) / best[0]
        for name in ("degree", "path", "clustering"):
            true = utility.get((row["graph"], "original"), {}).get(f"{name}_shares")
            if true and f"{name}_shares" in row:
                row[f"{name}_gap"] = half_l1(row[f"{name}_shares"], true)
    return made


def half_l1(one: str, other: str) -> float:
    """Return half the L1 distance of two distributions, as the file has them."""
    pairs = zip(one.split(), other.split(), strict=True)
    return sum(abs(float(x) - float(y)) for x, y in pairs) / 2


def as_numbers(row: Row) -> Row:
    """Return a row whose measured columns are numbers."""
    texts = {*vars(Cell("", "")), "outcome", "hash"} | {k for k in row if k.endswith("_shares")}
    return {k: v if k in texts or not isinstance(v, str) else float(v) for k, v in row.items()}


def rows_of(experiment: Experiment, rows: list[Row]) -> list[Row]:
    """Return the rows that answer an experiment; a release has distributions or not."""
    kinds = {"release": {"release", "utility"}, "utility": {"utility"}}
    found = []
    for cell in experiment.cells:
        fields = {name: str(value) for name, value in vars(cell).items() if name != "kind"}
        of_kind = kinds.get(cell.kind, {cell.kind})
        found += [
            row
            for row in rows
            if row["kind"] in of_kind and all(row[k] == v for k, v in fields.items())
        ]
    return list({id(row): row for row in found}.values())


def verdict(figure: Figure, rows: list[Row]) -> tuple[str, str]:
    """Return whether a figure agrees, and with what detail."""
    judged = [pair for rule in figure.rules for pair in rule.judged(rows)]
    if not judged:
        return ("not measured" if figure.rules else "cannot be compared"), ""
    against = sorted({graph for graph, holds in judged if not holds})
    held = sum(holds for _, holds in judged)
    count = f"{held} of {len(judged)} comparisons hold"
    if not against:
        return "agrees", count
    word = "agrees in part" if held else "disagrees"
    return word, f"{count}; not on {', '.join(against)}"


def summary(small: list[Answered], full: list[Answered]) -> str:
    """Return the table of all figures and tables, with their verdicts."""
    lines = [
        "## All figures and tables",
        "",
        "| figure or table | the paper | small run | at the paper's sizes | why |",
        "|---|---|---|---|---|",
    ]
    lines += [
        "| `data_sets` | nine data sets | above | | |",
        "| `exp_parameter_setting` | settings | above | | |",
    ]
    for (experiment, rows), (_, large) in zip(small, full, strict=True):
        for figure in experiment.figures:
            told = (verdict(figure, rows)[0], ", ".join(filter(None, verdict(figure, large))))
            words = " | ".join((figure.claim, *told, figure.note))
            lines.append(f"| `{figure.label}` | {words} |")
    return "\n".join(lines)


def data_section() -> str:
    """Return the table of data sets with where to get them (`data_sets`)."""
    lines = [
        "## Data sets (`data_sets`)",
        "",
        TO_GET_THEM,
        "",
        "| paper | V / E | source | licence | attributes here | folder | sha256 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, data in PUBLIC.items():
        digests = ", ".join(f"`{digest}`" for digest in data.sha256)
        lines.append(
            f"| {name} | {data.paper} | {data.source} | {data.licence} | {data.derived} "
            f"| `{data.folder}` | {digests} |"
        )
    for name, (_, edges) in SYNTHETIC.items():
        lines.append(
            f"| {name} | 10,000 / {edges:,} | `ktsafe.graph.synthetic` | this project's | 10 "
            "quasi-identifiers of 125; a tenth is sensitive | | |"
        )
    return "\n".join(lines)


def settings() -> str:
    """Return the parameters (`exp_parameter_setting`)."""
    cell = Cell("", "")
    return (
        "## Parameters (`exp_parameter_setting`)\n\n"
        f"Where nothing else is said: k = {cell.k}, alpha = {cell.alpha}, epsilon = {cell.epsilon}"
        f", t = {cell.t}, n = {cell.n}, gamma = {cell.gamma}, s = {cell.s}, {cell.tuples} "
        f"quasi-identifiers and {cell.vertices:,} vertices in synthetic graphs, l = 2."
    )
