"""Tables of numbered rows, by columns, and pairs of numbers in them.

What is read of a column is frozen: only its table writes it. On pages every number is an int64,
little-endian, however it is kept here.

How rows are kept and found in memory may be changed (tests/ktsafe/sequence/test_tables.py compares
with dicts). Pages may not (`ROWS_PER_PAGE`, the order of columns), nor which free row is taken
next: releases follow from it.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Container, Iterator
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph.numbering import edge_keys

ROWS_PER_PAGE = 1024
"""A change of one row writes a page of a few dozen KB: chosen."""
SPARE_ROWS = 1024
"""A table is packed where its free rows outnumber the others by more than this: a page of them."""
FREE = -1
"""First column of a row that is not in use."""
NOBODY = NEVER = FREE
"""A free row must read as nobody's and as never."""

T = TypeVar("T")
Whole = TypeVar("Whole", bound=np.signedinteger[Any])

Numbers = NDArray[np.int64]
Integers = NDArray[np.signedinteger[Any]]


class TableColumn:
    """A column of a table: read as a frozen array, shape (n,)."""

    def __set_name__(self, table: type[ColumnTable], name: str) -> None:
        self._at = len(table.columns)
        table.columns = (*table.columns, name)

    def __get__(self, table: ColumnTable, _: object) -> Numbers:
        return table.column(self._at)


