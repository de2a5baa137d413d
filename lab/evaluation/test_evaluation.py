"""`make paper` answers every figure and table of the paper, and each kind of measurement runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ktsafe_lab.synthetic_degrees import zipf
from lab.evaluation import __main__ as program
from lab.evaluation.evaluation_page import derived, rows_of, verdict, write_page
from lab.evaluation.paper_cells import Cell, measured
from lab.evaluation.paper_experiments import (
    PAPER_LABELS,
    Below,
    Figure,
    Trend,
    Within,
    experiments,
)
from lab.evaluation.paper_graphs import PUBLIC, SYNTHETIC, cut_to, paper_graph

TINY = zipf(90, 150, rng=np.random.default_rng(0), n_tuples=3)
KINDS = {
    "one": [Cell("utility", "Zipf", name) for name in ("original", "none", "kl-graph", "exact")],
    "parts": [Cell("utility", "Zipf", gamma=750), Cell("estimate", "Zipf", gamma=750)],
    "iterations": [Cell(kind, "Zipf", iterations=2) for kind in ("partitioning", "pivots")],
    "orders": [Cell("orders", "Zipf", iterations=2)],
    "more hops": [Cell("hops", "Zipf", name, n=2, gamma=10) for name in ("aligned", "partition")],
}


@pytest.mark.parametrize("full", [False, True])
def test_every_figure_and_table_of_the_paper_is_answered_once(full) -> None:
    """No label is left out, none made up; those of settings stand on the page itself."""
    found = [figure.label for e in experiments(full=full) for figure in e.figures]
    assert sorted([*found, "data_sets", "exp_parameter_setting"]) == sorted(PAPER_LABELS)
    assert len(PAPER_LABELS) == len(set(PAPER_LABELS)) == 37


def test_the_full_run_takes_the_papers_graphs_and_settings() -> None:
    """All nine data sets, all values of the paper's table of parameters."""
    cells = program.cells_of(full=True)
    assert {cell.graph for cell in cells} == {*PUBLIC, *SYNTHETIC}
    values = {name: {getattr(cell, name) for cell in cells} for name in ("k", "gamma", "s", "n")}
    assert values == {
        "k": {5, 10, 15, 20},
        "gamma": {500, 1000, 1500, 2000, 3000},
        "s": {2, 3, 4, 5, 6},
        "n": {1},
    }
    assert {cell.n for cell in program.cells_of(full=False)} == {1, 2, 3}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_measurement_runs(kind) -> None:
    """A row has all columns that the file has, and ours leave nobody unsafe."""
    for cell in KINDS[kind]:
        graph = cut_to(TINY, 30) if cell.kind == "hops" else TINY
        row = measured(dataclasses.replace(cell, k=3), graph, full=False)
        assert set(row) <= set(program.MEASURED) - set(program.FIELDS)
        if cell.strategy in {"exact", "aligned"}:
            assert row["unsafe"] == 0
        if cell.strategy == "original":
            assert "inserted_edges" not in row
            assert row["released_vertices"] == 90


def test_rows_are_kept_and_the_page_is_made_of_them(tmp_path, monkeypatch) -> None:
    """A second run measures nothing; the page names every label; a lost row is measured again."""
    monkeypatch.setattr(program, "limited", lambda *_, **__: {"outcome": "measured"})
    monkeypatch.setattr(program, "warm", lambda: None)
    path = tmp_path / "evaluation" / "small.csv"
    path.parent.mkdir()
    cells = [cell for cell in program.cells_of(full=False) if cell.graph == "Zipf"]
    program.run(cells[:9], path, None, full=False, seconds=1)
    first = path.read_bytes()
    program.run(cells[:9], path, None, full=False, seconds=1)
    assert path.read_bytes() == first
    path.write_bytes(first[: first.rindex(b"\n", 0, -1) + 1])
    program.run(cells[:9], path, None, full=False, seconds=1)
    assert path.read_bytes() == first


