"""Faults: what goes wrong around a service, on purpose, and what is left afterwards.

`python -m tests.faults` writes lab/results/reliability.md; `tests.faults.long_run` and
`tests.faults.fuzz` are programs of their own. Small runs of all of them are tests.
"""
