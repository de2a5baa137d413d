"""Every edge register in columns, with the adjacency of every vertex.

    row r        one edge {low[r], high[r]}: its mark, and whether it is present

Rows that were loaded are in the order of their keys, so those of a vertex are neighbours, in that
order or in that of upper ends (`ktsafe.state.edge_rows`). Later ones are threaded, r being counted
from the first of them:

    half 2r      the edge seen from `low`, half 2r+1 the same from `high`
    heads[v] ──▶ half ──after──▶ half ──after──▶ -1        the later halves of v, any order

A freed row keeps its place, low = -1. A new edge takes it if it was a later one: a loaded row is
where it belongs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.state.edge_rows import EdgeRows, as_array, view
from ktsafe.state.keys import EDGE_VALUE_DTYPE
from ktsafe.state.registers import Mark


class EdgeChanges(NamedTuple):
    """Changes to edge registers in columns, each of shape (n,), in any order.

    `a` and `b` are the ends, then comes the stamp of each change, then 1 if the edge is present
    from then on, else 0.
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    time: NDArray[np.int64]
    origin: NDArray[np.int64]
    offset: NDArray[np.int64]
    present: NDArray[np.int64]


class Merged(NamedTuple):
    """What a merge altered: of each register its row, and whether its edge was present before."""

    keys: NDArray[np.int64]
    rows: NDArray[np.int64]
    was_present: NDArray[np.int64]
    is_present: NDArray[np.int64]


