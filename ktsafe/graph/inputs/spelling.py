"""Give ids and values one spelling, whatever they came in as.

Nothing here may be changed in passing: what was two values must not become one, nor one two, in
files, feeds and memory alike, and running sequences would see other values
(tests/ktsafe/graph/inputs/test_spelling.py).

| given | text |
|---|---|
| `" ill "`, `'"ill"'` | `ill` |
| `1`, `1.0`, `Decimal("1.0")`, `"1.0"` | `1` |
| `True`, `"True"`, `"TRUE"` | `true` |
| None, NaN, `NaT`, `""`, `" "` | None: it is missing |

Values that differ in more than that are different values. `ktsafe.graph.schema_check.likeness`
tells which of them may be meant as one; nothing is ever merged by it.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import uuid
from collections.abc import Hashable, Iterable
from typing import Any, Final, TypeGuard

from ktsafe.errors import InvalidGraph
from ktsafe.graph.schema_check import holds_control

EXACT_MAX: Final = 2**53
"""Below it a whole float is one number; from it on it may stand for its neighbour, too."""
_WHOLE: Final = re.compile(r"([+-]?)(0|[1-9]\d*)\.0+")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:.*)?|\d{1,2}:\d\d(:\d\d.*)?")
_QUOTES: Final = ('"', "'")
_ODD_BEGINNINGS: Final = frozenset("\"'TF")
"""What a text may begin with that is no spelling of itself, such as `True`."""
_LOOK_MISSING: Final = frozenset(
    {"null", "\\n", "n/a", "na", "#n/a", "<na>", "nan", "nat", "none", "nil", "missing", "?", "--"}
)
BOOLEANS: Final = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
"""As pandas, R and spreadsheets write them; other languages write small letters."""


def value_text(value: object) -> str | None:
    """Return the text of an attribute's value; None where it is missing.

    Raises
    ------
    InvalidGraph
        If it is of no type that has one text, such as a list; the value is not repeated.

    Examples
    --------
    >>> [value_text(value) for value in (30, 30.0, "30.0", " ill", True, float("nan"))]
    ['30', '30', '30', 'ill', 'true', None]
    """
    return value if _is_spelt(value) else _text(value, is_id=False)


def id_text(value: object) -> str | None:
    """Return the text of an id; None where it is missing.

    Raises
    ------
    InvalidGraph
        If it has no one text: infinity, or a float from 2**53 on, whose last digits are lost. If it
        holds a control character.

    Examples
    --------
    >>> id_text(747.0), id_text("007"), id_text((0, 1))
    ('747', '007', '(0, 1)')
    """
    return value if _is_spelt(value) else _text(value, is_id=True)


def code_text(value: object) -> str | None:
    """Return the text of a code, which is no number.

    A text as it is written, but for blanks.

    Examples
    --------
    >>> code_text(" 1.0"), code_text(1.0), code_text("True")
    ('1.0', '1', 'True')
    """
    return value.strip() or None if isinstance(value, str) else value_text(value)


def looks_missing(text: str) -> bool:
    r"""Whether a text may mean that a value is missing.

    It is a value all the same.

    Examples
    --------
    >>> [looks_missing(text) for text in ("NULL", r"\N", "n/a", "none of these")]
    [True, True, True, False]
    """
    return text.casefold() in _LOOK_MISSING


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    return _NUMBER.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Whether a text is a date, a time of day, or both."""
    return _TIME.fullmatch(text) is not None


def is_fraction(text: str) -> bool:
    """Whether a text is a number not written as a whole one."""
    return not text.lstrip("+-").isdecimal() and is_number(text)


def is_measure(text: str) -> bool:
    """Whether a text is a number or a time."""
    return is_number(text) or is_time(text)


