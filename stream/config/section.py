"""What all tables of the configuration are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from fractions import Fraction
from typing import Annotated, Any, get_type_hints

import msgspec

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=31_536_000)]
Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every table: frozen, unknown keys refused."""


def table_of(options: Any, *, without: Collection[str]) -> Any:
    """Return the table whose keys are the fields of a dataclass of options, which checks values.

    Fractions are written as numbers or texts ("1/10").

    Parameters
    ----------
    without:
        Fields that are no keys of this table.
    """
    hints = get_type_hints(options)
    keys: list[Any] = [
        (field.name, float | str, str(field.default))
        if hints[field.name] is Fraction
        else (field.name, hints[field.name], field.default)
        for field in dataclasses.fields(options)
        if field.name not in without
    ]
    return msgspec.defstruct(
        f"{options.__name__}Table",
        keys,
        bases=(Section,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
