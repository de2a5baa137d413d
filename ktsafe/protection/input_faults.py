"""All faults of a graph that was given, told at once and with their rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from ktsafe.errors import AbsentFromGraph, InvalidGraph, numbered
from ktsafe.graph import AttributedGraph, Schema


def fault(what: str, rows: Sequence[int] = (), *, hint: str = "") -> InvalidGraph:
    """Return an error that names the rows concerned, counted from 0; nothing in them is repeated.

    Examples
    --------
    >>> fault("An id is missing.", range(3, 10)).message
    'An id is missing: rows 3, 4, 5, 6, 7 and 2 more (counted from 0).'
    """
    if not rows:
        return InvalidGraph(what, hint=hint)
    said = f"{what.rstrip('.')}: {numbered('row', rows)} (counted from 0)."
    return InvalidGraph(said, hint=hint)


def value_faults(
    schema: Schema,
    columns: Mapping[str, Sequence[object]],
    told: Callable[[InvalidGraph, list[int]], InvalidGraph] = (
        lambda error, rows: fault(error.message, rows, hint=error.hint)
    ),
) -> list[InvalidGraph]:
    """Return a fault for each attribute whose values are none of its kind.

    `told` makes it of the error of one of these values and the rows of all.
    """
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
            found.append(told(error, rows))
    return found


def absent_faults(
    schema: Schema, columns: Mapping[str, Sequence[object]], *, as_given: bool
) -> list[InvalidGraph]:
    """Return what the schema names and nobody has; `as_given`: without buckets and groups."""
    asked = dataclasses.replace(schema, buckets={}, groups={}) if as_given else schema
    try:
        AttributedGraph.from_columns(asked, columns, [])
    except AbsentFromGraph as absent:
        return [absent]
    except InvalidGraph:
        return []  # Of values that are none of their kind others tell.
    return []
