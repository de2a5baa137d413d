"""Benchmarks by revision: what is measured, kept and marked."""

from __future__ import annotations

from pathlib import Path

from lab.benchmarks.by_revision.page import lines, write_page
from lab.benchmarks.by_revision.rows import Row, compared, kept, read, write
from lab.benchmarks.by_revision.running import Benchmark, run

RESULTS = Path(__file__).parents[3] / "lab/results"

OLD = Row("2026-01-01T00:00", "a1", "ingest", 10.0, 5.0, 300, ".5", "h1")


def test_a_benchmark_is_measured_with_its_children() -> None:
    """Work and memory of a child count; the hash is of what was printed, whatever its order."""
    work = "x = bytearray(200 << 20); sum(range(3_000_000))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{work}'], check=True)"
    found = [
        run(Benchmark(("-c", f"{child}; print('{text}')"), figure="ratio ([0-9.]+)"), 60.0)
        for text in ("ratio 0.75 0123456789ab bbbbbbbbb00", "bbbbbbbbb00 ratio 0.75 0123456789ab")
    ]
    assert None not in found
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].peak_mib >= 200
    assert found[0].core_s > 0
    assert (found[0].figure, found[0].hash) == ("0.75", found[1].hash)


def test_what_is_prepared_does_not_count() -> None:
    """Core seconds and a figure are those that a benchmark prints, if it prints them."""
    asked = Benchmark(
        ("-c", "print('core 1.25 of 7')"), figure="of ([0-9]+)", core_s="core ([0-9.]+)"
    )
    found = run(asked, 60.0)
    assert found is not None
    assert (found.core_s, found.figure) == (1.25, "7")


def test_a_program_is_named_to_the_benchmark() -> None:
    """It comes after the benchmark's own arguments."""
    printing = Benchmark(("-c", "import sys; print('got', sys.argv[-1])"), figure="got (.+)")
    found = run(printing, 60.0, Path("of/another"))
    assert found is not None
    assert found.figure == "of/another"


def test_what_fails_or_does_not_end_has_no_row() -> None:
    """Neither is taken for a result."""
    assert run(Benchmark(("-c", "raise SystemExit(1)")), 60.0) is None
    assert run(Benchmark(("-c", "import time; time.sleep(60)")), 0.3) is None
    assert run(Benchmark(("-c", "")), 0.0) is None


def test_rows_are_kept_by_revision(tmp_path: Path) -> None:
    """A table reads back as it was written; a row that is measured again replaces its own."""
    again, other = OLD._replace(core_s=11.0), OLD._replace(revision="b2")
    write(tmp_path / "t.csv", kept([OLD, other], [again]))
    assert read(tmp_path / "t.csv") == [other, again]
    assert read(tmp_path / "none.csv") == []


def test_slower_and_other_results_are_marked() -> None:
    """By the share of the reference, not by seconds; beside the last other revision."""
    same = OLD._replace(revision="b2", core_s=20.0)
    slower = OLD._replace(revision="b2", share=6.0)
    other = OLD._replace(revision="b2", hash="h2")

    def line(row: Row, earlier: list[Row]) -> str:
        return list(compared(earlier, [row]))[1]

    assert "SLOWER" not in line(same, [OLD])
    assert "OTHER" not in line(same, [OLD])
    assert "SLOWER" in line(slower, [OLD])
    assert "OTHER RESULT" in line(other, [OLD])
    assert "before" not in line(slower, [slower])


def test_the_page_is_that_of_the_table(tmp_path: Path) -> None:
    """It says what each benchmark does, and sets each revision beside the first."""
    rows = read(RESULTS / "evaluation" / "benchmarks.csv")
    assert rows
    write_page(tmp_path / "page.md", tmp_path / "page.svg", rows)
    assert (tmp_path / "page.md").read_text() == (RESULTS / "benchmarks.md").read_text()
    assert "</svg>" in (tmp_path / "page.svg").read_text()
    later = OLD._replace(revision="b2", share=7.5)
    assert "| b2 | 2026-01-01 | 10.0 | 7.50 | 1.50 | 300 | .5 | h1 |" in "\n".join(
        lines([OLD, later])
    )