class ColumnTable:
    """Rows of numbers. One is free where its first column is -1.

    New rows take the least free numbers: what a table does next depends on its rows alone.

    Attributes
    ----------
    name:
        Prefix of the page names.
    columns:
        Names of the columns, in the order of their pages.
    kept_as:
        How the numbers are kept.
    reuses:
        Whether rows that were given back are taken again.
    n:
        How many rows there are, free ones included.
    is_altered:
        Of each page whether it was written since this was copied or loaded.
    """

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ()
    kept_as: ClassVar[type[np.signedinteger[Any]]] = np.int64
    reuses: ClassVar[bool] = True

    def __init__(self) -> None:
        self.n = 0
        self._rows = np.zeros((len(self.columns), 0), dtype=self.kept_as)
        self.is_altered = np.zeros(0, dtype=np.bool_)
        self._free: Numbers | None = None
        self._n_writes = dict.fromkeys(self.columns, 0)
        self._derived: dict[str, tuple[tuple[int, ...], Any]] = {}

    def copy(self) -> Self:
        """Return a table that holds the same and changes by itself."""
        twin = copy.copy(self)
        for name in ("_rows", "_n_writes", "_derived"):
            setattr(twin, name, getattr(self, name).copy())
        twin.is_altered = np.zeros_like(self.is_altered)
        return twin

    def column(self, at: int) -> Numbers:
        """Return a column, frozen."""
        values = self._rows[at, : self.n]
        values.flags.writeable = False
        return values

    def used(self) -> Numbers:
        """Return the numbers of the rows in use, ascending."""
        return np.flatnonzero(self._rows[0, : self.n] != FREE)

    def add(self, count: int, /, **values: int | Numbers) -> Numbers:
        """Write new rows by all columns, each a number or array.

        Returns their numbers, ascending.
        """
        assert len(values) == len(self.columns)
        again = np.zeros(0, dtype=np.int64)
        if self.reuses:
            again, self._free = np.split(self._free_rows(), [count])
        rows = np.append(again, self.n + np.arange(count - len(again)))
        self._grow(self.n + count - len(again))
        self.write(rows, **values)
        return rows

    def write(self, rows: int | Numbers | list[int], /, **values: int | Numbers) -> None:
        """Overwrite columns of rows."""
        if not np.size(rows):
            return
        self.is_altered[np.asarray(rows) // ROWS_PER_PAGE] = True
        for name, value in values.items():
            self._rows[self.columns.index(name), rows] = value
            self._n_writes[name] += 1

    def free(self, rows: Numbers) -> None:
        """Give rows back; nothing of what they held remains."""
        self.write(rows, **dict.fromkeys(self.columns, FREE))
        if self._free is not None:
            # Two ascending runs, which a stable sort merges.
            self._free = np.sort(np.concatenate((self._free, np.sort(rows))), kind="stable")

    def version(self, *columns: str) -> tuple[int, ...]:
        """Return what differs once one of these columns was written."""
        return tuple(self._n_writes[name] for name in columns)

    def derived(self, what: str, version: tuple[int, ...], make: Callable[[], T]) -> T:
        """Return a value derived of columns, made anew once their version changes."""
        known = self._derived.get(what)
        if known is None or known[0] != version:
            known = self._derived[what] = version, make()
        found: T = known[1]
        return found

    def pages(self, but: Container[str] = ()) -> Iterator[tuple[str, bytes]]:
        """Yield name and bytes of each page: up to `ROWS_PER_PAGE` rows, little-endian."""
        for number, name in enumerate(self._page_names()):
            if name not in but:
                first = number * ROWS_PER_PAGE
                rows = self._rows[:, first : min(first + ROWS_PER_PAGE, self.n)]
                yield name, rows.T.astype(np.int64).tobytes()

    def kept_pages(self) -> list[str]:
        """Return the names of pages not written since the copy or load."""
        return list(itertools.compress(self._page_names(), ~self.is_altered))

    def load(self, pages: list[bytes]) -> None:
        """Take what `pages` yielded, in order, into an empty table.

        Raises
        ------
        ValueError
            If a page is no whole number of rows.
        """
        rows = np.frombuffer(b"".join(pages), dtype=np.int64).reshape(-1, len(self.columns))
        self._grow(len(rows))
        self._rows[:, : self.n] = rows.T

    def _free_rows(self) -> Numbers:
        """Return the numbers of the rows that are not in use, ascending."""
        if self._free is None:
            self._free = np.flatnonzero(self._rows[0, : self.n] == FREE)
        return self._free

    def _page_names(self) -> list[str]:
        return [f"{self.name}/{i:06d}" for i in range(-(-self.n // ROWS_PER_PAGE))]

    def _grow(self, n: int) -> None:
        """Have n rows. Spare room lets few additions copy all."""
        if n > self._rows.shape[1]:
            more = np.zeros((len(self.columns), n + n // 16 - self.n), dtype=self.kept_as)
            self._rows = np.hstack((self._rows[:, : self.n], more))
        self.n = n
        more_pages = max(-(-n // ROWS_PER_PAGE) - len(self.is_altered), 0)
        self.is_altered = np.append(self.is_altered, np.zeros(more_pages, dtype=np.bool_))


class PairTable(ColumnTable):
    """Pairs of numbers, each once, ascending, and more about each.

    All numbers are below 2**31 - 1 and kept as int32. `pairs` gives int64: of two numbers a key is
    made, which would overflow without a word. Other columns are only compared.

    Which rows hold a number is found by a pass over all of them. An index took as long as dozens of
    passes to make, and was asked a few times.
    """

    columns = ("low", "high")
    kept_as = np.int32

    def add_pairs(self, pairs: Numbers, **others: int | Numbers) -> Numbers:
        """Write new rows: pairs in any direction, and the other columns."""
        low, high = ascending(pairs).T
        return self.add(len(pairs), low=low, high=high, **others)

    def pack(self) -> None:
        """Drop free rows where most are free.

        Those in use move together, in their order: numbers of rows mean others from now on.
        """
        used = self.used()
        if self.n <= 2 * len(used) + SPARE_ROWS:
            return
        self._rows, self.n, self._free = self._rows[:, used], len(used), None
        self.is_altered[:] = True
        for name in self.columns:
            self._n_writes[name] += 1

    def pairs(self, rows: Integers) -> Numbers:
        """Return the two numbers of given rows, int64, shape (x, 2)."""
        return self.ends(rows).astype(np.int64)

    def ends(self, rows: Integers) -> NDArray[np.int32]:
        """Return pairs as int32, of which no keys may be made."""
        low, high = self._rows[:2, : self.n]
        found: NDArray[np.int32] = np.column_stack((low[rows], high[rows]))
        return found

    def rows_of(self, pairs: Numbers) -> Numbers:
        """Return the row of each pair of numbers, shape (x, 2).

        -1 without one.
        """
        wanted = np.where((pairs >= 0).all(axis=1), edge_keys(pairs), FREE)
        is_low, is_high = self._among(pairs.reshape(-1))
        rows = np.flatnonzero(is_low & is_high)
        keys = edge_keys(self.ends(rows))
        order = np.argsort(keys)
        at = positions(keys[order], wanted)
        is_there = np.append(keys[order], FREE)[at] == wanted
        return np.where(is_there, np.append(rows[order], FREE)[at], FREE)

    def around(self, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return each pair of some distinct numbers.

        The number's position, the other, the row.

        By position, then by the other number.
        """
        rows, order = self.rows_around(numbers), np.argsort(numbers)
        ordered, pairs = np.append(numbers[order], FREE), self.pairs(rows)
        found = []
        for number, other in (pairs.T, pairs.T[::-1]):
            at = np.searchsorted(ordered[:-1], number)
            is_asked = ordered[at] == number
            found.append(np.stack((order[at[is_asked]], other[is_asked], rows[is_asked])))
        position, other, row = np.concatenate(found, axis=1)
        order = np.lexsort((other, position))
        return position[order], other[order], row[order]

    def rows_around(self, numbers: Numbers) -> Numbers:
        """Return rows of pairs of the given numbers, once each, ascending."""
        is_low, is_high = self._among(numbers)
        return np.flatnonzero(is_low | is_high)

    def _among(self, numbers: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which rows have one of the numbers below, and above."""
        low, high = self._rows[:2, : self.n]
        n_numbers = 1 + int(high.max(initial=FREE))
        # The last flag is that of a free row.
        is_asked = np.zeros(n_numbers + 1, dtype=np.bool_)
        is_asked[numbers[(numbers >= 0) & (numbers < n_numbers)]] = True
        return is_asked[low], is_asked[high]


# Sets of numbers as arrays. They are sorted: numpy hashes, which takes ten times as long.


def among(values: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values, all at least 0, are among others."""
    ordered = np.append(np.sort(others), -1)
    found: NDArray[np.bool_] = ordered[positions(ordered[:-1], values)] == values
    return found


def positions(ordered: Integers, values: Integers) -> NDArray[np.int64]:
    """Return where each value would stand among ascending ones, before its equals.

    Looked up in their order: at random, most of the time goes into fetching memory.
    """
    order = np.argsort(values)
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.searchsorted(ordered, values[order])
    return found


def ascending(pairs: NDArray[Whole]) -> NDArray[Whole]:
    """Return pairs (x, 2), smaller number first, faster than `np.sort`.

    It takes a sixth of the time.
    """
    first, second = pairs[:, 0], pairs[:, 1]
    return np.column_stack((np.minimum(first, second), np.maximum(first, second)))


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each of some values, all at least 0, once, ascending."""
    ordered = np.sort(values, axis=None)
    once: NDArray[np.int64] = ordered[np.diff(ordered, prepend=-1) != 0]
    return once
