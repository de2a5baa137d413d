"""Checks of a schema: misspelt values, borders of ranges, dates.

A misspelt value protects nothing: either no vertex shows what it names, or one shows almost that.

Hints may be reworded. `likeness` may call more spellings alike; fewer would let a misspelt
sensitive value pass (tests/ktsafe/graph/inputs/test_spelling.py). Texts of buckets are published
values: they stay.
"""

from __future__ import annotations

import bisect
import decimal
import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ktsafe.errors import AbsentFromGraph, InvalidGraph, WrittenOtherwise

NEAR_MAX: Final = 3
ON_PURPOSE: Final = "If that is so on purpose, list it in expect_absent."
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_BOOLEAN_WORDS: Final = {
    **dict.fromkeys(("true", "t", "yes", "y"), "1"),
    **dict.fromkeys(("false", "f", "no", "n"), "0"),
}
"""What readers of tables take for a boolean, and what number it becomes where one is missing."""


_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that steer a terminal, end a line for some readers, or turn text round.

What joins or separates letters (U+200C, U+200D) and marks their direction belongs to names.
"""


def holds_control(text: str) -> bool:
    r"""Whether a text holds an end of line or another control character.

    No id and no value may.

    Tables, logs and terminals of those who read them would take it for more than a text.

    Examples
    --------
    >>> holds_control("Bonn\nam Rhein"), holds_control("Bonn am Rhein")
    (True, False)
    """
    return not text.isprintable() and _CONTROL.search(text) is not None


def check_texts(name: str, given: object) -> tuple[str, ...]:
    """Return a collection of texts as a tuple.

    Raises
    ------
    InvalidGraph
        If it is a single text, which would be taken for its letters, or holds something else.
    """
    texts = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        msg = f"{name} must be a collection of texts."
        raise InvalidGraph(msg, hint='One is written ("gender",), with a comma.')
    return texts


def checked_groups(
    groups: Mapping[str, Mapping[str, Sequence[str]]], quasi_identifiers: Collection[str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return groups of values of quasi-identifiers, each value in one.

    Raises
    ------
    InvalidGraph
        If they are of something else, share a value, or have no name.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, of_name in groups.items():
        if name not in quasi_identifiers:
            msg = f"Groups are declared for {name!r}, which is no quasi-identifier."
            raise InvalidGraph(msg)
        found[name] = {
            group: check_texts(f"A group of {name!r}", values) for group, values in of_name.items()
        }
        values = [value for values in found[name].values() for value in values]
        if len(set(values)) != len(values) or "" in found[name]:
            msg = f"The groups of {name!r} share a value, or one has no name."
            raise InvalidGraph(msg)
    return found


def refuse(attributes: Sequence[str], values: Sequence[str], there: Iterable[str]) -> None:
    """Refuse attributes that are missing, then sensitive values without a holder.

    Parameters
    ----------
    attributes, values:
        Those that are absent.
    there:
        What is there and may be meant by the first of them.

    Raises
    ------
    AbsentFromGraph
        If anything is absent.
    """
    if not attributes and not values:
        return
    name = (*attributes, *values)[0]
    what = "attribute" if attributes else "sensitive value"
    msg = f"No vertex has the {what} {name!r}, which the schema names."
    hint = f"{did_you_mean(near(name, there))} {ON_PURPOSE}".lstrip()
    raise AbsentFromGraph(msg, hint=hint, attributes=attributes, n_values=len(values))


def likeness(text: str) -> str:
    """Return what two spellings of one value have in common.

    Case, blanks, quotes, the way in which a number is written, and the word for a boolean are
    taken away. Letters are never changed, so two words are alike only if they are one.

    Examples
    --------
    >>> likeness("1.0") == likeness("1") == likeness("TRUE"), likeness("ILL") == likeness("'ill '")
    (True, True)
    >>> likeness("ill") == likeness("well")
    False
    """
    bare = "".join(text.split()).replace('"', "").replace("'", "").casefold()
    bare = _BOOLEAN_WORDS.get(bare, bare)
    if not _NUMBER.fullmatch(bare):
        return bare
    number = decimal.Decimal(bare)
    return str(number.normalize()) if number else "0"


def check_alike(
    attribute: str, shown: Iterable[str], sensitive: Collection[str], harmless: Collection[str]
) -> None:
    """Refuse undeclared values spelt almost like a sensitive one.

    Parameters
    ----------
    shown:
        The values that somebody has.
    sensitive, harmless:
        The declared ones: no two of them are ever taken for one.

    Raises
    ------
    WrittenOtherwise
        With the attribute and both spellings.
    """
    declared = {likeness(text): text for text in sorted(sensitive, reverse=True)}
    others = {*shown} - {*sensitive} - {*harmless}
    near = sorted((text, declared[likeness(text)]) for text in others if likeness(text) in declared)
    if not near:
        return
    told = ", ".join(f"{text!r} almost like {meant!r}" for text, meant in near[:NEAR_MAX])
    msg = f"Of {attribute!r} some values are spelt almost like a sensitive one: {told}."
    hint = "Write them alike; if they are other values on purpose, list them in harmless_values."
    raise WrittenOtherwise(msg, hint=hint)


def near(name: str, texts: Iterable[str]) -> list[str]:
    """Return texts like `name`, the most alike first, whatever their case.

    Examples
    --------
    >>> near("wieght", ["height", "weight", "club"]), near("1", ["true", "false"])
    (['weight', 'height'], ['true'])
    """
    by_case = {text.casefold().strip(): text for text in sorted(texts)}
    alike = [text for text in by_case.values() if likeness(text) == likeness(name)]
    found = difflib.get_close_matches(name.casefold().strip(), by_case, n=NEAR_MAX)
    return [*dict.fromkeys([*alike, *(by_case[text] for text in found)])]


def did_you_mean(texts: Iterable[str]) -> str:
    """Return the question whether one of these is meant.

    Empty if there is none.
    """
    meant = " or ".join(map(repr, texts))
    return f"Did you mean {meant}?" if meant else ""


# Buckets of numbers and dates.
#
# Which one a value falls into, and how that is told.

Border = float | str
"""Where a bucket begins: a number, or a date as text."""

_DATE: Final = re.compile(r"\d{4}-\d{2}(-\d{2}.*)?")
"""Dates in this form ascend as texts do."""


def bucket_text(edges: Sequence[Border], value: Border) -> str:
    """Return the bucket of a number, or of a date as text.

    Examples
    --------
    >>> bucket_text((18, 65), 20), bucket_text(("2020-01-01",), "2021-05-09")
    ('18..<65', '>=2020-01-01')
    """
    position = bisect.bisect_right(edges, _ascending(value), key=_ascending)
    texts = [edge if isinstance(edge, str) else f"{edge:g}" for edge in edges]
    if position == 0:
        return f"<{texts[0]}"
    if position == len(edges):
        return f">={texts[-1]}"
    return f"{texts[position - 1]}..<{texts[position]}"


def _ascending(border: Border) -> Border:
    """Return the text that is compared.

    Of a moment the time of day stands behind a T, not a blank.
    """
    return border.replace(" ", "T", 1) if isinstance(border, str) else border


def date_of(value: object) -> str | None:
    """Return a date as text that ascends with time; None for others."""
    text = str(value)
    return text if _DATE.fullmatch(text) else None


def date_in(attribute: str, value: object) -> str:
    """Return a date that an attribute holds, as text.

    Raises
    ------
    InvalidGraph
        If it is none.
    """
    text = date_of(value)
    if text is None:
        msg = f"Attribute {attribute!r} has buckets of dates but holds something that is no date."
        raise InvalidGraph(msg, hint="Write dates such as 2020-01-31.")
    return text
