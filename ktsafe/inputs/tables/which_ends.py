"""Which two columns of a list without a header hold the ids.

The first two, if no others may.

A number, a time, a weight or a type may stand before the ids. Two other columns may hold them
unless, in this order,

1. one of them has a cell that is no id: a fraction, a time, a sign or nothing;
2. they differ in form: words and numbers, `7` and `7.0`, or all numbers of one are beyond those of
   the other;
3. they have words, and share no text, where the first two do;
4. they have numbers, the first two share more of theirs, other columns have few numbers, and
   neither of the first two columns rises as times do.

All of it needs lines enough: the fewer there are, the more may be meant.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.inputs.spelling import is_number, is_time, value_text

TEXTS_MAX: Final = 1 << 16
"""Different texts of a column that are kept."""
WORD, WHOLE, POINT, NO_ID = "word", "whole", "point", "no id"
_POINT: Final = re.compile(r"\d+\.0+")
_COMMA: Final = re.compile(r"-?\d+,\d+")
NUMBERS_MIN: Final = 12
"""Lines from which shares of numbers tell something."""
PEOPLE_MIN: Final = 6
"""Ids of both ends from which they are told from weights and types."""
SHARED_MIN: Final = 0.3
"""The share of ids that both ends of ties have, of all of them, from which it tells something."""
BEYOND: Final = 1000
"""How much larger numbers are that are of another kind, such as seconds."""


@dataclasses.dataclass(eq=False)
class Column:
    """What stands in a column.

    Its different texts, up to a bound, and their forms.
    """

    texts: set[str] = dataclasses.field(default_factory=set)
    forms: set[str] = dataclasses.field(default_factory=set)
    is_whole: bool = True

    def take(self, cell: str) -> None:
        """Take in a cell."""
        text = cell.strip()
        if text in self.texts:
            return
        self.forms.add(form(text))
        if len(self.texts) < TEXTS_MAX:
            self.texts.add(text)
        else:
            self.is_whole = False

    @property
    def are_measures(self) -> bool:
        """Whether it holds numbers and times alone."""
        return WORD not in self.forms


def other_ends(
    columns: Sequence[Column],
    ends: Sequence[AbstractSet[str]],
    n: int,
    steps: Sequence[NDArray[np.float64]],
) -> tuple[int, int] | None:
    """Return two columns, from 1, that may hold the ids instead.

    Parameters
    ----------
    ends:
        The ids in either of the first two columns, if these hold them.
    n:
        How many lines there are.
    steps:
        How numbers in either of them rise from line to line; negative if there are others.
    """
    texts = [*ends, *({value_text(x) or "" for x in column.texts} for column in columns[2:])]
    both, people = ends[0] & ends[1], ends[0] | ends[1]
    are_words = WORD in columns[0].forms & columns[1].forms
    ascends = bool(np.all(steps[0] >= 0))
    are_times = bool(np.all(steps[0] > 0) or np.all(steps[1] >= 0))
    are_numbers = n >= NUMBERS_MIN and len(both) >= PEOPLE_MIN and not are_times
    if _differ(columns[0], columns[1], n, is_sure=True):
        return 2, 3
    is_sure = are_numbers or (are_words and bool(both))
    for i, j in itertools.combinations(range(len(columns)), 2):
        one, other = columns[i], columns[j]
        if (i, j) == (0, 1) or _differ(one, other, n, is_sure=is_sure):
            continue
        if WORD in one.forms | other.forms:
            is_less = i < 2 or len(people) > 2 * max(len(texts[i]), len(texts[j]))
            if are_words and both and is_less and not texts[i] & texts[j]:
                continue
        elif are_numbers and not (ascends and i > 1):
            there = texts[j] | texts[i] if other.is_whole else texts[j]
            is_less = len(texts[i] & texts[j]) * len(people) <= len(both) * len(there)
            is_few = 3 * len(texts[j]) <= len(people) and other.is_whole
            if len(both) >= SHARED_MIN * len(people) and is_less and is_few:
                continue
        return i + 1, j + 1
    return None


def _differ(one: Column, other: Column, n: int, *, is_sure: bool) -> bool:
    """Whether two columns' forms rule out ids of the same people."""
    if NO_ID in one.forms | other.forms:
        return True
    if (one.forms == {WORD}) != (other.forms == {WORD}) and WORD not in one.forms & other.forms:
        return is_sure
    if {frozenset(one.forms), frozenset(other.forms)} == {frozenset({WHOLE}), frozenset({POINT})}:
        return True
    if WORD in one.forms | other.forms or n < 3:
        return False
    low, high = ([float(text) for text in column.texts] for column in (one, other))
    return any(max(1.0, *a) * BEYOND < min(b) for a, b in ((low, high), (high, low)))


def form(text: str) -> str:
    """Return what a cell looks like.

    A word, a whole number, one written as `7.0`, or no id.

    Examples
    --------
    >>> [form(text) for text in ("Ann", "007", "7.0", "0,5", "-1", "2026-01-31", "")]
    ['word', 'whole', 'point', 'no id', 'no id', 'no id', 'no id']
    """
    if text.isdecimal():
        return WHOLE
    if _POINT.fullmatch(text):
        return POINT
    is_no_id = not text or is_number(text) or is_time(text) or _COMMA.fullmatch(text)
    return NO_ID if is_no_id else WORD
