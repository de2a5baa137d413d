"""Values that a file declares a type for.

GraphML's and GEXF's names of types.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ktsafe.inputs.network import Kind
from ktsafe.inputs.spelling import value_text

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NO_NUMBER: Final = frozenset({"nan", "-nan", "+nan"})
_BOOLEANS: Final = {"true": "true", "1": "true", "false": "false", "0": "false"}


def number_text(text: str) -> str | None:
    """Return the text of a number.

    None for NaN, and where there is none.

    Whole numbers keep all their digits, fractions those that a float has.

    Raises
    ------
    InvalidGraph
        If it is infinite.
    ValueError
        If it is no number.

    Examples
    --------
    >>> [number_text(text) for text in ("30.0", "007", "9007199254740993", "1.50", "NaN", "")]
    ['30', '7', '9007199254740993', '1.5', None, None]
    """
    bare = text.strip()
    if not bare or bare.lower() in _NO_NUMBER:
        return None
    if _WHOLE.fullmatch(bare):
        return str(int(bare))
    if not _NUMBER.fullmatch(bare) and bare.lower().lstrip("+-") not in {"inf", "infinity"}:
        raise ValueError("no number")
    return value_text(float(bare))


def boolean_text(text: str) -> str | None:
    """Return `true` or `false`; None where there is neither.

    Raises
    ------
    ValueError
        If it is another word.

    Examples
    --------
    >>> boolean_text("True"), boolean_text("0"), boolean_text("")
    ('true', 'false', None)
    """
    bare = text.strip()
    try:
        return _BOOLEANS[bare.lower()] if bare else None
    except KeyError:
        raise ValueError("no boolean") from None


Reading = tuple[Kind, Callable[[str], str | None]]
"""What a column of a type is, and what makes the text of its values."""
_NUMBERS: Final[Reading] = ("number", number_text)
_TEXTS: Final[Reading] = ("text", value_text)
_OF_TYPES: Final[dict[str, Reading]] = {
    "boolean": ("boolean", boolean_text),
    "bool": ("boolean", boolean_text),
    **dict.fromkeys(("date", "datetime"), ("date", value_text)),
    **dict.fromkeys(("byte", "short", "int", "integer", "long", "biginteger"), _NUMBERS),
    **dict.fromkeys(("float", "double", "real", "decimal", "bigdecimal"), _NUMBERS),
    **dict.fromkeys(("string", "char", "character", "anyuri"), _TEXTS),
}


def reading(type_: str) -> Reading | None:
    """Return how values of a type are read.

    None if the type is not known.

    Lists, as GEXF has them, are read as the text that stands in the file.

    Examples
    --------
    >>> reading("double")[0], reading("liststring")[0], reading("complex")
    ('number', 'text', None)
    """
    name = type_.strip().lower()
    if name.startswith("list") and name != "list":
        return _TEXTS
    return _OF_TYPES.get(name)
