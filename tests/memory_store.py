"""A store that forgets everything when the process ends: for tests and trials."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from ktsafe import Schema
from ktsafe.state.changes import Change
from ktsafe.state.errors import StateUnusable
from ktsafe.state.keys import SECRET_BYTES
from ktsafe.state.ledger import EMPTY, Ledger, LedgerStorage, PendingCut, Writes
from ktsafe.state.registers import Origins, VertexRecord
from ktsafe.state.resident import ResidentGraph, Touched
from ktsafe.state.snapshot import FrozenArrays, GraphSnapshot
from ktsafe.state.store import GraphStore, Position


class MemoryStore(GraphStore):
    """A store without a disk. It outlives `close`, as a disk would."""

    def __init__(self, schema: Schema) -> None:
        graph = ResidentGraph(schema, [], Origins(), secrets.token_bytes(SECRET_BYTES))
        super().__init__(graph, {}, {})
        self._records: dict[int, VertexRecord] = {}
        self._frozen: FrozenArrays | None = None
        self._n_scrubbed = 0
        self._pages: dict[bytes, bytes] = {}
        self.ledger = Ledger(
            EMPTY, LedgerStorage(self._write, self._read_pages, self._cut_gone, _impossible)
        )

    def commit(
        self,
        changes: Sequence[Change],
        positions: Mapping[tuple[str, int], Position],
        *,
        source_identity: Mapping[str, str] | None = None,
        cut: PendingCut | None = None,
    ) -> None:
        """Merge `changes` and advance `positions`; with `cut` freeze the state as of now."""
        if cut is not None:
            self.ledger.take_cut(cut)
        self._apply(self._graph.merge(changes, self._graph.prepare(changes, self._read)))
        for (topic, partition), position in positions.items():
            self._positions[topic, partition] = Position(*position)
        if source_identity is not None:
            self._identity = dict(source_identity)
        if cut is not None:
            self._frozen = self._graph.freeze()
            self.ledger.cut_taken(cut)

    def snapshot(self) -> GraphSnapshot:
        """Return a copy of the graph as of the last commit."""
        return self._graph.freeze().snapshot()

    def cut_snapshot(self) -> GraphSnapshot | None:
        """Return the graph as of the pending release cut; None without one."""
        return None if self._frozen is None else self._frozen.snapshot()

    def prune(self, horizon_us: int) -> int:
        """Forget tombstones older than `horizon_us`; return how many."""
        numbers, edge_keys = self._graph.tombstones(horizon_us)
        self._apply(self._graph.forget(numbers, edge_keys, self._read(numbers)))
        return len(numbers) + len(edge_keys)

    def erasures_pending(self) -> int:
        """Return how many lives ended since the last `scrub`."""
        return self._graph.vertices.n_ended - self._n_scrubbed

    def scrub(self) -> None:
        """Note that nothing is left: what is overwritten in memory is gone."""
        self._n_scrubbed = self._graph.vertices.n_ended

    def freeze(self) -> Path:
        """Refuse: there is no disk."""
        raise StateUnusable("freeze the store", "memory", "It has no disk.")

    def thaw(self) -> None:
        """Do nothing: nothing is frozen."""

    def size_bytes(self) -> int:
        """Return 0: nothing is on disk."""
        return 0

    def close(self) -> None:
        """Do nothing: there is no handle and no lock."""

    def _read(self, numbers: Sequence[int]) -> list[VertexRecord]:
        return [self._records[number] for number in numbers]

    def _apply(self, touched: Touched) -> None:
        for number, record in touched.vertices.items():
            if record is None:
                self._records.pop(number, None)
            else:
                self._records[number] = record

    # Storage of the ledger, which holds all but the pages itself

    def _write(self, entries: Writes, pages: Writes) -> None:
        del entries
        for name, page in pages.items():
            if page is None:
                self._pages.pop(name, None)
            else:
                self._pages[name] = page

    def _read_pages(self, names: list[bytes]) -> list[bytes | None]:
        return [self._pages.get(name) for name in names]

    def _cut_gone(self) -> None:
        self._frozen = None


def _impossible() -> Exception:
    return AssertionError("memory does not keep what was written")
