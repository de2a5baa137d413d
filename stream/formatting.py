"""Figures as text, also those that are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ktsafe.audit import Overlap


def text_of(value: float | None, form: str = ".2f", unknown: str = "-") -> str:
    """Return a figure by `format`, or a word for None.

    Examples
    --------
    >>> text_of(0.5), text_of(1200, ","), text_of(None, ",", "unknown")
    ('0.50', '1,200', 'unknown')
    """
    return unknown if value is None else format(value, form)


def number(value: float | None, digits: int = 2) -> str:
    """Return a figure as text: whole numbers with commas."""
    return text_of(value, "," if isinstance(value, int) else f",.{digits}f")


def cost_in_words(ties: Overlap) -> str:
    """Return how many ties a release hides or inserts, by its `usefulness`."""
    share = text_of(ties.cost_share, ".0%", "an unknown share")
    return f"{ties.cost:,} edits = {share} of the true ties (100%: publishing nothing)"


def percent(share: float | None) -> str:
    """Return a share as text.

    A share that is not whole is never rounded to 0% or 100%.
    """
    if share is None or share in {0, 1}:
        return text_of(share, ".0%")
    text = f"{100 * share:.1f}%"
    if share < 1 and text == "100.0%":
        return ">99.9%"
    return "<0.1%" if share > 0 and text == "0.0%" else text
