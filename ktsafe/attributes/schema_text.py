"""Schemas as TOML, as their owners write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ktsafe.graph import Schema


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
