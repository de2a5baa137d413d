"""The five tables of a sequence, each with its columns declared once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.paged_table import FREE, Column, PagedTable

NOBODY = NEVER = -1
FALSE, TRUE, RESIDUAL = range(3)
"""Of a released edge: inserted, a true tie, a former tie of somebody who left the place."""
INSERTED, REAL, COUNTERFEIT = range(3)
"""Kinds of place: never anybody's, somebody's, formerly somebody's."""


# A free row must read as nobody's and as never.
assert NOBODY == NEVER == FREE


class PlaceTable(PagedTable):
    """Who is published. A place is never reused.

    Attributes
    ----------
    published:
        The published id.
    cls, sensitive:
        The class and the code of the sensitive value that are shown.
    ever:
        1 if the place was ever published sensitive.
    cohort, owner:
        Its cohort; the row of the person behind it, or `NOBODY`.
    kind:
        `INSERTED`, `REAL` or `COUNTERFEIT`.
    born, left:
        The releases in which it appeared, and in which its owner left it, or `NEVER`.
    """

    name = "places"
    published: Column
    cls: Column
    sensitive: Column
    ever: Column
    cohort: Column
    owner: Column
    kind: Column
    born: Column
    left: Column


class PersonTable(PagedTable):
    """The true graph's vertices. A row is reused after its person left.

    Attributes
    ----------
    key:
        The person.
    place:
        The place that shows the person, or `NOBODY` while withheld.
    cls, sensitive:
        The true class, and the code of the true sensitive value.
    since:
        The release since which the person waits, or waited.
    """

    name = "people"
    key: Column
    place: Column
    cls: Column
    sensitive: Column
    since: Column


class _PairTable(PagedTable):
    """Pairs of numbers in the first two columns."""

    def pair(self, row: int) -> tuple[int, int]:
        """Return the two numbers of a row."""
        return self.columns[0][row], self.columns[1][row]

    def pairs(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the two numbers of each of the given rows, int64, shape (x, 2)."""
        return self.rows[rows, :2]


class ReleasedEdgeTable(_PairTable):
    """What is released, by places.

    Attributes
    ----------
    low, high:
        The places of its ends, ascending.
    is_true:
        `FALSE`, `TRUE` or `RESIDUAL`.
    """

    name = "edges"
    low: Column
    high: Column
    is_true: Column


class HeldTieTable(_PairTable):
    """True ties that are not released, by rows of people.

    Attributes
    ----------
    first, second:
        The rows of its ends, ascending.
    since:
        The release since which the tie could have been shown.
    """

    name = "held"
    first: Column
    second: Column
    since: Column


class FormerEdgeTable(_PairTable):
    """What a pair of classes showed before it was cleared, by places: `low` and `high`."""

    name = "former"
    low: Column
    high: Column
