"""All faults of a graph that was given, told at once and with their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ktsafe.errors import InvalidGraph, SeveralFaults
from ktsafe.graph import Schema

ROWS_MAX = 5
"""Rows that are named; of more the number is told."""


def fault(what: str, rows: Sequence[int] = (), *, hint: str = "") -> InvalidGraph:
    """Return an error that names the rows concerned, counted from 0; nothing in them is repeated.

    Examples
    --------
    >>> fault("An id is missing.", range(3, 10)).message
    'An id is missing: rows 3, 4, 5, 6, 7 and 2 more (counted from 0).'
    """
    if not rows:
        return InvalidGraph(what, hint=hint)
    named = ", ".join(map(str, rows[:ROWS_MAX]))
    more = f" and {len(rows) - ROWS_MAX:,} more" if len(rows) > ROWS_MAX else ""
    word = "row" if len(rows) == 1 else "rows"
    said = f"{what.rstrip('.')}: {word} {named}{more} (counted from 0)."
    return InvalidGraph(said, hint=hint)


def value_faults(schema: Schema, columns: Mapping[str, Sequence[object]]) -> list[InvalidGraph]:
    """Return a fault for each attribute whose values are none of its kind."""
    found = []
    for name in schema.attributes:
        rows, error = [], None
        for row, value in enumerate(columns.get(name, ())):
            try:
                schema.category(name, value)
            except InvalidGraph as refused:
                rows.append(row)
                error = refused
        if error is not None:
            found.append(fault(error.message, rows, hint=error.hint))
    return found


def raise_together(faults: Sequence[InvalidGraph]) -> None:
    """Raise the only fault, or all of them as one error.

    Raises
    ------
    InvalidGraph
        If there is a fault.
    """
    if len(faults) == 1:
        raise faults[0]
    if faults:
        told = "".join(f"\n- {each}" for each in faults)
        raise SeveralFaults(f"The graph has {len(faults)} faults:{told}", faults=faults)
