"""Which edge is in which row, by its key and by its ends, in arrays that are searched together."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_DTYPES: Final = {"i": np.int32, "q": np.int64}
_LARGER: Final = 4
"""A run that is not so many times as long as the one after it is merged with it."""


class EdgeRows(Mapping[int, int]):
    """Rows by edge key (`ktsafe.state.keys.edge_key`), and by vertex those that were loaded.

    Keys that came later are a log-structured merge tree in memory: ascending runs, each several
    times as long as the next. What is removed stays in them until they are merged: a row is an
    edge's if its ends are there.

    Attributes
    ----------
    low, high:
        The ends by row, -1 where there is no edge. They grow by whoever keeps more columns.
    """

    def __init__(self) -> None:
        self.low = array("i")
        self.high = array("i")
        self._n_edges = 0
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []  # keys, rows
        self._loaded_high = array("i")  # of those that were loaded, in the order of their keys
        self._low_starts = array("i")  # by vertex, where rows with this lower end begin
        self._by_high: array[int] | None = None  # the same rows, ascending by the upper end
        self._high_starts = array("i")  # by vertex, where those with this upper end begin in it
        self._n_around = array("i")  # by vertex, how many of them are left

    @property
    def n_loaded(self) -> int:
        """How many rows were loaded, the first ones; each belongs to its edge for ever."""
        return len(self._loaded_high)

    def load(self, keys: NDArray[np.int64], n_vertices: int) -> None:
        """Let edges have the rows of their positions; nothing may have been added yet.

        Raises
        ------
        ValueError
            If the keys do not ascend.
        """
        assert not self.low
        if (keys[1:] <= keys[:-1]).any():
            raise ValueError("edges do not ascend")
        low, high = keys >> 32, keys & 0xFFFFFFFF
        n_low, n_high = (np.bincount(each, minlength=n_vertices) for each in (low, high))
        self.low, self.high, self._loaded_high = (as_array("i", each) for each in (low, high, high))
        self._low_starts = as_array("i", np.concatenate(([0], n_low.cumsum())))
        self._high_starts = as_array("i", np.concatenate(([0], n_high.cumsum())))
        self._n_around = as_array("i", n_low + n_high)
        self._n_edges = len(keys)

    def n_loaded_around(self, vertex: int) -> int:
        """Return how many of the edges of a vertex that were loaded are left."""
        return self._n_around[vertex] if vertex < len(self._n_around) else 0

    def loaded_around(self, vertex: int) -> Iterator[int]:
        """Yield their rows; edges may be removed meanwhile."""
        if not self.n_loaded_around(vertex):
            return
        if self._by_high is None:  # Nobody came or went so far, as in a start.
            self._by_high = as_array("i", _sorted_order(view(self._loaded_high).astype(np.uint32)))
        low, high = self._low_starts, self._high_starts
        upper = self._by_high[high[vertex] : high[vertex + 1]]
        for row in itertools.chain(range(low[vertex], low[vertex + 1]), upper):
            if self.low[row] >= 0:
                yield row

    def add(self, keys: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Let edges, ascending, that have no row have these, which are there and free."""
        view(self.low)[rows], view(self.high)[rows] = keys >> 32, keys & 0xFFFFFFFF
        self._n_edges += len(keys)
        new_rows = rows.astype(np.int32)
        if not len(keys):
            return
        while self._runs and len(self._runs[-1][0]) < _LARGER * len(keys):
            older, older_rows = self._runs.pop()
            at = older.searchsorted(keys)
            # An edge that was removed and is added has the new row only.
            is_kept = self._are_in(older, older_rows)
            is_kept[at[older.take(at, mode="clip") == keys]] = False
            if not is_kept.all():
                older, older_rows = older[is_kept], older_rows[is_kept]
                at = older.searchsorted(keys)
            keys, new_rows = np.insert(older, at, keys), np.insert(older_rows, at, new_rows)
        self._runs.append((keys, new_rows))

    def remove(self, row: int) -> bool:
        """Forget the edge in a row; return whether it was loaded."""
        low, high = self.low[row], self.high[row]
        self.low[row] = self.high[row] = -1
        self._n_edges -= 1
        if row >= self.n_loaded:
            return False
        self._n_around[low] -= 1
        self._n_around[high] -= 1
        return True

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of edges, int64, -1 for none; ascending keys are found quicker."""
        found = np.full(len(keys), -1, dtype=np.int64)
        for run, rows in self._runs:
            at = run.searchsorted(keys)
            here = np.flatnonzero(run.take(at, mode="clip") == keys)
            self._note(found, here, keys, rows[at[here]])
        asked = np.flatnonzero((found < 0) & (keys >> 32 < len(self._low_starts) - 1))
        if self._loaded_high and len(asked):
            places, is_there = self._find_loaded(keys[asked])
            self._note(found, asked[is_there], keys, places[is_there])
        return found

    def _note(
        self,
        found: NDArray[np.int64],
        at: NDArray[np.int64],
        keys: NDArray[np.int64],
        rows: NDArray[np.signedinteger],
    ) -> None:
        """Enter the rows of the keys at these places, where they are there still."""
        is_in = self._are_in(keys[at], rows)
        found[at[is_in]] = rows[is_in]

    def _are_in(
        self, keys: NDArray[np.int64], rows: NDArray[np.signedinteger]
    ) -> NDArray[np.bool_]:
        """Return which edges are in these rows."""
        is_in: NDArray[np.bool_] = view(self.low)[rows] == keys >> 32
        is_in &= view(self.high)[rows] == keys & 0xFFFFFFFF
        return is_in

    def _find_loaded(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return where edges would stand among those that were loaded, and which are there."""
        starts, high = view(self._low_starts), view(self._loaded_high)
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

    def __getitem__(self, key: int) -> int:
        row = int(self.find(np.array([key]))[0])
        if row < 0:
            raise KeyError(key)
        return row

    def __len__(self) -> int:
        return self._n_edges

    def __iter__(self) -> Iterator[int]:
        low = view(self.low).astype(np.int64)
        keys = low << 32 | view(self.high)
        yield from keys[low >= 0].tolist()


def _sorted_order(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the stable order of values, by their halves: numpy counts those of 16 bits."""
    order = values.astype(np.uint16).argsort(kind="stable")
    return order[(values >> 16).astype(np.uint16)[order].argsort(kind="stable")]


def view(values: array[int] | bytearray) -> NDArray[Any]:
    """Return a column as a numpy array; it cannot grow before that is let go of."""
    dtype = np.uint8 if isinstance(values, bytearray) else _DTYPES[values.typecode]
    return np.frombuffer(values, dtype=dtype)


def column(values: array[int] | bytearray) -> NDArray[Any]:
    """Return a numpy copy of a resident column (uint8 for a bytearray)."""
    return view(values).copy()


def as_array(typecode: str, values: NDArray[np.signedinteger]) -> array[int]:
    """Return a resident column of these values."""
    out: array[int] = array(typecode)
    out.frombytes(np.ascontiguousarray(values, dtype=_DTYPES[typecode]).view(np.uint8))  # type: ignore[arg-type]
    return out
