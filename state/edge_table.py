"""Every edge register in columns, with the adjacency of every vertex.

    row r        one edge {low[r], high[r]}: its mark, and whether it is present

Rows that were loaded are in the order of their keys, so those of a vertex are neighbours, in that
order or in that of upper ends (`EdgeRows`). Later ones are threaded, r being counted from the first
of them:

    half 2r      the edge seen from `low`, half 2r+1 the same from `high`
    heads[v] ──▶ half ──after──▶ half ──after──▶ -1        the later halves of v, any order

A freed row keeps its place, low = -1. A new edge takes it if it was a later one: a loaded row is
where it belongs.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.state.keys import EDGE_VALUE_DTYPE
from ktsafe.state.registers import Mark

_DTYPES: Final = {"i": np.int32, "q": np.int64}


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
        self.low = array("i")
        self.high = array("i")
        self.present = bytearray()
        self.origin = array("i")
        self.time = array("q")
        self.offset = array("q")
        self._heads = array("i")
        self._after = array("i")
        self._before = array("i")
        self._free: list[int] = []
        self._n_loaded = 0

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
        order = np.lexsort((offset, rank[origin], time, keys))
        # Of several changes to one edge the last one counts.
        order = order[_is_last(keys[order])]
        keys = keys[order]
        rows = self.rows.find(keys)
        is_new = rows < 0
        was_present = np.zeros(len(keys), dtype=np.int64)
        if not is_new.all():
            known = rows[~is_new]
            was_present[~is_new] = _view(self.present)[known]
            is_later = is_new.copy()
            is_later[~is_new] = self._are_later(changes, order[~is_new], known, rank)
        rows[is_new] = self._add(keys[is_new])
        if not is_new.all():
            keys, rows, order = keys[is_later], rows[is_later], order[is_later]
            was_present = was_present[is_later]
        is_present = present[order]
        _view(self.time)[rows] = time[order]
        _view(self.origin)[rows] = origin[order]
        _view(self.offset)[rows] = offset[order]
        _view(self.present)[rows] = is_present
        return Merged(keys, rows, was_present, is_present)

    def stored(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the registers of rows as they are stored (`ktsafe.state.keys`)."""
        values = np.empty(len(rows), dtype=EDGE_VALUE_DTYPE)
        for name in ("present", "origin", "time", "offset"):
            values[name] = _view(getattr(self, name))[rows]
        return values

    def remove(self, key: int, row: int) -> None:
        """Forget the register of an edge, which is in this row."""
        if not self.rows.remove(key, row):
            half = 2 * (row - self._n_loaded)
            self._unlink(half, self.low[row])
            self._unlink(half + 1, self.high[row])
            self._free.append(row)
        self.low[row] = self.high[row] = -1
        self.present[row] = False

    def around(self, vertex: int) -> Iterator[tuple[int, int]]:
        """Yield (row, other end) of every edge register of a vertex; rows may be removed."""
        for row in self.rows.loaded_around(vertex):
            low = self.low[row]
            yield row, (self.high[row] if low == vertex else low)
        half = self._heads[vertex]
        while half >= 0:
            after = self._after[half]
            row = self._n_loaded + (half >> 1)
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
        self.low = _array("i", keys >> 32)
        self.high = _array("i", keys & 0xFFFFFFFF)
        self.present = bytearray(present.astype(np.uint8).tobytes())
        self.origin = _array("i", origin)
        self.time = _array("q", time)
        self.offset = _array("q", offset)
        self._n_loaded = len(keys)

    def _are_later(
        self,
        changes: EdgeChanges,
        order: NDArray[np.int64],
        rows: NDArray[np.int64],
        rank: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return which changes have a greater stamp than the rows beside them."""
        time, than = changes.time[order], _view(self.time)[rows]
        origin, than_origin = rank[changes.origin[order]], rank[_view(self.origin)[rows]]
        later: NDArray[np.bool_] = changes.offset[order] > _view(self.offset)[rows]
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
        low, high = keys >> 32, keys & 0xFFFFFFFF
        _view(self.low)[rows], _view(self.high)[rows] = low, high
        self.rows.add(keys, rows)
        half = 2 * (rows - self._n_loaded)
        self._link(np.concatenate((half, half + 1)), np.concatenate((low, high)))
        return rows

    def _link(self, halves: NDArray[np.int64], owners: NDArray[np.int64]) -> None:
        """Thread new halves, those of one vertex one after the other, before its older ones."""
        order = owners.argsort(kind="stable")
        halves, owners = halves[order], owners[order]
        heads, after, before = _view(self._heads), _view(self._after), _view(self._before)
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


class EdgeRows(Mapping[int, int]):
    """Rows by edge key (`ktsafe.state.keys.edge_key`), and by vertex those that were loaded."""

    def __init__(self) -> None:
        self._high = array("i")  # upper ends of those that were loaded, in the order of their keys
        self._low_starts = array("i")  # by vertex, where rows with this lower end begin
        self._by_high: array[int] | None = None  # the same rows, ascending by the upper end
        self._high_starts = array("i")  # by vertex, where those with this upper end begin in it
        self._n_around = array("i")  # by vertex, how many of them are left
        self._gone: set[int] = set()  # loaded rows that have no edge any more
        self._later: dict[int, int] = {}

    def load(self, keys: NDArray[np.int64], n_vertices: int) -> None:
        """Let edges have the rows of their positions; nothing may have been added yet.

        Raises
        ------
        ValueError
            If the keys do not ascend.
        """
        assert not self
        if (keys[1:] <= keys[:-1]).any():
            raise ValueError("edges do not ascend")
        n_low = np.bincount(keys >> 32, minlength=n_vertices)
        n_high = np.bincount(keys & 0xFFFFFFFF, minlength=n_vertices)
        self._high = _array("i", keys & 0xFFFFFFFF)
        self._low_starts = _array("i", np.concatenate(([0], n_low.cumsum())))
        self._high_starts = _array("i", np.concatenate(([0], n_high.cumsum())))
        self._n_around = _array("i", n_low + n_high)

    def n_loaded_around(self, vertex: int) -> int:
        """Return how many of the edges of a vertex that were loaded are left."""
        return self._n_around[vertex] if vertex < len(self._n_around) else 0

    def loaded_around(self, vertex: int) -> Iterator[int]:
        """Yield their rows; edges may be removed meanwhile."""
        if not self.n_loaded_around(vertex):
            return
        if self._by_high is None:  # Nobody came or went so far, as in a start.
            self._by_high = _array("i", _sorted_order(_view(self._high).astype(np.uint32)))
        low, high = self._low_starts, self._high_starts
        upper = self._by_high[high[vertex] : high[vertex + 1]]
        for row in itertools.chain(range(low[vertex], low[vertex + 1]), upper):
            if row not in self._gone:
                yield row

    def add(self, keys: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Let edges that have no row have these."""
        self._later.update(zip(keys.tolist(), rows.tolist(), strict=True))

    def remove(self, key: int, row: int) -> bool:
        """Forget an edge that has this row; return whether it was loaded."""
        if self._later.pop(key, None) is not None:
            return False
        self._gone.add(row)
        self._n_around[key >> 32] -= 1
        self._n_around[key & 0xFFFFFFFF] -= 1
        return True

    def __getitem__(self, key: int) -> int:
        row = int(self.find(np.array([key]))[0])
        if row < 0:
            raise KeyError(key)
        return row

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of edges, int64, -1 for those that have none."""
        later = map(self._later.get, keys.tolist(), itertools.repeat(-1))
        rows = np.fromiter(later, dtype=np.int64, count=len(keys))
        asked = np.flatnonzero((rows < 0) & (keys >> 32 < len(self._low_starts) - 1))
        if len(self._high) and len(asked):
            places, is_there = self._find_loaded(keys[asked])
            found = [-1 if row in self._gone else row for row in places[is_there].tolist()]
            rows[asked[is_there]] = found
        return rows

    def _find_loaded(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return where edges would stand among those that were loaded, and which are there."""
        starts, high = _view(self._low_starts), _view(self._high)
        low, wanted = keys >> 32, keys & 0xFFFFFFFF
        first, stop = starts[low].astype(np.int64), starts[low + 1].astype(np.int64)
        end = stop.copy()
        # All are halved at once, as often as the longest one needs.
        for _ in range(int((stop - first).max()).bit_length()):
            middle = (first + stop) >> 1
            is_below = (middle < stop) & (high[np.minimum(middle, len(high) - 1)] < wanted)
            first = np.where(is_below, middle + 1, first)
            stop = np.where(is_below, stop, middle)
        at = np.minimum(first, len(high) - 1)
        return at, (first < end) & (high[at] == wanted)

    def __len__(self) -> int:
        return len(self._later) + len(self._high) - len(self._gone)

    def __iter__(self) -> Iterator[int]:
        yield from self._later
        for low, (first, stop) in enumerate(itertools.pairwise(self._low_starts)):
            for row in range(first, stop):
                if row not in self._gone:
                    yield low << 32 | self._high[row]


def _sorted_order(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the stable order of values, by their halves: numpy counts those of 16 bits."""
    order = values.astype(np.uint16).argsort(kind="stable")
    return order[(values >> 16).astype(np.uint16)[order].argsort(kind="stable")]


def _is_last(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where sorted values differ from the next one."""
    is_last = np.ones(len(values), dtype=np.bool_)
    is_last[:-1] = values[1:] != values[:-1]
    return is_last


def _view(values: array[int] | bytearray) -> NDArray[Any]:
    """Return a column as a numpy array; it cannot grow before that is let go of."""
    dtype = np.uint8 if isinstance(values, bytearray) else _DTYPES[values.typecode]
    return np.frombuffer(values, dtype=dtype)


def column(values: array[int] | bytearray) -> NDArray[Any]:
    """Return a numpy copy of a resident column (uint8 for a bytearray)."""
    return _view(values).copy()


def _array(typecode: str, values: NDArray[np.signedinteger]) -> array[int]:
    out: array[int] = array(typecode)
    out.frombytes(np.ascontiguousarray(values, dtype=_DTYPES[typecode]).view(np.uint8))  # type: ignore[arg-type]
    return out
