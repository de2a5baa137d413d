"""Changes between two dumps as events, ordered by these alone.

1. vertex.delete   people that are gone, with all their ties
2. vertex.upsert   people that are new, or have other values: those values only
3. edge.remove     ties that are gone, both ends being there still
4. edge.add        ties that are new

People and ties come in the order of the rows that name them, in the dump before for what is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.connectors.snapshots.dumps import Dump

_LOW: Final = (1 << 32) - 1
_encode: Final = msgspec.json.Encoder().encode
Change = tuple[str, Mapping[str, str | None]]


class Difference:
    """The events from one dump to the next, one by one.

    Parameters
    ----------
    base:
        The dump before; None before the first.
    """

    def __init__(self, base: Dump | None, dump: Dump) -> None:
        self._ids = list(dump.position)
        self._deleted: list[str] = []
        self._base_ids: list[str] = []
        self._removed: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._added = dump.edges
        if base is None:
            pairs = zip(self._ids, dump.values, strict=True)
            self._upserted: list[Change] = [
                (name, _given(dump.columns, values)) for name, values in pairs
            ]
        else:
            self._base_ids = list(base.position)
            self._deleted = [name for name in self._base_ids if name not in dump.position]
            self._upserted = _upserted(base, dump)
            self._compare_edges(base, dump)

    def __len__(self) -> int:
        people = len(self._deleted) + len(self._upserted)
        return people + len(self._removed) + len(self._added)

    def event(self, index: int) -> bytes:
        """Return one event as JSON, 0 <= index < len."""
        if index < len(self._deleted):
            return _encode({"type": "vertex.delete", "id": self._deleted[index]})
        index -= len(self._deleted)
        if index < len(self._upserted):
            name, values = self._upserted[index]
            return _encode({"type": "vertex.upsert", "id": name, "attributes": values})
        index -= len(self._upserted)
        if index < len(self._removed):
            return _edge("edge.remove", self._base_ids, int(self._removed[index]))
        return _edge("edge.add", self._ids, int(self._added[index - len(self._removed)]))

    def _compare_edges(self, base: Dump, dump: Dump) -> None:
        """Find edges in one dump only, by rows of that dump."""
        in_base = np.array([base.position.get(name, -1) for name in self._ids], dtype=np.int64)
        u, v = in_base[dump.edges >> 32], in_base[dump.edges & _LOW]
        both = (u >= 0) & (v >= 0)
        keys = np.where(both, np.minimum(u, v) << 32 | np.maximum(u, v), -1)
        self._added = dump.edges[~np.isin(keys, base.edges)]
        stays = np.zeros(len(base.values), dtype=np.bool_)
        stays[in_base[in_base >= 0]] = True
        gone = base.edges[~np.isin(base.edges, keys)]
        self._removed = gone[stays[gone >> 32] & stays[gone & _LOW]]


def _upserted(base: Dump, dump: Dump) -> list[Change]:
    """Return the people that are new or changed."""
    # Dumps may have their columns in different orders.
    order = [base.columns.index(name) for name in dump.columns]
    found: list[Change] = []
    for (name, row), values in zip(dump.position.items(), dump.values, strict=True):
        assert values is dump.values[row]
        before = base.position.get(name)
        if before is None:
            found.append((name, _given(dump.columns, values)))
            continue
        old = base.values[before]
        changed = {
            column: value
            for column, value, j in zip(dump.columns, values, order, strict=True)
            if value != old[j]
        }
        if changed:
            found.append((name, changed))
    return found


def _given(columns: tuple[str, ...], values: tuple[str | None, ...]) -> dict[str, str | None]:
    return {name: value for name, value in zip(columns, values, strict=True) if value is not None}


def _edge(what: str, ids: list[str], key: int) -> bytes:
    return _encode({"type": what, "source": ids[key >> 32], "target": ids[key & _LOW]})
