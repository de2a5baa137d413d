"""What a schema names and no vertex shows: most often a misspelling, which protects nobody."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from ktsafe.errors import AbsentFromGraph, InvalidGraph

NEAR_MAX = 3


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


def refuse(attributes: Sequence[str], values: Sequence[str], near: Iterable[str]) -> None:
    """Refuse the attributes that nobody gave, then the sensitive values that nobody holds.

    Parameters
    ----------
    attributes, values:
        Those that are absent.
    near:
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
    meant = " or ".join(repr(text) for text in _near(name, near))
    ask = f"Did you mean {meant}? " if meant else ""
    msg = f"No vertex has the {what} {name!r}, which the schema names."
    hint = f"{ask}If that is so on purpose, list it in expect_absent."
    raise AbsentFromGraph(msg, hint=hint, attributes=attributes, n_values=len(values))


def _near(name: str, texts: Iterable[str]) -> list[str]:
    """Return the texts that look like `name`, the most alike first, whatever their case."""
    by_case = {text.casefold().strip(): text for text in texts}
    found = difflib.get_close_matches(name.casefold().strip(), by_case, n=NEAR_MAX)
    return [by_case[text] for text in found]
