"""Figures of reports as texts, and their new files.

Rounding and words may be changed for all reports at once; tests of pages and commands compare some.
Private files are made with mode 0600 and never replace one (tests/security/test_modes.py).
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ktsafe.stream.errors import ConfigError

if TYPE_CHECKING:
    from ktsafe.audit import Overlap


# Figures as text, also those that are not known.


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


# New files of reports and tables.


def now() -> str:
    """Return this moment as text, in UTC, to the minute."""
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def check_page(path: Path) -> None:
    """Refuse an existing file before hours of work on it.

    Raises
    ------
    ConfigError
        If it exists, or its folder does not.
    """
    if path.exists() or not path.parent.is_dir():
        why = "exists already" if path.exists() else "lies in no folder"
        raise ConfigError(f"{path} {why}.", hint="Name a new file in a folder that is there.")


@contextmanager
def new_file(path: Path, *, is_private: bool = True) -> Iterator[TextIO]:
    """Yield a new file to write, private ones for their owner.

    Raises
    ------
    ConfigError
        If the file exists already, or cannot be written.
    """
    mode = 0o600 if is_private else 0o644
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        msg = f"{path} cannot be created ({error.strerror})."
        raise ConfigError(msg, hint="Name a new file in a folder that is writable.") from error
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        yield file