def spelt_twice(given: Iterable[Hashable], texts: Iterable[str | None]) -> set[str]:
    """Return the texts that several different values became (`as_given`).

    Examples
    --------
    >>> spelt_twice(["747", "747.0", " 5", "5"], ["747", "747", "5", "5"])
    {'747'}
    """
    first: dict[str, Hashable] = {}
    twice: set[str] = set()
    for value, text in zip(given, texts, strict=True):
        if text is None:
            continue
        given_as = as_given(value)
        if first.setdefault(text, given_as) != given_as:
            twice.add(text)
    return twice


def as_given(value: Hashable) -> Hashable:
    """Return what tells a value from others that may have its text.

    Blanks at the ends of a text belong to the file that it stood in, so they make no difference.

    Examples
    --------
    >>> as_given(" 5") == as_given("5"), as_given("5") == as_given(5), as_given(1) == as_given(True)
    (True, False, False)
    """
    return (str, value.strip()) if isinstance(value, str) else (type(value), value)


def of_numpy(value: Any) -> Any:
    """Return what a number, boolean or moment of numpy is in Python.

    Anything else as it is.
    """
    if not callable(getattr(value, "item", None)) or getattr(value, "shape", None) != ():
        return value
    found = value.item()
    kind = getattr(value.dtype, "kind", "")
    if kind in {"m", "M"} and isinstance(found, int):  # A number of nanoseconds is no moment.
        return value.astype(f"{kind}8[us]").item()
    return found


def _is_spelt(value: object) -> TypeGuard[str]:
    """Whether a value is a text that is its own spelling.

    Quick, since most are.
    """
    return (
        type(value) is str
        and value.strip() is value
        and "." not in value
        and value != ""
        and value[0] not in _ODD_BEGINNINGS
        and value.isprintable()
    )


def _text(value: object, *, is_id: bool) -> str | None:
    if isinstance(value, str):
        return _plain(value, is_id=is_id)
    value = of_numpy(value)
    if _is_missing(value):
        return None
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return _of_float(value, is_id=is_id)
        case decimal.Decimal():
            return _of_decimal(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case str():
            return _plain(value, is_id=is_id)
        case uuid.UUID():
            return str(value)
        case tuple() if is_id:
            return str(value)
    what = "An id" if is_id else "A value"
    msg = f"{what} is of the type {type(value).__name__}, which has no one text."
    raise InvalidGraph(
        msg, hint="Give texts, numbers, booleans or dates; None where it is missing."
    )


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or missing for its library."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | decimal.Decimal) and math.isnan(value)


def _plain(value: str, *, is_id: bool) -> str | None:
    text = value.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES:
        text = text[1:-1].strip()
    if found := _WHOLE.fullmatch(text):
        sign, digits = found.groups()
        if int(digits) >= EXACT_MAX:
            if is_id:
                _refuse_lost_digits()
            return text
        return digits if digits == "0" or sign != "-" else f"-{digits}"
    if is_id and holds_control(text):
        msg = "An id holds an end of line or another control character."
        raise InvalidGraph(msg, hint="Write a blank in its place.")
    return BOOLEANS.get(text, text) or None


def _of_float(value: float, *, is_id: bool) -> str:
    if math.isinf(value):
        raise InvalidGraph("Infinity is neither an id nor a value.", hint="Give None there.")
    if value.is_integer() and abs(value) < EXACT_MAX:
        return str(int(value))
    if is_id and value.is_integer():
        _refuse_lost_digits()
    return repr(float(value))


def _of_decimal(value: decimal.Decimal) -> str:
    if value.is_infinite():
        raise InvalidGraph("Infinity is neither an id nor a value.", hint="Give None there.")
    return str(int(value)) if value == value.to_integral_value() else f"{value.normalize():f}"


def _refuse_lost_digits() -> None:
    msg = "An id is a fraction from 2**53 on, where several whole numbers are one."
    hint = "Write ids as whole numbers or texts: a column with a gap is often read as fractions."
    raise InvalidGraph(msg, hint=hint)
