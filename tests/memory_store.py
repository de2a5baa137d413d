"""A store that forgets everything when the process ends: for tests and trials."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ktsafe import Schema
from ktsafe.state.changes import Change, Told
from ktsafe.state.errors import StateUnusable
from ktsafe.state.keys import SECRET_BYTES
from ktsafe.state.ledger import EMPTY, Ledger, LedgerStorage, PendingCut, Writes
from ktsafe.state.registers import Origins, VertexRecord
from ktsafe.state.resident import ResidentGraph, Touched
from ktsafe.state.rows import Resolved
from ktsafe.state.snapshot import FrozenArrays, GraphSnapshot
from ktsafe.state.store import GraphStore, Position


@dataclasses.dataclass(slots=True)
class MemoryDisk:
    """What is durable of a store: a crash loses all else, as it loses the memory of a process.

    Attributes
    ----------
    writes:
        What was merged, commit by commit, or the horizons of what was forgotten, in order.
    entries, pages:
        Of the ledger.
    n_until_cut:
        How many of `writes` the pending cut stands on.
    """

    secret: bytes = dataclasses.field(default_factory=lambda: secrets.token_bytes(SECRET_BYTES))
    writes: list[Sequence[Change] | int] = dataclasses.field(default_factory=list)
    positions: dict[tuple[str, int], Position] = dataclasses.field(default_factory=dict)
    identity: dict[str, str] = dataclasses.field(default_factory=dict)
    entries: dict[bytes, bytes] = dataclasses.field(default_factory=lambda: dict(EMPTY))
    pages: dict[bytes, bytes] = dataclasses.field(default_factory=dict)
    rows: dict[bytes, bytes] = dataclasses.field(default_factory=dict)
    n_scrubbed: int = 0
    n_until_cut: int = -1

    def copy(self) -> MemoryDisk:
        """Return a backup."""
        return MemoryDisk(
            self.secret,
            list(self.writes),
            dict(self.positions),
            dict(self.identity),
            dict(self.entries),
            dict(self.pages),
            dict(self.rows),
            self.n_scrubbed,
            self.n_until_cut,
        )


class MemoryStore(GraphStore):
    """A store without a disk; what would be on it is in `disk`, and is read from there at first."""

    def __init__(self, schema: Schema, disk: MemoryDisk | None = None) -> None:
        self.disk = disk or MemoryDisk()
        graph = ResidentGraph(schema, [], Origins(), self.disk.secret)
        super().__init__(graph, dict(self.disk.positions), dict(self.disk.identity))
        self._records: dict[int, VertexRecord] = {}
        self._frozen: FrozenArrays | None = None
        for number, written in enumerate(self.disk.writes):
            if isinstance(written, int):
                self._forget(written)
            else:
                self._merge(written)
            if number + 1 == self.disk.n_until_cut:
                self._frozen = self._graph.freeze()
        storage = LedgerStorage(
            self._write, self._read_pages, self._drop_pages, self._cut_gone, _impossible
        )
        self.ledger = Ledger(self.disk.entries, storage)
        self.ledger.drop_orphans()

    def commit(
        self,
        changes: Sequence[Told] | Resolved,
        positions: Mapping[tuple[str, int], Position],
        *,
        source_identity: Mapping[str, str] | None = None,
        cut: PendingCut | None = None,
    ) -> None:
        """Merge `changes` and advance `positions`; with `cut` freeze the state as of now."""
        disk = self.disk
        cut_writes: Writes = {} if cut is None else self.ledger.take_cut(cut)
        merged, rows, _ = changes if isinstance(changes, Resolved) else self.resolve(changes)
        self._merge(merged)
        disk.writes.append(list(merged))
        _update(disk.rows, rows)
        for (topic, partition), position in positions.items():
            self._positions[topic, partition] = Position(*position)
        if source_identity is not None:
            self._identity = dict(source_identity)
        disk.positions, disk.identity = dict(self._positions), dict(self._identity)
        self._write(cut_writes, {})
        if cut is not None:
            disk.n_until_cut = len(disk.writes)
            self._frozen = self._graph.freeze()
            self.ledger.cut_taken(cut)

    def rows(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return what is held of rows."""
        return [self.disk.rows.get(key) for key in keys]

    def rows_from(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield what is held by keys that begin so, ascending."""
        yield from sorted(item for item in self.disk.rows.items() if item[0].startswith(prefix))

    def snapshot(self) -> GraphSnapshot:
        """Return a copy of the graph as of the last commit."""
        return self._graph.freeze().snapshot()

    def cut_snapshot(self) -> GraphSnapshot | None:
        """Return the graph as of the pending release cut; None without one."""
        return None if self._frozen is None else self._frozen.snapshot()

    def prune(self, horizon_us: int) -> int:
        """Forget tombstones older than `horizon_us`; return how many."""
        if forgotten := self._forget(horizon_us):
            self.disk.writes.append(horizon_us)
        return forgotten

    def erasures_pending(self) -> int:
        """Return how many lives ended since the last `scrub`."""
        return self._graph.vertices.n_ended - self.disk.n_scrubbed

    def scrub(self) -> None:
        """Note that nothing is left: what is overwritten in memory is gone."""
        self.disk.n_scrubbed = self._graph.vertices.n_ended

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

    def _merge(self, changes: Sequence[Change]) -> None:
        self._apply(self._graph.merge(changes, self._graph.prepare(changes, self._read)))

    def _forget(self, horizon_us: int) -> int:
        numbers, edge_keys = self._graph.tombstones(horizon_us)
        self._apply(self._graph.forget(numbers, edge_keys, self._read(numbers)))
        return len(numbers) + len(edge_keys)

    def _read(self, numbers: Sequence[int]) -> list[VertexRecord]:
        return [self._records[number] for number in numbers]

    def _apply(self, touched: Touched) -> None:
        for number, record in touched.vertices.items():
            if record is None:
                self._records.pop(number, None)
            else:
                self._records[number] = record

    # Storage of the ledger

    def _write(self, entries: Writes, pages: Writes) -> None:
        for kept, changed in ((self.disk.entries, entries), (self.disk.pages, pages)):
            _update(kept, changed)

    def _read_pages(self, names: list[bytes]) -> list[bytes | None]:
        return [self.disk.pages.get(name) for name in names]

    def _drop_pages(self, prefix: bytes) -> None:
        for key in [key for key in self.disk.pages if key.startswith(prefix)]:
            del self.disk.pages[key]

    def _cut_gone(self) -> None:
        self._frozen, self.disk.n_until_cut = None, -1


def _update(kept: dict[bytes, bytes], changed: Writes) -> None:
    for name, value in changed.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = value


def _impossible() -> Exception:
    return AssertionError("memory does not keep what was written")
