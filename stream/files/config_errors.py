"""Turn errors of a TOML table into words for operators."""

from __future__ import annotations

import difflib
import re
from typing import Final

import msgspec

_KINDS: Final = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "a text in quotation marks",
}
_WRONG: Final = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_MISSING: Final = re.compile(r"Object missing required field `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_INVALID: Final = re.compile(r"Invalid (?:enum )?value '([^']+)'(?: - at `\$\.?([^`]*)`)?")


def config_error_text(error: msgspec.ValidationError, *tables: type) -> str:
    """Return a sentence for an error of msgspec.

    `tables` are searched for what a key may mean.
    """
    text = str(error)
    if found := _WRONG.fullmatch(text):
        due, given = (" or ".join(_kind(kind) for kind in found[i].split(" | ")) for i in (1, 2))
        return f"{found[3] or 'it'} must be {due}, not {given}."
    if found := _UNKNOWN.fullmatch(text):
        known = {key for table in tables for key in _keys(table)}
        near = difflib.get_close_matches(found[1], sorted(known), n=1)
        guess = f" Did you mean {near[0]}?" if near else ""
        return f"there is no key {_path(found[2], found[1])}.{guess}"
    if found := _MISSING.fullmatch(text):
        return f"the key {_path(found[2], found[1])} is missing."
    if found := _INVALID.fullmatch(text):
        return f"{found[2] or 'it'} cannot be {found[1]!r}."
    return f"{text}."


def _kind(name: str) -> str:
    return _KINDS.get(name, name)


def _path(place: str | None, key: str) -> str:
    return f"{place}.{key}" if place else key


def _keys(table: type, depth: int = 3) -> set[str]:
    """Return the keys of a table and of the tables in it."""
    if not depth or not isinstance(table, type) or not issubclass(table, msgspec.Struct):
        return set()
    fields = msgspec.structs.fields(table)
    inner = {one for f in fields for part in _parts(f.type) for one in _keys(part, depth - 1)}
    return {field.encode_name for field in fields} | inner


def _parts(kind: object) -> list[type]:
    """Return the types that a type is made of."""
    arguments = getattr(kind, "__args__", ())
    return [part for one in arguments for part in _parts(one)] if arguments else [kind]  # type: ignore[list-item]
