"""Faults: what goes wrong around a service, on purpose, and what is left afterwards.

`make faults` runs those that take minutes or need root; `tests.faults.fuzz` is a program.
"""
