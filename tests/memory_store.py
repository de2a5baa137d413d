"""A store that forgets everything when the process ends: for tests and trials."""

from __future__ import annotations

import copy
import dataclasses
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ktsafe import Schema
from ktsafe.state import keys
from ktsafe.state.ledger import PendingCut, Writes
from ktsafe.state.recovery import initialize, recover
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import Position, Progress, StateUnusable

Families = dict[str, dict[bytes, bytes]]


class MemoryBatch:
    """Writes that take effect together."""

    def __init__(self) -> None:
        self.writes: list[tuple[str, Writes]] = []

    def write(self, family: str, writes: Writes) -> None:
        """Add puts and, for None, deletes in one column family."""
        self.writes.append((family, dict(writes)))


@dataclasses.dataclass(slots=True)
class MemoryDisk:
    """What is durable of a store: a crash loses all else, as it loses the memory of a process.

    Attributes
    ----------
    families:
        Rows by column family.
    cut:
        The rows as of the pending cut.
    """

    secret: bytes = dataclasses.field(default_factory=lambda: secrets.token_bytes(32))
    families: Families = dataclasses.field(default_factory=lambda: {x: {} for x in keys.FAMILIES})
    cut: Families | None = None
    path: Path = Path("memory")

    @property
    def positions(self) -> dict[tuple[str, int], Position]:
        """How far partitions are read."""
        is_new = not self.families[keys.META]
        return {} if is_new else recover(self, _NO_SCHEMA, self.path).positions

    def copy(self) -> MemoryDisk:
        """Return a backup."""
        return copy.deepcopy(self)

    def get_many(self, family: str, names: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys."""
        return list(map(self.families[family].get, names))

    def all(self, family: str, after: bytes | None = None) -> list[tuple[bytes, bytes]]:
        """Return keys and values of a column family behind a key, ascending."""
        rows = sorted(self.families[family].items())
        return [row for row in rows if after is None or row[0] > after]

    def scan_from(self, family: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that begin so, and their values, ascending."""
        yield from (row for row in self.all(family) if row[0].startswith(prefix))

    def batch(self) -> MemoryBatch:
        """Return a new, empty batch."""
        return MemoryBatch()

    def commit(self, batch: MemoryBatch) -> None:
        """Write a batch."""
        for family, writes in batch.writes:
            kept = self.families[family]
            for name, value in writes.items():
                if value is None:
                    kept.pop(name, None)
                else:
                    kept[name] = bytes(value)

    def flush(self, family: str) -> None:
        """Do nothing: there is no log."""

    def drop(self, family: str, prefix: bytes) -> None:
        """Delete all rows whose keys begin so."""
        for key in [key for key in self.families[family] if key.startswith(prefix)]:
            del self.families[family][key]

    def scrub(self) -> None:
        """Do nothing: what is overwritten in memory is gone."""


_NO_SCHEMA = Schema(("a",), "b", frozenset({"c"}))


class MemoryStore(GraphStore):
    """A store without a disk; what would be on it is in `disk`, and is read from there at first."""

    def __init__(self, schema: Schema, disk: MemoryDisk | None = None) -> None:
        self.disk = disk or MemoryDisk()
        if not self.disk.families[keys.META]:
            initialize(self.disk, schema, self.disk.secret)
        super().__init__(self.disk, recover(self.disk, schema, self.disk.path))

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

    def _keep_cut(self, _cut: PendingCut) -> None:
        self.disk.cut = copy.deepcopy(self.disk.families)

    @contextmanager
    def _kept_cut(self, _cut: PendingCut) -> Iterator[tuple[MemoryDisk, Progress]]:
        assert self.disk.cut is not None
        kept = MemoryDisk(self.disk.secret, self.disk.cut)
        yield kept, recover(kept, self._known.schema, kept.path).progress

    def _committed(self, commits: int) -> None:
        pass

    def _cut_gone(self) -> None:
        self._at_cut = self.disk.cut = None
