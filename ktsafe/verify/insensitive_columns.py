"""The gate of insensitive columns: no rare value, and no value left with its owner.

Protection sets do not see these columns, and need not: given the release without them, the values
of rows of one cell, of equal class and degree, must stand in uniformly random order. One order
proves nothing. But rows that hold their owner's own value can be counted. Given the values of a
cell, a random order leaves sum(a(x) b(x)) / n of them there on average, where a(x) owners have x
and b(x) of the n rows show it.

Nothing here is shared with what makes the columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import NotKTSafe

DEVIATIONS = 8
"""Standard deviations beyond which as many own values are no accident: once in 10^15 orders."""


def check_shared(columns: Mapping[str, Sequence[Hashable]], k: int) -> None:
    """Refuse published columns with a value, or a missing one, that fewer than k rows have.

    Parameters
    ----------
    columns:
        For each column the value of each row, as published.
    k:
        Least number of rows.

    Raises
    ------
    NotKTSafe
        Names the column, never the value.

    Examples
    --------
    >>> check_shared({"shoe": [40, 40, 41, 41]}, 2)
    """
    for name, column in columns.items():
        fewest = min(Counter(column).values(), default=k)
        # Where there are fewer rows than k, that they are alike tells nothing.
        if fewest < min(k, len(column)):
            msg = f"A value of column {name!r} is that of {fewest} rows only, k is {k}."
            raise NotKTSafe(msg, hint="Do not publish this release.")


def check_exchanged(
    own: Mapping[str, Sequence[Hashable]],
    shown: Mapping[str, Sequence[Hashable]],
    classes: NDArray[np.integer],
    degrees: NDArray[np.integer],
) -> None:
    """Refuse columns in which more rows show the value of their owner than exchanges leave there.

    Parameters
    ----------
    own:
        For each column the true value behind each released vertex; None where nobody is.
    shown:
        The value that each shows.
    classes, degrees:
        Of each released vertex, shape (n,).

    Raises
    ------
    NotKTSafe
        If so.

    Examples
    --------
    >>> alike, column = np.zeros(100, dtype=np.int64), list(range(50)) * 2
    >>> check_exchanged({"shoe": column}, {"shoe": column[::-1]}, alike, alike)
    >>> check_exchanged({"shoe": column}, {"shoe": column}, alike, alike)
    Traceback (most recent call last):
    ktsafe.errors.NotKTSafe: Column 'shoe' shows 100 own values, chance is 2. Nothing was published.
    """
    cells: dict[tuple[int, int], list[int]] = {}
    for row, cell in enumerate(zip(classes.tolist(), degrees.tolist(), strict=True)):
        cells.setdefault(cell, []).append(row)
    for name, column in shown.items():
        theirs = own[name]
        kept, expected = 0, Fraction(0)
        for rows in cells.values():
            has = Counter(theirs[row] for row in rows if theirs[row] is not None)
            shows = Counter(column[row] for row in rows)
            expected += Fraction(sum(n * shows[value] for value, n in has.items()), len(rows))
            kept += sum(theirs[row] is not None and theirs[row] == column[row] for row in rows)
        # The variance of matches under a random order is at most twice their number on average.
        excess = kept - expected
        if excess > DEVIATIONS and excess**2 > DEVIATIONS**2 * 2 * expected:
            msg = f"Column {name!r} shows {kept} own values, chance is {float(expected):.0f}."
            raise NotKTSafe(msg, hint="Nothing was published.")
