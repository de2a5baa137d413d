"""Columns with one text for each cell."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.inputs.spelling import BOOLEANS, as_given, is_fraction, is_measure, is_time


class Spelled:
    """The texts of one column, each made once.

    Attributes
    ----------
    otherwise:
        The texts that something was given for that is not this text.
    has_words:
        Whether a text is neither a number nor a time.
    """

    def __init__(self, spell: Callable[[object], str | None]) -> None:
        self._spell = spell
        self._known: dict[object, str | None] = {}
        self._has_plain = False
        self.has_words = False
        self.otherwise: set[str] = set()

    def __call__(self, given: Any) -> str | None:
        """Return the text of a cell."""
        if isinstance(given, str) and given.isalnum() and given not in BOOLEANS:
            self._has_plain = True
            self.has_words = self.has_words or not given.isdecimal()
            return given
        if isinstance(given, Hashable) and given in self._known:
            return self._known[given]
        text = self._spell(given)
        if text is not None:
            self.has_words = self.has_words or not is_measure(text)
            if isinstance(given, str) and as_given(given) != as_given(text):
                self.otherwise.add(text)
        self._known[given] = text
        return text

    @property
    def are_numbers(self) -> bool:
        """Whether there are texts, and all are numbers."""
        others = [text for text in self._known.values() if text is not None]
        is_there = self._has_plain or bool(others)
        return is_there and not self.has_words and not any(map(is_time, others))

    @property
    def measure(self) -> str:
        """What the texts tell if they are no ids: "times" or "fractions".

        Else empty.
        """
        others = [text for text in self._known.values() if text is not None]
        if self.has_words or not others:
            return ""
        if not self._has_plain and all(map(is_time, others)):
            return "times"
        return "fractions" if any(map(is_fraction, others)) else ""


def tell_spelt_twice(
    given: Iterable[tuple[int, Any]], what: str, spelled: Spelled, bad: BadLines
) -> None:
    """Add the lines where a column spells an earlier text otherwise."""
    if not spelled.otherwise:
        return
    first: dict[str, Hashable] = {}
    for line, cell in given:
        try:
            text = spelled(cell)
        except InvalidGraph:
            continue  # That line is told already.
        if text in spelled.otherwise:
            spelt = as_given(cell)
            if first.setdefault(text, spelt) != spelt:
                told = f"{what} holds what is spelt otherwise before, as 7 and 7.0"
                bad.setdefault(told, []).append(line)
