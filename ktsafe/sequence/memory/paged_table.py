"""Tables of numbered rows that grow, can be undone, and are saved page by page."""

from __future__ import annotations

import heapq
from typing import ClassVar, overload

import numpy as np
from numpy.typing import NDArray

ROWS_PER_PAGE = 1024
FREE = -1
"""First column of a row that is not in use."""
NOBODY = NEVER = FREE
"""A free row must read as nobody's and as never."""


Numbers = set[int]


class Column:
    """One column of a table: `column[row]` is a number, `column[rows]` an array of a copy."""

    __slots__ = ("_number", "_table")

    def __init__(self, table: PagedTable, number: int) -> None:
        self._table = table
        self._number = number

    @overload
    def __getitem__(self, rows: int) -> int: ...
    @overload
    def __getitem__(self, rows: NDArray[np.int64] | list[int] | slice) -> NDArray[np.int64]: ...
    def __getitem__(self, rows: int | NDArray[np.int64] | list[int] | slice) -> object:
        if isinstance(rows, int):
            return self._table.get(rows, self._number)
        numbers = self._table.rows[rows, self._number]
        return numbers.copy() if isinstance(rows, slice) else numbers

    def __setitem__(
        self, rows: int | NDArray[np.int64] | list[int], value: int | NDArray[np.int64]
    ) -> None:
        self._table.set(rows, self._number, value)


