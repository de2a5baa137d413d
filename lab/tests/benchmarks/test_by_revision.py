"""Benchmarks by revision: what is measured, kept and marked."""

from __future__ import annotations

from pathlib import Path

from lab.benchmarks.by_revision.rows import Row, compared, kept, read, write
from lab.benchmarks.by_revision.running import Benchmark, run

OLD = Row("a1", "ingest", 10.0, 5.0, 300, ".5", "h1")


def test_a_benchmark_is_measured_with_its_children() -> None:
    """Work and memory of a child count; the hash is of what was printed, whatever its order."""
    work = "x = bytearray(200 << 20); sum(range(3_000_000))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{work}'], check=True)"
    found = [
        run(Benchmark(("-c", f"{child}; print('{text}')"), "ratio ([0-9.]+)"), 60.0)
        for text in ("ratio 0.75 0123456789ab bbbbbbbbb00", "bbbbbbbbb00 ratio 0.75 0123456789ab")
    ]
    assert None not in found
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].peak_mib >= 200
    assert found[0].core_s > 0
    assert (found[0].figure, found[0].hash) == ("0.75", found[1].hash)


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
