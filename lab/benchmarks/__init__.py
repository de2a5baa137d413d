"""Benchmarks: fixed seeds, a hash of each result, comparisons within one run.

`python -m lab.benchmarks` runs all, `python -m lab.benchmarks ingest` one. Small sizes of them
run in the test suite, but for the slow ones, so few decay unseen.
"""

import os

# Programs that are measured keep the bytecode of what they import, as installed ones do. Without
# it every start compiles a thousand modules, which takes as long as all else that it loads.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
