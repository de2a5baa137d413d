"""Compares the figures that are written with those that readers know by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec

OF_ONE_WRITER = {"from", "to", "vertices", "share", "risk_mean", "k_known_in_ps"}
"""Of counts and groups, which two functions write, one of them without these."""


def not_written(figures: Any, kind: Any, path: str = "") -> Iterator[str]:
    """Yield the fields of a part of the audit that its JSON does not have."""
    for field in msgspec.structs.fields(kind):
        name = f"{path}{field.encode_name}"
        if field.encode_name not in figures:
            if field.encode_name not in OF_ONE_WRITER:
                yield name
            continue
        told = figures[field.encode_name]
        part = next(_parts(field.type), None)
        if part is None or not told:
            continue
        if not isinstance(field.type, type) and not isinstance(told, list):
            is_table = "dict" in str(field.type)
            told = next(iter(told.values())) if is_table else told
        if isinstance(told, list):
            told = told[0]
        if isinstance(told, dict):
            yield from not_written(told, part, f"{name}.")


def _parts(kind: Any) -> Iterator[Any]:
    """Yield the structs that a type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for inner in get_args(kind):
        yield from _parts(inner)
