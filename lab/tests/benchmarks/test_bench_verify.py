"""The benchmark of the verifier."""

from __future__ import annotations

from lab.benchmarks import bench_verify


def test_benchmark_runs_at_small_size() -> None:
    """The benchmark works and its results are those of one thread as well as of two."""
    one, two = (
        [row["hash"] for row in bench_verify.run("small", workers, repeats=1)] for workers in (1, 2)
    )
    assert one == two
    assert len(set(one)) == 2
