"""Buckets of numbers and dates.

Which one a value falls into, and how that is told.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from typing import Final

from ktsafe.errors import InvalidGraph

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
