"""Which row of the edge table an edge has: a sorted array of what was loaded, a dict of the rest.

A dict of all takes some 100 bytes an edge, and is what a start would spend most of its time on.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray


class EdgeRows(Mapping[int, int]):
    """Rows by edge key (`ktsafe.state.keys.edge_key`)."""

    def __init__(self) -> None:
        self._loaded = array("q")  # keys, ascending; the row of each is its position
        self._gone: set[int] = set()  # rows that have another edge now, or none
        self._later: dict[int, int] = {}

    def load(self, keys: NDArray[np.int64]) -> None:
        """Let edges have the rows of their positions; nothing may have been added yet."""
        assert not self
        if len(keys) and (np.diff(keys) > 0).all():
            self._loaded = array("q", np.ascontiguousarray(keys, dtype=np.int64).tobytes())
        else:
            self._later = dict(zip(keys.tolist(), range(len(keys)), strict=True))

    def add(self, keys: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Let edges that have no row have these."""
        self._later.update(zip(keys.tolist(), rows.tolist(), strict=True))

    def remove(self, key: int, row: int) -> None:
        """Forget an edge that has this row."""
        if self._later.pop(key, None) is None:
            self._gone.add(row)

    def __getitem__(self, key: int) -> int:
        row = int(self.find(np.array([key]))[0])
        if row < 0:
            raise KeyError(key)
        return row

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of edges, int64, -1 for those that have none."""
        later = map(self._later.get, keys.tolist(), itertools.repeat(-1))
        rows = np.fromiter(later, dtype=np.int64, count=len(keys))
        loaded = np.frombuffer(self._loaded, dtype=np.int64)
        if len(loaded):
            places = loaded.searchsorted(keys)
            places[places == len(loaded)] = 0
            found = (rows < 0) & (loaded[places] == keys)
            rows[found] = [-1 if row in self._gone else row for row in places[found].tolist()]
        return rows

    def __len__(self) -> int:
        return len(self._later) + len(self._loaded) - len(self._gone)

    def __iter__(self) -> Iterator[int]:
        yield from self._later
        for row, key in enumerate(self._loaded):
            if row not in self._gone:
                yield key
