"""Benchmarks: fixed seeds, a hash of each result, comparisons within one run.

`python -m lab.benchmarks` runs all, `python -m lab.benchmarks ingest` one. Small sizes of them
run in the test suite, so none decays.
"""
