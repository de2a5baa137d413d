"""`ktsafe-lab compare` as its users run it: a grid, a table, a CSV file, an interrupted run."""

import csv
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from ktsafe.assess.releases.worth import without
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.graphs import read_schema
from ktsafe_lab.compare import comparison
from ktsafe_lab.compare.compare import exit_code
from ktsafe_lab.compare.comparison import (
    Cell,
    Task,
    columns,
    interrupts_held,
    measured_cells,
)
from ktsafe_lab.lab_commands import app


@pytest.fixture
def data(tmp_path):
    """Write forty people with two quasi-identifiers; return the options that name the files."""
    people = [f"p{i},g{i % 2},{i},{'x' if i % 9 == 0 else 'y'}" for i in range(40)]
    (tmp_path / "vertices.csv").write_text("\n".join(["id,group,age,illness", *people]) + "\n")
    ties = [f"p{i},p{(i * 7 + 1) % 40}" for i in range(40)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *ties]) + "\n")
    (tmp_path / "schema.toml").write_text(
        "[attributes]\nquasi_identifiers = ['group', 'age']\nsensitive = 'illness'\n"
        "sensitive_values = ['x']\nbuckets = { age = [10, 30] }\n"
    )
    return [
        *(f"--{name}={tmp_path / name}.csv" for name in ("vertices", "edges")),
        f"--schema={tmp_path / 'schema.toml'}",
        f"--csv={tmp_path / 'out.csv'}",
    ]


def task_of(tmp_path, **changes):
    schema = read_schema(tmp_path / "schema.toml")
    given = {"seed": 1, "utility": False, **changes}
    return Task(tmp_path / "vertices.csv", tmp_path / "edges.csv", schema, **given)


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_grid_becomes_a_private_file_and_json(tmp_path, data, capsys):
    """Each combination is a row with kt-safe releases and all figures, in the file and in JSON."""
    options = ["--k=4", "--effort=fast", "--drop-qi=age", "--seed=3", "--json"]
    assert run_command(["compare", *data, *options], app) == Exit.OK
    found, written = json.loads(capsys.readouterr().out), rows_of(tmp_path / "out.csv")
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o600
    assert [row["without"] for row in written] == ["", "age"]
    assert list(written[0]) == columns(read_schema(tmp_path / "schema.toml"), utility=True)
    for row, texts in zip(found, written, strict=True):
        texts_expected = {name: str(value) for name, value in row.items() if value is not None}
        assert {name: texts[name] for name in texts_expected} == texts_expected
        assert not any(texts[name] for name in texts.keys() - texts_expected.keys())
        assert (row["outcome"], row["unsafe_vertices"], row["vertices"]) == ("kt-safe", 0, 40)
        assert row["candidates_min"] >= 4
        kept = row["edges"] - row["deleted_edges"]
        assert row["released_edges"] == kept + row["inserted_edges"]
        vertices = abs(row["released_vertices"] - row["vertices"])
        assert row["cost"] == vertices + row["deleted_edges"] + row["inserted_edges"]
        wrong = row["deleted_edges"] + row["inserted_edges"]
        assert row["edge_cost_share"] == pytest.approx(wrong / row["edges"], abs=1e-6)
        shared = row["edges"] - row["deleted_edges"]
        assert row["edge_recall"] == pytest.approx(shared / row["edges"], abs=1e-6)
        assert 20 < row["peak_mib"] < 4_000
        assert row["mean_degree_original"] == 2 * row["edges"] / row["vertices"]
    every, fewer = found
    assert "assortativity_age_released" in every
    assert "assortativity_age_released" not in fewer
    assert fewer["cost"] < every["cost"], "fewer quasi-identifiers are cheaper here"


