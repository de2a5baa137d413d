"""Benchmarks run at their small sizes, so none decays unseen; the slow ones are left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SMALL = {
    "anonymize": (),
    "exact": (),
    "hops": ("--effort", "fast", "--samples", "2"),
    "kt_tree": (),
    "sequence": (),
    "sequence_aligned": (),
    "store": (),
}


@pytest.mark.parametrize("name", SMALL)
def test_benchmark_ends_well(name: str) -> None:
    """Its status says that every release in it was safe, or all graphs the same."""
    command = [sys.executable, "-m", f"lab.benchmarks.bench_{name}", "--small", *SMALL[name]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
