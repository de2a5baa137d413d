"""Who is paired with whom in a table, and which pairs lie between which classes; derived."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence.memory.current import Tie
from ktsafe.sequence.memory.paged_table import FREE, PairTable
from ktsafe.sequence.memory.sorted_numbers import ascending, distinct, positions

Numbers: TypeAlias = NDArray[np.int64]

SHARE = 100
"""From a hundredth of the table's rows on, it is cheaper to derive everything anew."""

_LOW = 2**32 - 1


class Neighbours(dict[int, dict[int, int]]):
    """For each number those it is paired with, and the row of the pair.

    A number that is asked for alone has a dict from then on, which additions and removals change.
    Behind that stands one array of all pairs, in both directions, sorted: derived when it is first
    needed, and forgotten when much is added. It may have pairs that are gone, since a row says
    itself which pair it holds; of numbers without a dict it lacks none.
    """

    def __init__(self, table: PairTable) -> None:
        super().__init__()
        self._table = table
        self._known: tuple[Numbers, Numbers] | None = None

    def __missing__(self, number: int) -> dict[int, int]:
        self._fetch(np.array([number], dtype=np.int64))
        return self[number]

    def enter(self, rows: Numbers) -> None:
        """Note rows that were added."""
        if self._known is None and not self:
            return
        if len(rows) * SHARE > self._table.n:
            self.clear()
            self._known = None
            return
        pairs = self._table.pairs(rows)
        self._fetch(pairs.reshape(-1))
        for row, (u, v) in zip(rows.tolist(), pairs.tolist(), strict=True):
            self[u][v] = self[v][u] = row

    def leave(self, pairs: Numbers) -> None:
        """Note pairs that are removed."""
        if self:
            for u, v in pairs.tolist():
                for one, other in ((u, v), (v, u)):
                    if one in self:
                        del self[one][other]

    def rows_of(self, pairs: Numbers) -> Numbers:
        """Return the row of each pair of numbers, shape (x, 2); -1 without one."""
        keys, rows = self._derived()
        wanted = pairs[:, 0] << 32 | pairs[:, 1]
        at = positions(keys, wanted)
        row = rows[at]
        is_there = (keys[at] == wanted) & (pairs >= 0).all(axis=1)
        is_there[is_there] = self._hold(row[is_there], pairs[is_there])
        found = np.where(is_there, row, FREE)
        for i in np.flatnonzero(self._have_dicts(pairs[:, 0])).tolist():
            u, v = pairs[i].tolist()
            found[i] = self[u].get(v, FREE)
        return found

    def around(self, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return each pair of the given numbers: the number's position, the other, the row.

        Their order says nothing.
        """
        apart = self._have_dicts(numbers)
        position, others, rows = self._gathered(numbers[~apart])
        at = np.flatnonzero(apart)
        dicts = [self[number] for number in numbers[at].tolist()]
        flat = [(other, row) for pairs in dicts for other, row in pairs.items()]
        more = np.array(flat, dtype=np.int64).reshape(-1, 2)
        return (
            np.append(np.flatnonzero(~apart)[position], np.repeat(at, [len(d) for d in dicts])),
            np.append(others, more[:, 0]),
            np.append(rows, more[:, 1]),
        )

    def _fetch(self, numbers: Numbers) -> None:
        """Give numbers their dicts."""
        new = distinct(numbers[~self._have_dicts(numbers)])
        position, others, rows = self._gathered(new)
        ends = np.cumsum(np.bincount(position, minlength=len(new))).tolist()
        pairs = list(zip(others.tolist(), rows.tolist(), strict=True))
        for number, first, last in zip(new.tolist(), [0, *ends], ends, strict=False):
            self[number] = dict(pairs[first:last])

    def _have_dicts(self, numbers: Numbers) -> NDArray[np.bool_]:
        if not self:
            return np.zeros(len(numbers), dtype=np.bool_)
        return np.array([number in self for number in numbers.tolist()], dtype=np.bool_)

    def _derived(self) -> tuple[Numbers, Numbers]:
        if self._known is None:
            used = self._table.used()
            first, second = self._table.pairs(used).T
            keys = np.concatenate((first << 32 | second, second << 32 | first))
            order = np.argsort(keys)
            # What is greater than all keys stands at the end.
            keys = np.append(keys[order], np.iinfo(np.int64).max)
            self._known = keys, np.append(np.concatenate((used, used))[order], FREE)
        return self._known

    def _gathered(self, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return what `around` does, from the array."""
        keys, rows = self._derived()
        first, last = (positions(keys, (numbers + more) << 32) for more in (0, 1))
        lengths = last - first
        position = np.repeat(np.arange(len(numbers)), lengths)
        at = np.arange(len(position)) + (first - np.cumsum(lengths) + lengths)[position]
        others, found = keys[at] & _LOW, rows[at]
        is_there = self._hold(found, np.column_stack((numbers[position], others)))
        return position[is_there], others[is_there], found[is_there]

    def _hold(self, rows: Numbers, pairs: Numbers) -> NDArray[np.bool_]:
        """Return which rows hold these pairs, in either direction."""
        held: NDArray[np.bool_] = (self._table.pairs(rows) == ascending(pairs)).all(axis=1)
        return held


def by_classes(classes: Numbers, rows: Numbers) -> Iterator[tuple[Tie, list[int]]]:
    """Yield the rows of each pair of classes, given for each row: shape (x, 2); none for -1."""
    is_named = classes[:, 0] >= 0
    classes, rows = classes[is_named], rows[is_named]
    if not len(rows):
        return
    keys = classes[:, 0] << 32 | classes[:, 1]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    pairs = map(tuple, classes[order[starts]].tolist())
    parts = np.split(rows[order], starts[1:])
    yield from zip(pairs, (part.tolist() for part in parts), strict=True)
