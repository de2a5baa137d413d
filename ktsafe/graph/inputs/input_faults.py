"""All faults of a given graph, told at once with their rows.

Sentences may be reworded; they name rows and columns, never a value
(tests/security/test_silence.py). All faults are collected before any is raised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from ktsafe.errors import AbsentFromGraph, InvalidGraph, fault
from ktsafe.graph import AttributedGraph, Schema
from ktsafe.graph.inputs.in_memory import Given
from ktsafe.graph.schema_check import did_you_mean, near

_DECLARE: Final = (
    "Say quasi_identifiers=[...] of what an attacker may know, sensitive=... and "
    "sensitive_values=[...] of what must not be learnt, and of the rest "
)


def extra_faults(
    seen: Given, published: Collection[str], ignore: Collection[str]
) -> list[InvalidGraph]:
    """Return columns that would be lost, unread, or ignored needlessly.

    A name that is almost one of these is taken for a misspelling: then that is told, and nothing of
    ignoring it.
    """
    ignore = {str(name) for name in ignore}
    of_people, of_ties = {*seen.network.columns, *seen.unread}, {*seen.network.ignored}
    known = of_people | of_ties
    extra = known - ignore - {*published}
    found = [each for name in published for each in seen.unread.get(name, ())]
    meant: set[str] = set()
    for name in sorted(ignore - known):
        alike = near(name, extra)
        meant |= {*alike}
        msg = f"Nothing has {name!r}, which is to be ignored."
        found.append(InvalidGraph(msg, hint=did_you_mean(alike)))
    for name in {*published} - of_people:  # These are told with the schema.
        meant |= {*near(name, extra)}
    for whose, names in (("Vertices", of_people), ("Edges", of_ties - {*seen.unread})):
        if left := sorted((extra & names) - meant):
            msg = f"{whose} have {', '.join(map(repr, left))}, which a release would not show."
            is_all = not published and whose == "Vertices"
            how = _DECLARE if is_all else "If that is meant, say "
            found.append(InvalidGraph(msg, hint=f"{how}ignore={left!r}."))
    return found


def value_faults(
    schema: Schema,
    columns: Mapping[str, Sequence[object]],
    told: Callable[[InvalidGraph, list[int]], InvalidGraph] = (
        lambda error, rows: fault(error.message, rows, hint=error.hint)
    ),
) -> list[InvalidGraph]:
    """Return a fault for each attribute with values of another kind.

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
    """Return names of the schema without holders; `as_given`: before buckets and groups."""
    asked = dataclasses.replace(schema, buckets={}, groups={}) if as_given else schema
    try:
        AttributedGraph.from_columns(asked, columns, [])
    except AbsentFromGraph as absent:
        return [absent]
    except InvalidGraph:
        return []  # Of values that are none of their kind others tell.
    return []