def test_the_page_names_every_label_with_and_without_rows(tmp_path) -> None:
    """Each figure has a line with its verdict; what has no row cannot be compared."""
    (tmp_path / "evaluation").mkdir()
    row = measured(Cell("utility", "Zipf", k=10), TINY, full=False)
    cell = {name: str(value) for name, value in vars(Cell("utility", "Zipf")).items()}
    made = cell | {"outcome": "measured"} | {name: str(value) for name, value in row.items()}
    for rows in ([], [made], [made, made | {"strategy": "none"}]):
        write_page(tmp_path, rows, rows)
        page = (tmp_path / "evaluation.md").read_text(encoding="utf-8")
        assert [label for label in PAPER_LABELS if f"`{label}`" not in page] == []
    assert (tmp_path / "evaluation" / "degrees.svg").exists()


def test_verdicts_follow_from_the_rows() -> None:
    """Each rule agrees with a claim, with its opposite disagrees, with a mixture agrees in part."""

    def rows(*values: float) -> list[dict]:
        return [
            {"graph": g, "strategy": name, "k": k, "core_s": value}
            for (g, name, k), value in zip(
                [("A", "x", 5), ("A", "y", 10), ("B", "x", 5), ("B", "y", 10)], values, strict=True
            )
        ]

    for rule in (Trend("core_s", "k", 1), Below("core_s", "x", "y"), Below("core_s", "x", "y", 1)):
        figure = Figure("", "", (rule,))
        assert verdict(figure, rows(1, 2, 1, 2))[0] == "agrees"
        assert verdict(figure, rows(2, 1, 2, 1))[0] == "disagrees"
        assert verdict(figure, rows(1, 2, 2, 1)) == (
            "agrees in part",
            "1 of 2 comparisons hold; not on B",
        )
    assert verdict(Figure("", "", (Within("core_s", 0, 1),)), rows(0, 1, 2, 3))[0].endswith("part")
    for growth, word in (((2, 3), "agrees"), ((1, 1.5), "disagrees"), ((3, 4), "disagrees")):
        figure = Figure("", "", (Trend("core_s", "k", 1, growth=growth),))
        assert verdict(figure, rows(1, 2, 1, 2))[0] == word
    figure = Figure("", "", (Trend("core_s", "k", 1, "z"),))
    assert verdict(figure, rows(1, 2, 1, 2))[0] == "not measured"
    assert verdict(Figure("", ""), rows(1, 1, 1, 1))[0] == "cannot be compared"
    assert verdict(Figure("", "", (Trend("cost", "k", 1),)), [])[0] == "not measured"


def test_estimates_are_compared_with_the_release_of_the_same_graph() -> None:
    """`actual` is the cost of partition+pruning; rows of other graphs are left alone."""
    release = {name: str(value) for name, value in vars(Cell("utility", "Zipf")).items()}
    parts = {
        f"{how}_{what}": "5" for how in ("inserted", "deleted") for what in ("vertices", "edges")
    }
    estimate = {name: str(value) for name, value in vars(Cell("estimate", "Zipf")).items()}
    release |= {"degree_shares": "0.5 0.5"}
    true = release | {"strategy": "original", "degree_shares": "0.2 0.8"}
    made = derived([release | parts, estimate | {"estimate": "30"}, estimate | {"graph": "Cora"}])
    assert derived([release, true])[0]["degree_gap"] == pytest.approx(0.3)
    assert [row.get("estimate_over_actual") for row in made] == [None, 1.5, None]
    model = next(e for e in experiments(full=False) if e.figures[0].label == "cost_model_eva")
    assert len(rows_of(model, made)) == 2


def test_missing_files_are_no_graph(tmp_path) -> None:
    """Without a folder of data only synthetic graphs are there, at their scale."""
    assert paper_graph("Cora", None, full=False) is None
    assert paper_graph("Cora", tmp_path, full=False) is None
    assert paper_graph("Uniform", None, full=False, vertices=20_000).n_vertices == 800
