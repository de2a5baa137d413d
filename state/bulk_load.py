"""Fills a new store with a graph at once, as sorted tables.

    people, ties ──▶ <store>/tables-<x>/*.sst ──ingested──▶ <store>/db
    counts, positions ──one synced batch, last of all──▶ <store>/db

What is read back is what one commit after the other of the same changes would have left, but for
the number of commits. Rows that nobody counted are refused when the store is opened, so one
in which this was interrupted is never taken for a whole one.

How it is cut into tables may be tuned. Rows must be those that commits would have left:
tests/state/test_bulk_load.py compares the stores, so a change of `number_pages` or `tie_pages`
comes here, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.state import keys, number_pages, tie_pages
from ktsafe.state.recovery import meta_rows, open_database, recover
from ktsafe.state.registers import Mark, Origin, Origins, VertexRecord, encoded
from ktsafe.state.snapshot import pair_codes
from ktsafe.state.store_base import Position, Progress


@dataclasses.dataclass(frozen=True, slots=True)
class Registered:
    """Source of some rows' registers: equal stamps but for the offset."""

    origin: Origin
    time_us: int


class BulkLoad:
    """Store in the making, locked from its beginning to `close`.

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
        self._hashes = keys.Hashes(recover(self._database, schema, folder).secret)
        self._schema = schema
        self._origins = Origins()
        self._n_vertices = self._n_places = 0
        self._n_edges = self._n_pages = 0

    def add_vertices(
        self, source: Registered, people: Iterable[tuple[int, str, Sequence[str | None]]]
    ) -> None:
        """Add people numbered from 0 in their order.

        No id may come twice.

        Parameters
        ----------
        people:
            Of each the offset, the id, and the raw value of every attribute of the schema.

        Raises
        ------
        StateUnusable, StateCorrupted
        """
        assert not self._n_vertices
        origin = self._origins.number(*source.origin)
        rows: list[tuple[bytes, bytes]] = []

        def records() -> Iterator[tuple[bytes, VertexRecord]]:
            for number, (offset, vertex_id, values) in enumerate(people):
                mark: Mark = (source.time_us, origin, offset)
                record = VertexRecord(
                    id=vertex_id,
                    up=mark,
                    attributes={j: (mark, value) for j, value in enumerate(values)},
                    life=number,
                )
                alias = self._hashes.of(vertex_id)
                rows.append((alias, encoded(record)))
                yield alias, record

        self._n_places = self._database.fill(keys.PLACES, number_pages.page_rows(records()))
        rows.sort()
        self._n_vertices = self._database.fill(keys.PEOPLE, rows)

    def add_edges(
        self, source: Registered, ends: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> int:
        """Add edges; of repeated ones, in either direction, the last counts.

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
        codes = pair_codes(*ends.T.astype(np.int64)) | 1
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        is_last = np.ones(len(order), dtype=np.bool_)
        is_last[:-1] = codes[1:] != codes[:-1]
        codes, offsets = codes[is_last], offsets[order[is_last]]
        origin = self._origins.number(*source.origin)
        pages = tie_pages.page_rows(codes)
        n_pages = self._database.fill(
            keys.TIES, ((name, codes[part].astype("<i8").tobytes()) for name, part in pages)
        )

        def stamps(some: NDArray[np.int64]) -> bytes:
            time, number = np.full_like(some, source.time_us), np.full_like(some, origin)
            return tie_pages.packed_stamps(time, number, some)

        self._database.fill(keys.STAMPS, ((name, stamps(offsets[part])) for name, part in pages))
        self._n_edges, self._n_pages = len(codes), n_pages
        return self._n_edges

    def finish(
        self, positions: Mapping[Origin, Position], source_identity: Mapping[str, str]
    ) -> None:
        """Write the store's counts, and where the feed goes on.

        Raises
        ------
        StateUnusable, StateCorrupted
        """
        progress = Progress(
            commits=1,
            n_lives=self._n_vertices,
            n_people=self._n_vertices,
            n_places=self._n_places,
            n_pages=self._n_pages,
            vertices=self._n_vertices,
            edges=self._n_edges,
        )
        batch = self._database.batch()
        batch.write(
            keys.META,
            meta_rows(
                self._origins,
                (),
                list(self._schema.attributes),
                positions,
                source_identity,
                progress,
            ),
        )
        self._database.commit(batch)

    def close(self) -> None:
        """Release the database and its lock. Safe to call twice."""
        self._database.close()
