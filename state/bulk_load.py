"""Fills a new store with a graph at once, as sorted tables that the database takes in.

    people, ties ──▶ <store>/tables-<x>/*.sst ──ingested──▶ <store>/db
    counts, positions ──one synced batch, last of all──▶ <store>/db

What is read back is what one commit after the other of the same changes would have left, but for
the number of commits. Rows that nobody counted are refused when the store is opened, so one
in which this was interrupted is never taken for a whole one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.state import keys
from ktsafe.state.recovery import Progress, meta_rows, open_database
from ktsafe.state.registers import Mark, Origin, Origins, VertexRecord
from ktsafe.state.store import Position

_ROWS_AT_ONCE: Final = 1 << 16

_encode_record: Final = msgspec.msgpack.Encoder().encode


@dataclasses.dataclass(frozen=True, slots=True)
class Registered:
    """Where the registers of some rows come from: their stamps are equal but for the offset."""

    origin: Origin
    time_us: int


class BulkLoad:
    """A store that is being made; it holds the lock from the beginning to `close`.

    Parameters
    ----------
    folder:
        Of the store, which must be new.

    Raises
    ------
    StateLocked, StateUnusable, StateCorrupted, StateMismatch
        As `ktsafe.state.rocksdb.RocksDBStore.open`.
    """

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._database = open_database(folder, schema)
        self._schema = schema
        self._origins = Origins()
        self._n_vertices = 0
        self._n_edges = 0

    def add_vertices(
        self, source: Registered, people: Iterable[tuple[int, str, Sequence[str | None]]]
    ) -> None:
        """Let people exist, numbered from 0 in their order; no id may come twice.

        Parameters
        ----------
        people:
            Of each the offset, the id, and the raw value of every attribute of the schema.

        Raises
        ------
        StateUnusable, StateCorrupted
        """
        assert not self._n_vertices

        def rows() -> Iterator[tuple[bytes, bytes]]:
            pack, encode = keys.VERTEX_KEY.pack, _encode_record
            for number, (offset, vertex_id, values) in enumerate(people):
                mark: Mark = (source.time_us, origin, offset)
                record = VertexRecord(
                    id=vertex_id,
                    up=mark,
                    attributes={j: (mark, value) for j, value in enumerate(values)},
                    life=number,
                )
                yield pack(number), encode(record)

        origin = self._origins.number(*source.origin)
        self._n_vertices = self._database.fill(keys.VERTICES, rows())

    def add_edges(
        self, source: Registered, ends: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> int:
        """Let edges exist; of those that repeat one, in either direction, the last counts.

        Parameters
        ----------
        ends:
            Vertex numbers, shape (m, 2), the two of a row unequal.
        offsets:
            Of the edges' stamps, shape (m,), ascending.

        Returns
        -------
        int
            How many different edges there are.

        Raises
        ------
        StateUnusable, StateCorrupted
        """
        assert not self._n_edges
        low, high = ends.min(axis=1).astype(np.int64), ends.max(axis=1)
        edge_keys = low << 32 | high
        order = np.argsort(edge_keys, kind="stable")
        edge_keys = edge_keys[order]
        is_last = np.ones(len(order), dtype=np.bool_)
        is_last[:-1] = edge_keys[1:] != edge_keys[:-1]
        edge_keys, offsets = edge_keys[is_last], offsets[order[is_last]]
        origin = self._origins.number(*source.origin)

        def rows() -> Iterator[tuple[bytes, bytes]]:
            for start in range(0, len(edge_keys), _ROWS_AT_ONCE):
                some = slice(start, start + _ROWS_AT_ONCE)
                values = np.empty(len(edge_keys[some]), dtype=keys.EDGE_VALUE_DTYPE)
                values["present"], values["origin"] = 1, origin
                values["time"], values["offset"] = source.time_us, offsets[some]
                yield from zip(
                    _as_bytes(edge_keys[some].astype(">u8")), _as_bytes(values), strict=True
                )

        self._n_edges = self._database.fill(keys.EDGES, rows())
        return self._n_edges

    def finish(
        self, positions: Mapping[Origin, Position], source_identity: Mapping[str, str]
    ) -> None:
        """Write what makes a store of the rows: how many there are, and where the feed goes on.

        Raises
        ------
        StateUnusable, StateCorrupted
        """
        progress = Progress(
            commits=1,
            n_vertices=self._n_vertices,
            n_edges=self._n_edges,
            n_lives=self._n_vertices,
        )
        batch = self._database.batch()
        batch.write(
            keys.META,
            meta_rows(
                self._origins, list(self._schema.attributes), positions, source_identity, progress
            ),
        )
        self._database.commit(batch)

    def close(self) -> None:
        """Release the database and its lock. Safe to call twice."""
        self._database.close()


def _as_bytes(rows: NDArray[np.void] | NDArray[np.uint64]) -> list[bytes]:
    """Return the bytes of each row."""
    texts: list[bytes] = rows.view(f"V{rows.itemsize}").tolist()
    return texts