def test_ctrl_c_keeps_the_finished_rows(tmp_path, data):
    """Interrupted in the middle, it exits with 130, ends its process, and the rows are whole."""
    numbers = ",".join(map(str, range(2, 40)))
    shares = ",".join(f"0.{number:02}" for number in range(1, 21))
    settings = [f"--k={numbers}", f"--t={shares}"]  # So many that a fast machine is not done.
    arguments = ["compare", *data, "--effort=fast", "--no-utility", *settings]
    process = subprocess.Popen(
        [sys.executable, "-m", "ktsafe_lab.lab_commands", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Who is started in the background of a script ignores Ctrl-C, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    path = tmp_path / "out.csv"
    while process.poll() is None and not (path.exists() and path.read_text().count("\n") > 1):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to the whole group.
    out, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED
    assert "Traceback" not in err
    rows = rows_of(path)
    assert 1 <= len(rows) < 760
    assert all(row["outcome"] == "kt-safe" and row["alpha_real_above"] for row in rows)
    assert f"{len(rows)} of 760 combinations" in out


def test_ctrl_c_waits_until_a_process_is_started():
    """A signal that another thread takes interrupts the main one afterwards."""
    go, steps = threading.Event(), []
    other = threading.Thread(target=lambda: go.wait() and signal.raise_signal(signal.SIGINT))
    other.start()

    def start():
        with interrupts_held():
            go.set()
            other.join()
            steps.extend("a few more bytecodes")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(steps) == 20


def test_a_lost_process_costs_its_row_only(tmp_path, data, monkeypatch):
    """A process killed from outside is a failed row, and no process is left behind."""
    cells = [Cell(4, "0.1", "0.2", 5, "fast")]

    def kill(number, phase, done):
        for child in multiprocessing.active_children():
            child.kill()

    (row,) = measured_cells(cells, task_of(tmp_path), kill)
    assert row == {**cells[0].to_row(), "outcome": "failed"}
    assert multiprocessing.active_children() == []


def test_a_combination_that_cannot_be_has_no_figures(tmp_path, data, capsys):
    """Where every value is sensitive nothing can be inserted: `infeasible`, exit 1, a row."""
    text = (
        (tmp_path / "schema.toml")
        .read_text()
        .replace("['x']", "['x', 'y', '-']\nexpect_absent = ['-']")
    )
    (tmp_path / "schema.toml").write_text(text)
    assert (
        run_command(["compare", *data, "--k=4", "--effort=fast", "--no-utility"], app)
        == Exit.UNSAFE
    )
    (row,) = rows_of(tmp_path / "out.csv")
    assert (row["outcome"], row["vertices"], row["cost"]) == ("infeasible", "40", "")
    assert "infeasible" in capsys.readouterr().out


def test_unreadable_data_end_the_comparison(tmp_path, data, capsys):
    """An error in the data is every cell's: one paragraph and exit 2, raised in the process."""
    (tmp_path / "edges.csv").write_text("source,target\np0,nobody\n")
    assert run_command(["compare", *data, "--k=4,5", "--json"], app) == Exit.USAGE
    assert "edges.csv, line 2" in capsys.readouterr().err
    assert rows_of(tmp_path / "out.csv") == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--k=ten", "whole numbers"),
        ("--k=,", "names nothing"),
        ("--k=5,0", "k must be"),
        ("--t=0.1,2", "t must be"),
        ("--effort=heroic", "balanced"),
        ("--without=illness", "no such quasi-identifier"),
        ("--drop-qi=illness", "It has group, age"),
        ("--strategy=exact,magic", "there are exact"),
        ("--rare-qi=drop", "withhold"),
        ("--rare-qi=pad", "suppress"),
        ("--workers=0", "workers"),
    ],
)
def test_a_bad_grid_is_refused_before_anything_is_measured(tmp_path, data, capsys, option, words):
    """All combinations are checked first; nothing is written then."""
    assert run_command(["compare", *data, option], app) == Exit.USAGE
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_a_finished_table_is_not_overwritten(tmp_path, data, capsys, monkeypatch):
    """Hours of work are not lost to a repeated command."""
    monkeypatch.setattr(comparison, "measured_cells", lambda *_: pytest.fail("measured"))
    (tmp_path / "out.csv").write_text("kept")
    assert run_command(["compare", *data], app) == Exit.USAGE
    assert (tmp_path / "out.csv").read_text() == "kept"


def test_left_out_attributes_leave_the_schema_with_their_buckets(tmp_path, data):
    """What is left out is neither read nor bucketed; the order of the others stays."""
    schema = read_schema(tmp_path / "schema.toml")
    fewer = without(schema, ["age"])
    assert (fewer.quasi_identifiers, fewer.buckets) == (("group",), {})
    assert without(schema, []) == schema


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["kt-safe"], Exit.OK),
        (["kt-safe", "failed"], Exit.INTERNAL),
        (["failed", "unsafe", "kt-safe"], Exit.UNSAFE),
        (["infeasible"], Exit.UNSAFE),
    ],
)
def test_the_worst_outcome_is_the_exit_code(outcomes, code):
    """An unsafe release outweighs a failure, a failure outweighs success."""
    assert exit_code([{"outcome": outcome} for outcome in outcomes]) == code


def test_strategies_and_options_side_by_side(tmp_path, data, capsys):
    """Options that exclude each other are left out; the others are rows, unsafe ones told."""
    options = ["--k=4", "--effort=fast", "--no-utility", "--json"]
    options += ["--strategy=exact,tolerant,kl-graph"]
    assert run_command(["compare", *data, *options], app) == Exit.UNSAFE
    captured = capsys.readouterr()
    found = {row["strategy"]: row for row in json.loads(captured.out)}
    assert set(found) == {"exact", "tolerant", "kl-graph"}
    assert found["tolerant"]["cost"] <= found["exact"]["cost"]
    assert found["tolerant"]["outcome"] == found["exact"]["outcome"] == "kt-safe"
    assert found["kl-graph"]["outcome"] == "unsafe"
    assert found["kl-graph"]["unsafe_vertices"] > 0
