"""Turn errors of a TOML table into words for operators.

Sentences may be reworded. The patterns match the messages of msgspec: a new version of it may need
others (tests/stream/config/test_config.py asks for the words).
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Mapping
from typing import Any, Final

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
_AT: Final = re.compile(r" - at `\$\.?([^`\[]*)")


def config_faults(document: Mapping[str, Any], kind: Any) -> list[str]:
    """Return a sentence for each fault of a parsed TOML file.

    Each fault that msgspec finds is taken out of a copy, which is read again. Of a table without
    a key that it needs the other keys are checked too. A misspelt key is not also missing.
    """
    rest = copy.deepcopy(dict(document))
    found: list[str] = []
    removed: set[str] = set()
    while (error := _error(rest, kind)) is not None:
        at = _AT.search(str(error))
        place = at[1].strip(".").split(".") if at and at[1] else []
        named = _UNKNOWN.fullmatch(str(error))
        missing = _MISSING.fullmatch(str(error))
        if missing and not place:
            needed = {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
            lacking = (f"the key {key} is missing." for key in sorted(needed - {*document}))
            found += lacking
            break
        keys = [*place, named[1]] if named else place
        if not missing or ".".join([*place, missing[1]]) not in removed:
            found.append(config_error_text(error, kind))
        if missing or keys[-1] == "kind":
            keys = keys[:1]
        taken = _taken_out(rest, keys)
        if not taken:
            break
        removed.add(taken)
    meant = {text.partition("Did you mean ")[2].rstrip("?") for text in found}
    return [text for text in found if _missing_key(text) not in meant - {""}]


def _taken_out(rest: dict[str, Any], keys: list[str]) -> str:
    """Take a key out of nested tables; return the path taken."""
    table = rest
    for depth, key in enumerate(keys, 1):
        inner = table.get(key)
        if depth == len(keys) or not isinstance(inner, dict):
            return ".".join(keys[:depth]) if table.pop(key, None) is not None else ""
        table = inner
    return ""


def _missing_key(text: str) -> str | None:
    """Return the name of the key that a sentence says is missing."""
    told = re.fullmatch(r"the key (?:.*\.)?(\w+) is missing\.", text)
    return told and told[1]


def _error(document: Mapping[str, Any], kind: Any) -> msgspec.ValidationError | None:
    try:
        msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        return error
    return None


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
        guess = f"Did you mean {near[0]}?" if near else ""
        path = _path(found[2], found[1])
        return f"there is no key {path}. {guess}".rstrip()
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
