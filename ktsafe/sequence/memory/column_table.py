"""Tables of numbered rows, by columns: values that share what they have in common.

A copy of a table shares its columns; whichever of the two is written first gets its own. So the
former value is kept by keeping it, and nothing has to be undone. What is read of a column is
frozen. On pages every number is an int64, little-endian, however it is kept here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

ROWS_PER_PAGE = 1024
SPARE_ROWS = 1024
"""A table is packed where its free rows outnumber the others by more than this."""
FREE = -1
"""First column of a row that is not in use."""
NOBODY = NEVER = FREE
"""A free row must read as nobody's and as never."""

SHARE = 20
"""Pairs are sorted anew once this part of a table's rows came since they were."""

_LOW = 2**32 - 1

T = TypeVar("T")

Numbers = NDArray[np.int64]


class ColumnTable:
    """Rows of numbers; a row is free where its first column is -1.

    New rows take the least free numbers: what a table does next depends on its rows alone.

    Attributes
    ----------
    name:
        Prefix of the page names.
    columns:
        Names of the columns, in the order of their pages. Each is an attribute: frozen, shape
        (n,); those of a pair have `PairTable.pairs` instead.
    kept_as:
        How the numbers are kept.
    reuses:
        Whether rows that were given back are taken again.
    later:
        The last columns, as far as pages of an older version lack them, and what each row of such
        pages holds there.
    n:
        How many rows there are, free ones included.
    """

    name: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    kept_as: ClassVar[type[np.signedinteger[Any]]] = np.int64
    reuses: ClassVar[bool] = True
    later: ClassVar[tuple[tuple[str, int], ...]] = ()

    def __init__(self) -> None:
        self.n = 0
        self._rows = np.zeros((len(self.columns), 0), dtype=self.kept_as)
        self._is_shared = False
        self._free: Numbers | None = None
        self._stamps = dict.fromkeys(self.columns, 0)
        self._derived: dict[str, tuple[tuple[int, ...], Any]] = {}
        self._expose()

    def copy(self) -> Self:
        """Return a table that holds the same and changes by itself."""
        self._is_shared = True
        twin = copy.copy(self)
        known = {"_stamps": dict(self._stamps), "_derived": dict(self._derived)}
        vars(twin).update(known)
        return twin

    def used(self) -> Numbers:
        """Return the numbers of the rows in use, ascending."""
        return np.flatnonzero(self._rows[0, : self.n] != FREE)

    def add(self, count: int, /, **values: int | Numbers) -> Numbers:
        """Write new rows, given by all columns, each a number or one for each row.

        Returns their numbers, ascending.
        """
        assert len(values) == len(self.columns)
        again = np.zeros(0, dtype=np.int64)
        if self.reuses:
            again, self._free = np.split(self._free_rows(), [count])
        rows = np.append(again, self.n + np.arange(count - len(again)))
        self._own(self.n + count - len(again))
        self.write(rows, **values)
        return rows

    def write(self, rows: int | Numbers | list[int], /, **values: int | Numbers) -> None:
        """Overwrite columns of rows."""
        if not np.size(rows):
            return
        self._own(self.n)
        for name, value in values.items():
            self._rows[self.columns.index(name), rows] = value
            self._stamps[name] += 1

    def free(self, rows: Numbers) -> None:
        """Give rows back; nothing of what they held remains."""
        self.write(rows, **dict.fromkeys(self.columns, FREE))
        if self._free is not None:
            # Two ascending runs, which a stable sort merges.
            self._free = np.sort(np.concatenate((self._free, np.sort(rows))), kind="stable")

    def stamp(self, *columns: str) -> tuple[int, ...]:
        """Return what differs once one of these columns was written."""
        return tuple(self._stamps[name] for name in columns)

    def derived(self, what: str, stamps: tuple[int, ...], make: Callable[[], T]) -> T:
        """Return what is derived of columns, made anew once their stamps are others."""
        known = self._derived.get(what)
        if known is None or known[0] != stamps:
            known = self._derived[what] = stamps, make()
        found: T = known[1]
        return found

    def pages(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and bytes of each page: up to `ROWS_PER_PAGE` rows, little-endian."""
        for first in range(0, self.n, ROWS_PER_PAGE):
            rows = self._rows[:, first : min(first + ROWS_PER_PAGE, self.n)]
            yield f"{self.name}/{first // ROWS_PER_PAGE:06d}", rows.T.astype(np.int64).tobytes()

    def load(self, pages: list[bytes], *, are_older: bool = False) -> None:
        """Take what `pages` yielded, in order, into an empty table.

        Parameters
        ----------
        pages:
            The pages.
        are_older:
            Whether they lack the columns that came `later`.

        Raises
        ------
        ValueError
            If a page is no whole number of rows.
        """
        later = self.later if are_older else ()
        width = len(self.columns) - len(later)
        rows = np.frombuffer(b"".join(pages), dtype=np.int64).reshape(-1, width)
        self._own(len(rows))
        self._rows[:width, : self.n] = rows.T
        for number, (_, value) in enumerate(later, width):
            self._rows[number, : self.n] = np.where(rows[:, 0] != FREE, value, FREE)

    def _free_rows(self) -> Numbers:
        """Return the numbers of the rows that are not in use, ascending."""
        if self._free is None:
            self._free = np.flatnonzero(self._rows[0, : self.n] == FREE)
        return self._free

    def _own(self, n: int) -> None:
        """Have columns that may be written, of n rows."""
        room = self._rows.shape[1]
        if n > room or self._is_shared:
            width = room if n <= room else n + n // 16
            rows = np.full((len(self.columns), width), FREE, dtype=self.kept_as)
            rows[:, : self.n] = self._rows[:, : self.n]
            self._rows, self._is_shared = rows, False
        elif n == self.n:
            return
        self.n = n
        self._expose()

    def _expose(self, first: int = 0) -> None:
        for name, column in zip(self.columns[first:], self._rows[first:, : self.n], strict=True):
            column.flags.writeable = False
            setattr(self, name, column)


class PairTable(ColumnTable):
    """Pairs of numbers, ascending, in the first two columns; each pair once.

    All numbers are below 2**31 - 1 and kept as int32. `pairs` gives int64: of two numbers a key is
    made, which would overflow without a word. Other columns are only compared.

    Which rows hold which numbers is looked up in one array of all pairs, in both directions, and a
    small one of those that came since it was sorted. Both may name pairs that are gone, since a row
    says itself which pair it holds.
    """

    kept_as = np.int32

    def __init__(self) -> None:
        super().__init__()
        self._sorted: tuple[Numbers, NDArray[np.int32]] | None = None
        self._since: list[Numbers] = []

    def copy(self) -> Self:
        """Return a table that holds the same and changes by itself."""
        twin = super().copy()
        vars(twin).update(_since=list(self._since))
        return twin

    def add(self, count: int, /, **values: int | Numbers) -> Numbers:
        """Write new rows: see `ColumnTable.add`."""
        rows = super().add(count, **values)
        self._since.append(rows)
        if sum(map(len, self._since)) * SHARE > self.n:
            self._sorted, self._since = None, []
        return rows

    def pack(self) -> None:
        """Drop free rows where most are free: those in use move together, in their order.

        Whoever knows a row by its number must not need it any more.
        """
        used = self.used()
        if self.n <= 2 * len(used) + SPARE_ROWS:
            return
        self._rows, self._is_shared, self._free = self._rows[:, used], False, None
        self._sorted, self._since = None, []
        self.n = len(used)
        for name in self.columns:
            self._stamps[name] += 1
        self._expose()

    def pairs(self, rows: Numbers) -> Numbers:
        """Return the two numbers of each of the given rows, int64, shape (x, 2)."""
        ends = np.empty((len(rows), 2), dtype=np.int64)
        for side in (0, 1):
            ends[:, side] = self._rows[side, rows]
        return ends

    def rows_of(self, pairs: Numbers) -> Numbers:
        """Return the row of each pair of numbers, shape (x, 2); -1 without one."""
        found = np.full(len(pairs), FREE)
        is_pair = (pairs >= 0).all(axis=1)
        wanted = np.where(is_pair, pairs[:, 0] << 32 | pairs[:, 1], FREE)
        for keys, rows in self._indexes():
            at = positions(keys, wanted)
            is_there = keys[at] == wanted
            of_pair = rows[at[is_there]].astype(np.int64)
            is_there[is_there] = is_right = self._hold(of_pair, pairs[is_there])
            found[is_there] = of_pair[is_right]
        return found

    def around(self, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return each pair of the given numbers: the number's position, the other, the row.

        By position, then by the other number.
        """
        found = []
        for keys, rows in self._indexes():
            first, last = (positions(keys, (numbers + more) << 32) for more in (0, 1))
            lengths = last - first
            position = np.repeat(np.arange(len(numbers)), lengths)
            at = np.arange(len(position)) + (first - np.cumsum(lengths) + lengths)[position]
            other, of_pair = keys[at] & _LOW, rows[at].astype(np.int64)
            is_there = self._hold(of_pair, np.column_stack((numbers[position], other)))
            found.append((position[is_there], other[is_there], of_pair[is_there]))
        if len(found) == 1:
            return found[0]
        position, other, row = map(np.concatenate, zip(*found, strict=True))
        # A row that was given back and taken again for the same pair is found twice.
        order = np.lexsort((other, position))
        is_again = np.diff(np.stack((row, position))[:, order], prepend=FREE) == 0
        order = order[~is_again.all(axis=0)]
        return position[order], other[order], row[order]

    def _hold(self, rows: Numbers, pairs: Numbers) -> NDArray[np.bool_]:
        """Return which rows hold these pairs, in either direction."""
        is_there: NDArray[np.bool_] = (self.pairs(rows) == ascending(pairs)).all(axis=1)
        return is_there

    def _indexes(self) -> list[tuple[Numbers, NDArray[np.int32]]]:
        """Return sorted pairs and their rows: of most rows, and of those that came since."""
        if self._sorted is None:
            self._sorted = self._in_order(self.used())
        if not self._since:
            return [self._sorted]
        since = distinct(np.concatenate(self._since))
        return [self._sorted, self._in_order(since[self._rows[0, since] != FREE])]

    def _expose(self, first: int = 2) -> None:
        super()._expose(first)

    def _in_order(self, rows: Numbers) -> tuple[Numbers, NDArray[np.int32]]:
        """Return the pairs of rows, in both directions and order, as numbers; and their rows."""
        first, second = self.pairs(rows).T
        keys = np.concatenate((first << 32 | second, second << 32 | first))
        order = np.argsort(keys)
        # What is greater than all keys stands at the end.
        keys = np.append(keys[order], np.iinfo(np.int64).max)
        return keys, np.append(np.tile(rows.astype(np.int32), 2)[order], np.int32(FREE))


# Sets of numbers as arrays. They are sorted: numpy hashes, which takes ten times as long.


def among(values: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values, all at least 0, are among others."""
    ordered = np.append(np.sort(others), -1)
    found: NDArray[np.bool_] = ordered[positions(ordered[:-1], values)] == values
    return found


def positions(ordered: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each value would stand among ascending ones, before its equals.

    Looked up in their order: at random, most of the time goes into fetching memory.
    """
    order = np.argsort(values)
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.searchsorted(ordered, values[order])
    return found


def ascending(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs, shape (x, 2), with the smaller number first, in a sixth of `np.sort`'s time."""
    first, second = pairs[:, 0], pairs[:, 1]
    return np.column_stack((np.minimum(first, second), np.maximum(first, second)))


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each of some values, all at least 0, once, ascending."""
    ordered = np.sort(values, axis=None)
    once: NDArray[np.int64] = ordered[np.diff(ordered, prepend=-1) != 0]
    return once