class PagedTable:
    """Rows of int64; a row is free where its first column is -1.

    A table is a subclass whose annotations are its columns, in their order. Every write is
    journaled, so that `undo` restores the table as of the last `commit`, and marks its page, so
    that only changed pages need saving. A new row takes the least free number: what a table does
    next depends on its rows alone.

    Attributes
    ----------
    name:
        Prefix of the page names.
    columns:
        The columns by number.
    reuses:
        Whether rows that were given back are taken again.
    later:
        The last columns, as far as pages of an older version lack them, and what each row of such
        pages holds there.
    """

    name: ClassVar[str]
    reuses: ClassVar[bool] = True
    later: ClassVar[tuple[tuple[str, int], ...]] = ()

    def __init__(self) -> None:
        self._names = tuple(type(self).__annotations__)
        self.columns = tuple(Column(self, number) for number in range(len(self._names)))
        for name, column in zip(self._names, self.columns, strict=True):
            setattr(self, name, column)
        self.n = 0
        self.dirty: Numbers = set()
        self._rows = np.full((ROWS_PER_PAGE, len(self.columns)), FREE, dtype=np.int64)
        self._free: list[int] = []
        self._journal: list[tuple[int | NDArray[np.int64], NDArray[np.int64]]] = []
        self._n_committed = 0

    @property
    def rows(self) -> NDArray[np.int64]:
        """All rows, free ones included, shape (n, columns); read only by custom."""
        return self._rows[: self.n]

    def index(self) -> None:
        """Derive the indexes of a subclass from its rows."""

    def used(self) -> NDArray[np.int64]:
        """Return the numbers of the rows in use, ascending."""
        return np.flatnonzero(self.rows[:, 0] != FREE)

    def add(self, **values: int) -> int:
        """Write a new row, given by all its columns; return its number."""
        if self._free:
            row = heapq.heappop(self._free)
        else:
            row = self.n
            self._reserve(row + 1)
            self.n += 1
        assert len(values) == len(self._names)
        self._note(row)
        self._rows[row] = [values[name] for name in self._names]
        return row

    def add_many(self, count: int, **values: int | NDArray[np.int64]) -> NDArray[np.int64]:
        """Write new rows, as `add` would one by one; each column is a number or one for each row.

        Returns their numbers, ascending.
        """
        assert len(values) == len(self._names)
        n_again = min(count, len(self._free)) if self.reuses else 0
        again = [heapq.heappop(self._free) for _ in range(n_again)]
        first = self.n
        self._reserve(first + count - n_again)
        self.n += count - n_again
        rows = np.concatenate((np.array(again, dtype=np.int64), np.arange(first, self.n)))
        self._note_many(rows)
        for number, name in enumerate(self._names):
            self._rows[rows, number] = values[name]
        return rows

    def get(self, row: int, column: int) -> int:
        """Return one number."""
        number: int = self._rows.item(row, column)
        return number

    def set(
        self,
        rows: int | NDArray[np.int64] | list[int],
        column: int,
        value: int | NDArray[np.int64],
    ) -> None:
        """Overwrite one number of a row in use, or of each of several."""
        if isinstance(rows, int):
            self._note(rows)
        else:
            self._note_many(np.asarray(rows, dtype=np.int64))
        self._rows[rows, column] = value

    def free(self, row: int) -> None:
        """Give a row back; nothing of what it held remains."""
        self._note(row)
        self._rows[row] = FREE
        heapq.heappush(self._free, row)

    def free_many(self, rows: NDArray[np.int64]) -> None:
        """Give rows back."""
        self._note_many(rows)
        self._rows[rows] = FREE
        for row in rows.tolist():
            heapq.heappush(self._free, row)

    def commit(self) -> None:
        """Make everything since the last commit permanent."""
        self._journal.clear()
        self._n_committed = self.n

    def undo(self) -> None:
        """Restore the rows as of the last commit."""
        for row, before in reversed(self._journal):
            self._rows[row] = before
        self._journal.clear()
        self._rows[self._n_committed : self.n] = FREE
        self.n = self._n_committed
        self._collect_free()

    def pages(self, numbers: Numbers | None = None) -> dict[str, bytes]:
        """Return the given pages, or all, by name."""
        everything = range(-(-self.n // ROWS_PER_PAGE))
        wanted = everything if numbers is None else sorted(numbers & set(everything))
        return {
            f"{self.name}/{page:06d}": self._rows[
                page * ROWS_PER_PAGE : min((page + 1) * ROWS_PER_PAGE, self.n)
            ].tobytes()
            for page in wanted
        }

    def load(self, pages: list[bytes], *, are_older: bool = False) -> None:
        """Replace everything by what `pages` returned, in order.

        Parameters
        ----------
        pages:
            The pages.
        are_older:
            Whether they lack the columns that came `later`; then all of them count as changed.

        Raises
        ------
        ValueError
            If a page is no whole number of rows.
        """
        later = self.later if are_older else ()
        width = len(self.columns) - len(later)
        rows = np.frombuffer(b"".join(pages), dtype=np.int64).reshape(-1, width)
        self.n = 0
        self._reserve(len(rows))
        self._rows[: len(rows), :width] = rows
        is_used = rows[:, 0] != FREE
        for number, (_, value) in enumerate(later, width):
            self._rows[: len(rows), number] = np.where(is_used, value, FREE)
        self.n = self._n_committed = len(rows)
        self._journal.clear()
        self.dirty = set(range(len(pages))) if later else set()
        self._collect_free()

    def _collect_free(self) -> None:
        # Ascending, hence a heap.
        self._free = np.flatnonzero(self.rows[:, 0] == FREE).tolist()

    def _note(self, row: int) -> None:
        if row < self._n_committed:
            self._journal.append((row, self._rows[row].copy()))
        self.dirty.add(row // ROWS_PER_PAGE)

    def _note_many(self, rows: NDArray[np.int64]) -> None:
        before = rows[rows < self._n_committed]
        if len(before):
            self._journal.append((before, self._rows[before]))
        self.dirty.update(np.flatnonzero(np.bincount(rows // ROWS_PER_PAGE)).tolist())

    def _reserve(self, rows: int) -> None:
        if rows > len(self._rows):
            grown = np.full((2 * rows, len(self.columns)), FREE, dtype=np.int64)
            grown[: self.n] = self._rows[: self.n]
            self._rows = grown


class PairTable(PagedTable):
    """Pairs of numbers in the first two columns."""

    def pair(self, row: int) -> tuple[int, int]:
        """Return the two numbers of a row."""
        return self.columns[0][row], self.columns[1][row]

    def pairs(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the two numbers of each of the given rows, int64, shape (x, 2)."""
        pairs: NDArray[np.int64] = self.rows.take(rows, axis=0)[:, :2]
        return pairs
