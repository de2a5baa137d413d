"""Plots of the evaluation, as SVG: sweeps of time and cost, and distributions beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from lab.evaluation.paper_experiments import ALL, Experiment, Row, value_of

# The same rows give the same bytes, and text stays text.
mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "ktsafe", "svg.fonttype": "none", "font.size": 8})
SWEPT = {
    **{name: name for name in ("k", "alpha", "epsilon", "t", "gamma", "s")},
    "tuples": "quasi-identifiers",
    "vertices": "|V|",
}
DISTRIBUTIONS = {
    "degrees": (
        "degree_shares",
        [*"012", "3-5", "6-10", "11-20", "21-40", "41-80", "81-160", "161+"],
    ),
    "paths": ("path_shares", [*map(str, range(12)), "12+"]),
    "clustering": ("clustering_shares", [f"{x / 10:g}" for x in range(10)]),
}


def write_plots(
    folder: Path, answered: list[tuple[Experiment, list[Row]]]
) -> list[tuple[str, str]]:
    """Write all plots; return the title and file of each."""
    sweeps = [(e, rows) for e, rows in answered if e.by in SWEPT and "cost" in e.measures and rows]
    drawn = []
    if sweeps:
        drawn.append(("Sweeps: core seconds, and cost below", "sweeps.svg"))
        sweep_plot(folder / "sweeps.svg", sweeps)
    rows = [row for e, found in answered if "Distributions" in e.title for row in found]
    for name, (column, labels) in DISTRIBUTIONS.items():
        if rows:
            drawn.append((f"Distributions of {name}, by data set", f"{name}.svg"))
            distribution_plot(folder / f"{name}.svg", rows, column, labels)
    return drawn


def sweep_plot(path: Path, sweeps: list[tuple[Experiment, list[Row]]]) -> None:
    """Draw time and cost over each parameter, a line per graph."""
    figure, axes = plt.subplots(4, 4, figsize=(10, 9), squeeze=False)
    for place, (experiment, rows) in enumerate(sweeps):
        for below, measure in enumerate(("core_s", "cost")):
            axis = axes[2 * (place // 4) + below][place % 4]
            for graph in dict.fromkeys(row["graph"] for row in rows):
                pairs = [
                    (float(row[experiment.by]), value_of(row, measure))
                    for row in rows
                    if row["graph"] == graph and row["outcome"] == "measured"
                ]
                colour = f"C{ALL.index(graph)}"
                axis.plot(*zip(*sorted(pairs), strict=True), ".-", color=colour, label=graph)
            axis.set_ylim(bottom=0)
            axis.set_xlabel(SWEPT[experiment.by])
            axis.set_ylabel("core seconds" if measure == "core_s" else "cost, V + E")
    lines = {line.get_label(): line for axis in axes.flat for line in axis.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="upper center", ncols=len(lines))
    saved(figure, path)


def distribution_plot(path: Path, rows: list[Row], column: str, labels: list[str]) -> None:
    """Draw the shares of a distribution, a panel per data set and a line per release."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    figure, axes = plt.subplots(3, 3, figsize=(10, 7), squeeze=False)
    for axis, graph in zip(axes.flat, graphs, strict=False):
        for row in rows:
            if row["graph"] == graph and column in row:
                values = [float(x) for x in row[column].split()]
                style = "k--" if row["strategy"] == "original" else "-"
                axis.plot(labels, values, style, label=row["strategy"], linewidth=1)
        axis.set_title(graph)
        axis.tick_params(axis="x", rotation=60)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="upper center", ncols=len(names))
    saved(figure, path)


def saved(figure: Any, path: Path) -> None:
    """Write a figure as SVG without a date, so it differs only where its rows do."""
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
