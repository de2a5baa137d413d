"""Values that at least k rows share: rare texts are left out, rare numbers are told as means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Value = str | int | float | bool | None
"""What a row of a column holds; None: nothing is known."""

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
"""Texts that are numbers; with a leading zero they are codes, such as those of postal areas."""
DIGITS = 6
"""Significant digits of a mean."""


def typed(column: Sequence[object]) -> list[Value]:
    """Return a column of numbers or of texts, None where a value is missing.

    It is a column of numbers if every value is one, be it as text.

    Examples
    --------
    >>> typed(["3", "", "12"]), typed(["3", "-", "b"]), typed([1.5, float("nan"), True])
    ([3, None, 12], ['3', None, 'b'], ['1.5', None, 'True'])
    """
    found = [None if _is_missing(value) else value for value in column]
    there = [value for value in found if value is not None]
    if all(_is_number(value) for value in there):
        return [None if value is None else _number(value) for value in found]
    return [None if value is None else str(value) for value in found]


def shared(column: Sequence[Value], k: int, rng: np.random.Generator) -> list[Value]:
    """Return a column in which every value, and None, is that of at least k rows or of none.

    Parameters
    ----------
    column:
        As `typed` returns it.
    k:
        Least number of rows.
    rng:
        Draws values in the place of None, where that is fewer than k rows'.

    Notes
    -----
    A number that fewer than k rows have is put together with the next ones, and all are told as
    their mean: microaggregation with groups of k. A text that fewer than k rows have becomes None.

    Source: Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation for
    statistical disclosure control" (IEEE TKDE 2002).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shared([1, 1, 5, 9, 9, 9], 2, rng), shared(["a", "a", "b", "c"], 2, rng)
    ([1, 1, 8, 8, 8, 8], ['a', 'a', None, None])
    """
    counts = Counter(value for value in column if value is not None)
    if not all(isinstance(value, str) for value in counts):
        told = _means(counts, k)
    else:
        told = {value: value for value, n in counts.items() if n >= k}
    found = [None if value is None else told.get(value) for value in column]
    known = [value for value in found if value is not None]
    missing = [row for row, value in enumerate(found) if value is None]
    if known and len(missing) < k:
        for row, i in zip(missing, rng.integers(len(known), size=len(missing)), strict=True):
            found[row] = known[i]
    return found if known or len(missing) >= k else [None] * len(column)


def _means(counts: Mapping[Any, int], k: int) -> dict[Value, Value]:
    """Return for each number the mean of its group, a group for k rows or more in order."""
    groups: list[list[float]] = [[]]
    size = 0
    for value in sorted(counts):
        # A value of many stays by itself, where those before it are enough.
        if size >= k:
            groups.append([])
            size = 0
        groups[-1].append(value)
        size += counts[value]
    if size < k and len(groups) > 1:
        last = groups.pop()
        groups[-1] += last
    is_whole = all(isinstance(value, int) for value in counts)
    told: dict[Value, Value] = {}
    for group in groups:
        weights = [counts[value] for value in group]
        mean = group[0] if len(group) == 1 else float(np.average(group, weights=weights))
        # Two means that round to the same are one value of more rows.
        text: Value = round(mean) if is_whole else float(f"{mean:.{DIGITS}g}")
        told |= dict.fromkeys(group, text)
    return told


def _is_missing(value: object) -> bool:
    if value is None or (isinstance(value, str) and value in {"", "-"}):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_number(value: object) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, int | float | np.integer | np.floating):
        return bool(np.isfinite(value))
    return isinstance(value, str) and _NUMBER.fullmatch(value) is not None


def _number(value: object) -> Value:
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, str) and "." not in value:
        return int(value)
    return float(value)  # type: ignore[arg-type]
