"""Every edge register in columns, with the adjacency of every vertex threaded through them.

    row r        one edge {low[r], high[r]}: its mark, and whether it is present
    half 2r      the edge seen from `low`, half 2r+1 the same from `high`
    heads[v] ──▶ half ──after──▶ half ──after──▶ -1        the halves of vertex v, any order

A freed row keeps its place, low = -1, until a new edge takes it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.state.registers import Mark

_UNLINKED: Final = array("i", (-1, -1))


class EdgeTable:
    """Edge registers by row; plain arrays, since single rows are read and written from Python."""

    def __init__(self) -> None:
        self.rows = EdgeRows()
        self.low = array("i")
        self.high = array("i")
        self.present = bytearray()
        self.origin = array("i")
        self.time = array("q")
        self.offset = array("q")
        self.heads = array("i")
        self._after = array("i")
        self._before = array("i")
        self._free: list[int] = []

    def reserve(self, vertex: int) -> None:
        """Make room for a vertex number."""
        lacking = vertex + 1 - len(self.heads)
        if lacking > 0:
            self.heads.extend(array("i", (-1,)) * lacking)

    def mark(self, row: int) -> Mark:
        """Return the stamp of a row."""
        return (self.time[row], self.origin[row], self.offset[row])

    def set(self, row: int, mark: Mark, present: bool) -> None:
        """Overwrite the register of a row."""
        self.time[row], self.origin[row], self.offset[row] = mark
        self.present[row] = present

    def add(self, key: int, mark: Mark, present: bool) -> int:
        """Add an edge that has no register yet and return its row."""
        low, high = key >> 32, key & 0xFFFFFFFF
        if self._free:
            row = self._free.pop()
            self.low[row], self.high[row] = low, high
            self.set(row, mark, present)
        else:
            row = len(self.low)
            self.low.append(low)
            self.high.append(high)
            self.time.append(mark[0])
            self.origin.append(mark[1])
            self.offset.append(mark[2])
            self.present.append(present)
            self._after.extend(_UNLINKED)
            self._before.extend(_UNLINKED)
        self.rows.add(key, row)
        heads, after, before = self.heads, self._after, self._before
        # Both halves become heads; written out, because every new edge passes here.
        half, head = 2 * row, heads[low]
        after[half], before[half], heads[low] = head, -1, half
        if head >= 0:
            before[head] = half
        half, head = half + 1, heads[high]
        after[half], before[half], heads[high] = head, -1, half
        if head >= 0:
            before[head] = half
        return row

    def remove(self, key: int) -> None:
        """Forget the register of an edge."""
        row = self.rows.remove(key)
        self._unlink(2 * row, self.low[row])
        self._unlink(2 * row + 1, self.high[row])
        self.low[row] = self.high[row] = -1
        self.present[row] = False
        self._free.append(row)

    def around(self, vertex: int) -> Iterator[tuple[int, int]]:
        """Yield (row, other end) of every edge register of a vertex; rows may be removed."""
        half = self.heads[vertex]
        while half >= 0:
            after = self._after[half]
            row = half >> 1
            yield row, (self.low[row] if half & 1 else self.high[row])
            half = after

    def is_alone(self, vertex: int) -> bool:
        """Whether no edge register hangs on a vertex."""
        return self.heads[vertex] < 0

    def load(
        self,
        ends: NDArray[np.int32],
        present: NDArray[np.uint8],
        origin: NDArray[np.int32],
        time: NDArray[np.int64],
        offset: NDArray[np.int64],
    ) -> None:
        """Fill an empty table; `ends` has shape (m, 2), the smaller number first."""
        assert not self.low
        self.low = _array("i", ends[:, 0])
        self.high = _array("i", ends[:, 1])
        self.present = bytearray(present.astype(np.uint8).tobytes())
        self.origin = _array("i", origin)
        self.time = _array("q", time)
        self.offset = _array("q", offset)
        keys = ends[:, 0].astype(np.int64) << 32 | ends[:, 1]
        self.rows.load(keys)
        self._thread(ends)

    def _thread(self, ends: NDArray[np.int32]) -> None:
        """Thread all halves at once: those of one vertex become neighbours in a sorted order."""
        rows = np.arange(len(ends), dtype=np.int32)
        # Stores list edges by their lower end, so that only the others have to be sorted.
        by_low = rows if (np.diff(ends[:, 0]) >= 0).all() else ends[:, 0].argsort(kind="stable")
        by_high = ends[:, 1].argsort(kind="stable")
        order = np.concatenate((2 * by_low, 2 * by_high + 1)).astype(np.int32)
        owner = np.concatenate((ends[by_low, 0], ends[by_high, 1]))
        after = np.full(len(order), -1, dtype=np.int32)
        before = np.full(len(order), -1, dtype=np.int32)
        same = owner[1:] == owner[:-1]
        if len(rows):
            same[len(rows) - 1] = False
        after[order[:-1][same]] = order[1:][same]
        before[order[1:][same]] = order[:-1][same]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = ~same
        is_last = np.ones(len(order), dtype=np.bool_)
        is_last[:-1] = ~same
        heads = column(self.heads)
        tails = np.full(len(heads), -1, dtype=np.int32)
        low, high = slice(None, len(rows)), slice(len(rows), None)
        heads[owner[high][is_first[high]]] = order[high][is_first[high]]
        tails[owner[low][is_last[low]]] = order[low][is_last[low]]
        both = np.flatnonzero((heads >= 0) & (tails >= 0))
        after[tails[both]] = heads[both]
        before[heads[both]] = tails[both]
        heads[owner[low][is_first[low]]] = order[low][is_first[low]]
        self._after, self._before = _array("i", after), _array("i", before)
        self.heads = _array("i", heads)

    def _unlink(self, half: int, vertex: int) -> None:
        after, before = self._after[half], self._before[half]
        if before < 0:
            self.heads[vertex] = after
        else:
            self._after[before] = after
        if after >= 0:
            self._before[after] = before


def column(values: array[int] | bytearray) -> NDArray[Any]:
    """Return a numpy copy of a resident column (uint8 for a bytearray)."""
    dtype = (
        np.uint8
        if isinstance(values, bytearray)
        else {"i": np.int32, "q": np.int64}[values.typecode]
    )
    # A view would pin the buffer: a column that is viewed cannot grow.
    return np.array(memoryview(values), dtype=dtype)


def _array(typecode: str, values: NDArray[np.signedinteger]) -> array[int]:
    out: array[int] = array(typecode)
    dtype = {"i": np.int32, "q": np.int64}[typecode]
    out.frombytes(np.ascontiguousarray(values, dtype=dtype).tobytes())
    return out


class EdgeRows(Mapping[int, int]):
    """Rows by edge key (`ktsafe.state.keys.edge_key`).

    What was loaded is a sorted array, the rest a dict. A dict of all takes some 100 bytes an edge,
    and is what a start would spend most of its time on.
    """

    def __init__(self) -> None:
        self._loaded = array("q")  # keys, ascending; the row of each is its position
        self._starts = array("i", (0,))  # where the keys of each lower end begin, and all end
        self._gone: set[int] = set()  # rows that have another edge now, or none
        self._later: dict[int, int] = {}

    def load(self, keys: NDArray[np.int64]) -> None:
        """Let edges have the rows of their positions; nothing may have been added yet."""
        assert not self
        if len(keys) and (np.diff(keys) > 0).all():
            low = (keys >> 32).astype(np.int64)
            n_edges = np.bincount(low).cumsum().astype(np.int32)
            self._loaded = array("q", np.ascontiguousarray(keys, dtype=np.int64).tobytes())
            self._starts = array("i", (0,)) + array("i", n_edges.tobytes())
        else:
            self._later = dict(zip(keys.tolist(), range(len(keys)), strict=True))

    def add(self, key: int, row: int) -> None:
        """Let an edge that has no row have this one."""
        self._later[key] = row

    def remove(self, key: int) -> int:
        """Forget an edge; return the row that it had.

        Raises
        ------
        KeyError
            If it has none.
        """
        row = self._later.pop(key, None)
        if row is None:
            row = self[key]
            self._gone.add(row)
        return row

    def __getitem__(self, key: int) -> int:
        row = self.find(key)
        if row is None:
            raise KeyError(key)
        return row

    def find(self, key: int) -> int | None:
        """Return the row of an edge, None if it has none."""
        row = self._later.get(key)
        if row is not None or not self._loaded:
            return row
        low = key >> 32
        if low + 1 >= len(self._starts):
            return None
        end = self._starts[low + 1]
        row = bisect_left(self._loaded, key, self._starts[low], end)
        if row == end or self._loaded[row] != key or row in self._gone:
            return None
        return row

    def __len__(self) -> int:
        return len(self._later) + len(self._loaded) - len(self._gone)

    def __iter__(self) -> Iterator[int]:
        yield from self._later
        for row, key in enumerate(self._loaded):
            if row not in self._gone:
                yield key