class EdgeTable:
    """Edge registers by row; plain arrays that grow, seen by numpy where many are altered."""

    def __init__(self) -> None:
        self.rows = EdgeRows()
        self.present = bytearray()
        self.origin = array("i")
        self.time = array("q")
        self.offset = array("q")
        self._heads = array("i")
        self._after = array("i")
        self._before = array("i")
        self._free: list[int] = []

    @property
    def low(self) -> array[int]:
        """The smaller end by row, -1 where there is no edge."""
        return self.rows.low

    @property
    def high(self) -> array[int]:
        """The other end by row."""
        return self.rows.high

    def reserve(self, vertex: int) -> None:
        """Make room for a vertex number."""
        lacking = vertex + 1 - len(self._heads)
        if lacking > 0:
            self._heads.extend(array("i", (-1,)) * lacking)

    def mark(self, row: int) -> Mark:
        """Return the stamp of a row."""
        return (self.time[row], self.origin[row], self.offset[row])

    def merge(self, changes: EdgeChanges, rank: NDArray[np.int64]) -> Merged:
        """Merge changes by maximum stamp; the `rank` of an origin is its place in their order."""
        a, b, time, origin, offset, present = changes
        keys = np.minimum(a, b) << 32 | np.maximum(a, b)
        order = keys.argsort(kind="stable")
        is_last = _is_last(keys[order])
        if not is_last.all():
            # Of several changes to one edge the last one counts; few edges have several.
            is_one = is_last.copy()
            is_one[1:] &= is_last[:-1]
            some = order[~is_one]
            by_stamp = np.lexsort((offset[some], rank[origin[some]], time[some], keys[some]))
            order[~is_one] = some[by_stamp]
            order = order[is_last]
        keys = keys[order]
        rows = self.rows.find(keys)
        is_new = rows < 0
        was_present = np.zeros(len(keys), dtype=np.int64)
        if not is_new.all():
            known = rows[~is_new]
            was_present[~is_new] = view(self.present)[known]
            is_later = is_new.copy()
            is_later[~is_new] = self._are_later(changes, order[~is_new], known, rank)
        rows[is_new] = self._add(keys[is_new])
        if not is_new.all():
            keys, rows, order = keys[is_later], rows[is_later], order[is_later]
            was_present = was_present[is_later]
        is_present = present[order]
        view(self.time)[rows] = time[order]
        view(self.origin)[rows] = origin[order]
        view(self.offset)[rows] = offset[order]
        view(self.present)[rows] = is_present
        return Merged(keys, rows, was_present, is_present)

    def stored(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the registers of rows as they are stored (`ktsafe.state.keys`)."""
        values = np.empty(len(rows), dtype=EDGE_VALUE_DTYPE)
        for name in ("present", "origin", "time", "offset"):
            values[name] = view(getattr(self, name))[rows]
        return values

    def remove(self, row: int) -> None:
        """Forget the register of the edge in this row."""
        low, high = self.low[row], self.high[row]
        if not self.rows.remove(row):
            half = 2 * (row - self.rows.n_loaded)
            self._unlink(half, low)
            self._unlink(half + 1, high)
            self._free.append(row)
        self.present[row] = False

    def around(self, vertex: int) -> Iterator[tuple[int, int]]:
        """Yield (row, other end) of every edge register of a vertex; rows may be removed."""
        for row in self.rows.loaded_around(vertex):
            low = self.low[row]
            yield row, (self.high[row] if low == vertex else low)
        half = self._heads[vertex]
        while half >= 0:
            after = self._after[half]
            row = self.rows.n_loaded + (half >> 1)
            yield row, (self.low[row] if half & 1 else self.high[row])
            half = after

    def is_alone(self, vertex: int) -> bool:
        """Whether no edge register hangs on a vertex."""
        return self._heads[vertex] < 0 and not self.rows.n_loaded_around(vertex)

    def load(
        self,
        keys: NDArray[np.int64],
        present: NDArray[np.uint8],
        origin: NDArray[np.int32],
        time: NDArray[np.int64],
        offset: NDArray[np.int64],
    ) -> None:
        """Fill an empty table with edges, each of shape (m,).

        Raises
        ------
        ValueError
            If the keys do not ascend.
        """
        assert not self.low
        self.rows.load(keys, len(self._heads))
        self.present = bytearray(present.astype(np.uint8).tobytes())
        self.origin = as_array("i", origin)
        self.time = as_array("q", time)
        self.offset = as_array("q", offset)

    def _are_later(
        self,
        changes: EdgeChanges,
        order: NDArray[np.int64],
        rows: NDArray[np.int64],
        rank: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return which changes have a greater stamp than the rows beside them."""
        time, than = changes.time[order], view(self.time)[rows]
        origin, than_origin = rank[changes.origin[order]], rank[view(self.origin)[rows]]
        later: NDArray[np.bool_] = changes.offset[order] > view(self.offset)[rows]
        later = np.where(origin == than_origin, later, origin > than_origin)
        return np.where(time == than, later, time > than)

    def _add(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give edges that have no register a row each, and thread them."""
        n_edges, n_rows = len(keys), len(self.low)
        again = self._free[len(self._free) - min(len(self._free), n_edges) :]
        n_more = n_edges - len(again)
        rows = np.arange(n_rows - len(again), n_rows + n_more)
        if again:
            del self._free[-len(again) :]
            rows[: len(again)] = again
        for each in (self.low, self.high, self.origin, self.time, self.offset):
            each.frombytes(bytes(each.itemsize * n_more))
        for each in (self._after, self._before):
            each.frombytes(bytes(2 * each.itemsize * n_more))
        self.present.extend(bytes(n_more))
        self.rows.add(keys, rows)
        half = 2 * (rows - self.rows.n_loaded)
        ends = np.concatenate((keys >> 32, keys & 0xFFFFFFFF))
        self._link(np.concatenate((half, half + 1)), ends)
        return rows

    def _link(self, halves: NDArray[np.int64], owners: NDArray[np.int64]) -> None:
        """Thread new halves, those of one vertex one after the other, before its older ones."""
        order = owners.argsort(kind="stable")
        halves, owners = halves[order], owners[order]
        heads, after, before = view(self._heads), view(self._after), view(self._before)
        is_last = _is_last(owners)
        ends, middle = np.flatnonzero(is_last), np.flatnonzero(~is_last)
        older = heads[owners[ends]]
        heads[owners[::-1]] = halves[::-1]  # Of several the first one stays.
        before[halves] = -1
        after[halves[ends]] = older
        before[older[older >= 0]] = halves[ends[older >= 0]]
        after[halves[middle]] = halves[middle + 1]
        before[halves[middle + 1]] = halves[middle]

    def _unlink(self, half: int, vertex: int) -> None:
        after, before = self._after[half], self._before[half]
        if before < 0:
            self._heads[vertex] = after
        else:
            self._after[before] = after
        if after >= 0:
            self._before[after] = before


def _is_last(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where sorted values differ from the next one."""
    is_last = np.ones(len(values), dtype=np.bool_)
    is_last[:-1] = values[1:] != values[:-1]
    return is_last
