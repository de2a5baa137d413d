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

from ktsafe.graph import edge_keys

ROWS_PER_PAGE = 1024
SPARE_ROWS = 1024
"""A table is packed where its free rows outnumber the others by more than this."""
FREE = -1
"""First column of a row that is not in use."""
NOBODY = NEVER = FREE
"""A free row must read as nobody's and as never."""

SHARE = 20
"""Ends of pairs are sorted anew once this part of a table's rows came or went since they were."""
LOOKED_UP = 8
"""Of so many numbers one or less has its pairs looked up; of more, all pairs are gone through."""
ROWS_AT_ONCE = 1_000_000
"""Of a large table, rows that are looked at together: all at once would take much room."""

T = TypeVar("T")
Whole = TypeVar("Whole", bound=np.signedinteger[Any])

Numbers = NDArray[np.int64]
Integers = NDArray[np.signedinteger[Any]]
Ends = tuple[NDArray[np.int32], NDArray[np.int32]]


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

    Which rows hold a number is looked up in one array of all ends, and a small one of those that
    came since it was sorted. Both may name rows that hold others by now, since a row says itself
    which pair it holds. They are made when somebody asks, and last for a release.
    """

    kept_as = np.int32

    def __init__(self) -> None:
        super().__init__()
        self._ends: Ends | None = None
        self._since: list[Numbers] = []
        self._n_changes = 0

    def copy(self) -> Self:
        """Return a table that holds the same and changes by itself."""
        twin = super().copy()
        vars(twin).update(_since=list(self._since))
        return twin

    def add(self, count: int, /, **values: int | Numbers) -> Numbers:
        """Write new rows: see `ColumnTable.add`."""
        rows = super().add(count, **values)
        self._since.append(rows)
        self._note_changes(count)
        return rows

    def free(self, rows: Numbers) -> None:
        """Give rows back: see `ColumnTable.free`."""
        super().free(rows)
        self._note_changes(len(rows))

    def pack(self) -> None:
        """Drop free rows where most are free: those in use move together, in their order.

        Whoever knows a row by its number must not need it any more.
        """
        self._forget_ends()
        used = self.used()
        if self.n <= 2 * len(used) + SPARE_ROWS:
            return
        self._rows, self._is_shared, self._free = self._rows[:, used], False, None
        self.n = len(used)
        for name in self.columns:
            self._stamps[name] += 1
        self._expose()

    def pairs(self, rows: Integers) -> Numbers:
        """Return the two numbers of each of the given rows, int64, shape (x, 2)."""
        return self._both(rows, np.empty((len(rows), 2), dtype=np.int64))

    def ends(self, rows: Integers) -> NDArray[np.int32]:
        """Return what `pairs` does, as it is kept: no keys may be made of it."""
        return self._both(rows, np.empty((len(rows), 2), dtype=np.int32))

    def _both(self, rows: Integers, out: NDArray[Whole]) -> NDArray[Whole]:
        for side in (0, 1):
            out[:, side] = self._rows[side, rows]
        return out

    def rows_of(self, pairs: Numbers) -> Numbers:
        """Return the row of each pair of numbers, shape (x, 2); -1 without one."""
        if not self.n:
            return np.full(len(pairs), FREE)
        wanted = np.where((pairs >= 0).all(axis=1), edge_keys(pairs), FREE)
        order = np.argsort(wanted)
        wanted = wanted[order]
        found = np.full(len(wanted), FREE)
        first = int(np.searchsorted(wanted, 0))
        for start in range(0, self.n if first < len(wanted) else 0, ROWS_AT_ONCE):
            rows = self._rows[:2, start : min(start + ROWS_AT_ONCE, self.n)]
            keys = edge_keys(rows.T)
            at = np.searchsorted(wanted, keys)
            np.minimum(at, len(wanted) - 1, out=at)
            there = np.flatnonzero((wanted[at] == keys) & (rows[0] != FREE))
            found[at[there]] = start + there
        # A pair that is asked for twice was found where it stands first.
        out = np.empty_like(found)
        out[order] = found[np.searchsorted(wanted, wanted)]
        return out

    def around(self, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return each pair of the given numbers: the number's position, the other, the row.

        By position, then by the other number.
        """
        found = []
        for ends, rows in self._indexes() if len(numbers) else ():
            first, last = (positions(ends, (numbers + more).astype(np.int32)) for more in (0, 1))
            lengths = last - first
            position = np.repeat(np.arange(len(numbers)), lengths)
            at = np.arange(len(position)) + (first - np.cumsum(lengths) + lengths)[position]
            of_pair = rows[at].astype(np.int64)
            number, pair = numbers[position], self.pairs(of_pair)
            is_there = (pair == number[:, np.newaxis]).any(axis=1)
            other = pair.sum(axis=1) - number
            found.append(np.stack((position, other, of_pair))[:, is_there])
        position, other, row = np.concatenate((np.zeros((3, 0), dtype=np.int64), *found), axis=1)
        # A row that was given back and taken again for the same number is found twice.
        order = np.lexsort((row, other, position))
        is_again = np.diff(np.stack((row, position))[:, order], prepend=FREE) == 0
        order = order[~is_again.all(axis=0)]
        return position[order], other[order], row[order]

    def rows_around(self, numbers: Numbers) -> Numbers:
        """Return the rows of all pairs of the given numbers, each once, ascending."""
        n_numbers = 1 + int(self._rows[1, : self.n].max(initial=FREE))
        if len(numbers) * LOOKED_UP < n_numbers:
            return distinct(self.around(numbers)[2])
        is_asked = np.zeros(n_numbers + 1, dtype=np.bool_)
        is_asked[numbers[numbers < n_numbers]] = True
        found = [np.zeros(0, dtype=np.int64)]
        for start in range(0, self.n, ROWS_AT_ONCE):
            # The last flag is that of a free row.
            first, second = self._rows[:2, start : min(start + ROWS_AT_ONCE, self.n)]
            found.append(start + np.flatnonzero(is_asked[first] | is_asked[second]))
        return np.concatenate(found)

    def _indexes(self) -> list[Ends]:
        """Return the ends of pairs and their rows: of most rows, and of those that came since."""
        if self._ends is None:
            self._forget_ends()
            self._ends = self._in_order(self.used())
        if not self._since:
            return [self._ends]
        since = distinct(np.concatenate(self._since))
        return [self._ends, self._in_order(since[self._rows[0, since] != FREE])]

    def _in_order(self, rows: Numbers) -> Ends:
        """Return both ends of the pairs in rows, ascending, and of which row each is."""
        ends = self._rows[:2, rows].reshape(-1)
        order = np.argsort(ends)
        ends = ends[order]
        return ends, rows.astype(np.int32)[np.remainder(order, max(len(rows), 1), out=order)]

    def _note_changes(self, count: int) -> None:
        self._n_changes += count
        if self._n_changes * SHARE > self.n:
            self._forget_ends()

    def _forget_ends(self) -> None:
        self._ends, self._since, self._n_changes = None, [], 0

    def _expose(self, first: int = 2) -> None:
        super()._expose(first)


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
    """Return pairs, shape (x, 2), with the smaller number first, in a sixth of `np.sort`'s time."""
    first, second = pairs[:, 0], pairs[:, 1]
    return np.column_stack((np.minimum(first, second), np.maximum(first, second)))


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each of some values, all at least 0, once, ascending."""
    ordered = np.sort(values, axis=None)
    once: NDArray[np.int64] = ordered[np.diff(ordered, prepend=-1) != 0]
    return once


def edge_ends(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ends of edges that `edge_keys` gave numbers, shape (m, 2)."""
    return np.column_stack((keys >> 32, keys & 0xFFFFFFFF))
