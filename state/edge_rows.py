"""Which row of the edge table an edge has: a sorted array of what was loaded, a dict of the rest.

A dict of all takes some 100 bytes an edge, and is what a start would spend most of its time on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray


class EdgeRows(Mapping[int, int]):
    """Rows by edge key (`ktsafe.state.keys.edge_key`)."""

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
