"""Schemas as text, composite sensitive attributes, and groups of values.

`SEPARATOR` and the texts of composite values are published. `named_values` names only what k people
have: groups must tell nobody apart. How TOML is written may be changed.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ktsafe.errors import AbsentFromGraph, InvalidGraph, fault
from ktsafe.graph import MISSING, AttributedGraph, Groups, Schema

SEPARATOR = "|"
"""Between the parts of a composite value; inside a part it is doubled, so values differ."""


def composite_sensitive(
    quasi_identifiers: Sequence[str],
    sensitive: Mapping[str, frozenset[str]],
    columns: Mapping[str, Sequence[object]],
    name: str = "sensitive",
) -> tuple[Schema, dict[str, list[object]]]:
    """Treat several sensitive attributes as one composite attribute.

    Parameters
    ----------
    quasi_identifiers:
        Names of the non-sensitive attributes.
    sensitive:
        For each sensitive attribute, in order, its sensitive values.
    columns:
        Raw values of all attributes; those of the sensitive ones must be of one length. An
        attribute without a column was given by nobody.
    name:
        Of the composite attribute.

    Returns
    -------
    Schema, dict
        The schema and the columns of a graph with the composite attribute in the place of the
        parts. A composite value is sensitive iff any of its parts is.

    Raises
    ------
    InvalidGraph
        If there is no sensitive attribute, or columns differ in length.

    *Source*: Section 2.1, "Graph Model".
    """
    if not sensitive:
        raise InvalidGraph("There is no sensitive attribute to compose.")
    lengths = {len(columns[part]) for part in sensitive if part in columns}
    if len(lengths) > 1:
        raise InvalidGraph("The columns of the sensitive attributes differ in length.")
    length = max(lengths, default=max((len(column) for column in columns.values()), default=0))
    texts = [
        [_text(x) for x in columns[part]] if part in columns else [MISSING] * length
        for part in sensitive
    ]
    rows = list(zip(*texts, strict=True))
    values = [SEPARATOR.join(x.replace(SEPARATOR, 2 * SEPARATOR) for x in row) for row in rows]
    guarded = frozenset(
        value
        for value, row in zip(values, rows, strict=True)
        if any(x in bad for x, bad in zip(row, sensitive.values(), strict=True))
    )
    kept: dict[str, list[object]] = {
        attribute: list(columns[attribute])
        for attribute in quasi_identifiers
        if attribute in columns
    }
    # Which values are almost sensitive ones is a matter of the parts (`check_part`).
    harmless = frozenset(values) - guarded
    schema = Schema(tuple(quasi_identifiers), name, guarded, harmless_values=harmless)
    return schema, {**kept, name: list(values)}


def check_part(
    name: str,
    sensitive: frozenset[str],
    columns: Mapping[str, Sequence[object]],
    *,
    absent: frozenset[str] = frozenset(),
    harmless: frozenset[str] = frozenset(),
) -> None:
    """Refuse a sensitive attribute without holders of it or of its values.

    Parameters
    ----------
    absent, harmless:
        `expect_absent` and `harmless_values` of a schema.

    Raises
    ------
    AbsentFromGraph, WrittenOtherwise
        See `AttributedGraph.check_present` and `check_spelling`.
    """
    alone = Schema((), name, sensitive, expect_absent=absent, harmless_values=harmless)
    AttributedGraph.from_columns(alone, columns, [])


def _text(value: object) -> str:
    """Return the category of a raw value.

    Missing ones are a category of their own.
    """
    return MISSING if value is None or value in {"", MISSING} else str(value)


# Which values a group may be said to stand for.

Named = dict[str, dict[str, list[str]]]
"""For each attribute and group, values."""


def people_of_values(graph: AttributedGraph) -> dict[str, Counter[str]]:
    """Return how many people have each value of each quasi-identifier."""
    found = {}
    for j, name in enumerate(graph.schema.quasi_identifiers):
        sizes = np.bincount(graph.codes[:, j], minlength=len(graph.categories[j])).tolist()
        found[name] = Counter(dict(zip(graph.categories[j], sizes, strict=True)))
    return found


def named_values(groups: Mapping[str, Groups], people: Mapping[str, Counter[str]], k: int) -> Named:
    """Return of each group the values that at least k people have.

    That somebody has a rarer one is not said: a list of values would tell that it exists.

    Examples
    --------
    >>> people = {"town": Counter({"Ulm": 12, "Bonn": 3, "Kiel": 40})}
    >>> named_values({"town": {"south": ("Ulm", "Bonn"), "north": ("Kiel",)}}, people, 10)
    {'town': {'south': ['Ulm'], 'north': ['Kiel']}}
    """
    return {
        name: {
            group: sorted(value for value in values if people[name][value] >= k)
            for group, values in of_name.items()
        }
        for name, of_name in groups.items()
    }


# Schemas as TOML, as their owners write them.


def schema_toml(schema: Schema, declared: Mapping[str, Any]) -> str:
    """Return an `[attributes]` table in TOML.

    Parameters
    ----------
    schema:
        How people are told.
    declared:
        What else the table says.

    Examples
    --------
    >>> from ktsafe import Schema
    >>> print(schema_toml(Schema(("age",), "health", {"ill"}), {"sensitive": "health"}), end="")
    [attributes]
    quasi_identifiers = ["age"]
    sensitive = "health"
    """
    lines = ["[attributes]", f"quasi_identifiers = {_toml(schema.quasi_identifiers)}"]
    lines += [f"{key} = {_toml(value)}" for key, value in declared.items()]
    if schema.buckets:
        lines.append(f"buckets = {_toml(schema.buckets)}")
    for name, groups in schema.groups.items():
        lines.append(f"\n[attributes.groups.{_toml(name)}]")
        lines += [f"{_toml(group)} = {_toml(values)}" for group, values in groups.items()]
    return "\n".join(lines) + "\n"


def attributes_toml(declared: Mapping[str, Any]) -> str:
    """Return an `[attributes]` table in TOML, as it was declared.

    Examples
    --------
    >>> print(attributes_toml({"sensitive": "health", "buckets": {"age": [18]}}), end="")
    [attributes]
    sensitive = "health"
    buckets = { "age" = [18] }
    """
    lines = [f"{key} = {_toml(value)}" for key, value in declared.items()]
    return "\n".join(["[attributes]", *lines]) + "\n"


def _toml(value: object) -> str:
    match value:
        case str():
            # The text of JSON is one of TOML, but for the character 127.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            inside = ", ".join(f"{_toml(name)} = {_toml(each)}" for name, each in value.items())
            return f"{{ {inside} }}"
        case list() | tuple() | set() | frozenset():
            return f"[{', '.join(map(_toml, value))}]"
        case float() if value == int(value):
            return str(int(value))
        case _:
            return str(value)


# Faults of values and names of a schema, told at once with their rows.


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
