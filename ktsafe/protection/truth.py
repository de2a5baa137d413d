"""The true graph as declared, with one spelling for each value."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ktsafe.errors import AbsentFromGraph, InvalidGraph, raise_together
from ktsafe.graph import NONE, AttributedGraph, Schema
from ktsafe.graph.inputs.memory.in_memory import Given
from ktsafe.graph.inputs.memory.input_faults import absent_faults, extra_faults, value_faults
from ktsafe.graph.inputs.spelling import code_text, value_text
from ktsafe.graph.schema_check import ON_PURPOSE, check_texts
from ktsafe.graph.schemas import check_part, composite_sensitive

Sensitive = str | Collection[str] | None
Values = Collection[object]
SensitiveValues = Values | Mapping[str, Values]


def true_graph(
    seen: Given,
    quasi_identifiers: Collection[str],
    sensitive: Sensitive,
    sensitive_values: SensitiveValues,
    beside: Mapping[str, Any],
    ignore: Collection[str],
) -> AttributedGraph:
    """Return the true graph, or refuse the input with all its faults.

    Parameters
    ----------
    quasi_identifiers, sensitive, sensitive_values, ignore:
        As `ktsafe.protect` takes them.
    beside:
        What else a `Schema` declares; values in it are spelt.

    Raises
    ------
    InvalidGraph
    """
    parts: dict[str, frozenset[str]] = {}
    nominal = beside["nominal"]
    if sensitive is None or isinstance(sensitive, str):
        if sensitive is None and sensitive_values:
            raise InvalidGraph("Sensitive values are named, and no sensitive attribute.")
        values = spelt(sensitive_values, is_code=sensitive in nominal)
        name = NONE if sensitive is None else sensitive
    else:
        parts = _parts(sensitive, sensitive_values, nominal)
        name, values = "+".join(parts), []
    absent = frozenset({NONE}) if sensitive is None else frozenset[str]()
    schema = Schema(
        quasi_identifiers,  # type: ignore[arg-type]
        name,
        values,
        expect_absent=absent,
        **beside,
    )
    shown = [*schema.quasi_identifiers, *(parts or ([sensitive] if sensitive else []))]
    if extra := sorted(nominal - {*shown}):
        raise InvalidGraph(f"{extra[0]!r} is declared nominal, and has no other role.")
    columns = columns_of(seen, shown)
    faults = [*seen.faults, *extra_faults(seen, shown, ignore)]
    if not seen.unread.keys().isdisjoint(shown):
        raise_together(faults)  # What nobody has cannot be told without these values.
    if parts:
        faults += _of_parts(parts, columns, schema)
        composed, joint = composite_sensitive(schema.quasi_identifiers, parts, columns, name)
        told = {name: getattr(schema, name) for name in ("buckets", "groups", "nominal")}
        schema = dataclasses.replace(composed, **told)
        columns |= joint
    elif sensitive is None:
        columns[NONE] = [None] * len(seen.ids)
    truth = None
    try:
        truth = AttributedGraph.from_columns(schema, columns, seen.network.edges)
    except InvalidGraph as error:
        by_value = value_faults(schema, columns)
        found = [*by_value, *absent_faults(schema, columns, as_given=bool(by_value))]
        faults += map(_without_file, found or [error])
    raise_together(faults)
    assert truth is not None
    return truth


def columns_of(seen: Given, names: Iterable[str]) -> dict[str, Any]:
    """Return the given columns, and an empty one for each missing attribute.

    A graph without attributes has people all the same.
    """
    return {name: [None] * len(seen.ids) for name in names} | dict(seen.network.columns)


def spelt(given: Any, *, is_code: bool = False) -> Any:
    """Return declared values as readers spell them; other objects stay.

    Examples
    --------
    >>> spelt([1, 2.0, True, "ill "]), spelt(["1.0"], is_code=True), spelt("ill")
    (['1', '2', 'true', 'ill'], ['1.0'], 'ill')
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        return given  # The schema refuses it, with a hint.
    spell = code_text if is_code else value_text
    return [spell(value) or value for value in given]


def declared(
    buckets: Mapping[str, Any] | None,
    groups: Mapping[str, Mapping[str, Values]] | None,
    harmless_values: Values,
    nominal: Collection[str],
    sensitive: Sensitive,
) -> dict[str, Any]:
    """Return the declarations of a schema, with values as readers spell them."""
    codes = frozenset(check_texts("nominal", nominal))
    parts = [sensitive] if isinstance(sensitive, str) else sensitive or []
    return {
        "buckets": buckets or {},
        "groups": {
            name: spelt_groups(each, is_code=name in codes) for name, each in (groups or {}).items()
        },
        "harmless_values": spelt(harmless_values, is_code=not codes.isdisjoint(parts)),
        "nominal": codes,
    }


def spelt_groups(groups: Mapping[str, Any], *, is_code: bool) -> dict[str, Any]:
    """Return groups with their values as readers spell them."""
    return {group: spelt(values, is_code=is_code) for group, values in groups.items()}


def _parts(
    sensitive: Collection[str], values: SensitiveValues, nominal: Collection[str]
) -> dict[str, frozenset[str]]:
    if not isinstance(values, Mapping) or set(values) != set(sensitive):
        msg = "Of several sensitive attributes, sensitive_values must be a mapping of each."
        raise InvalidGraph(msg, hint='Such as {"health": ["chronic"], "income": ["none"]}.')
    return {name: frozenset(spelt(values[name], is_code=name in nominal)) for name in sensitive}


def _of_parts(
    parts: Mapping[str, frozenset[str]], columns: Mapping[str, Any], schema: Schema
) -> list[InvalidGraph]:
    """Return the faults of several sensitive attributes and their values."""
    found = []
    for part, values in parts.items():
        try:
            check_part(part, values, columns, harmless=schema.harmless_values)
        except InvalidGraph as error:
            found.append(_without_file(error))
    return found


def _without_file(error: InvalidGraph) -> InvalidGraph:
    """Return an error without names of schema keys: a call has none."""
    if isinstance(error, AbsentFromGraph):
        error.hint = error.hint.replace(ON_PURPOSE, "If that is so on purpose, leave it out.")
    return error
