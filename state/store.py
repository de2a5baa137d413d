"""What a graph store is; `rocksdb`, and one in memory for tests, pass one suite.

State semantics (each register merges by maximum stamp):

- per vertex `up` and `down`; the vertex exists iff up > down;
- per attribute a value; it counts iff its stamp > down, so a re-created vertex starts blank;
- per edge {min, max} whether it is present; it exists iff present, both ends exist and its stamp
  exceeds both `down`s. It waits while an end does not exist.

Existence is derived, never stored. What lies at or below `down` is physically deleted.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.state.changes import RowChange, TableCleared, Told
from ktsafe.state.ledger import Ledger, PendingCut
from ktsafe.state.resident import ResidentGraph
from ktsafe.state.rows import Resolved, holds_rows, resolve
from ktsafe.state.snapshot import GraphSnapshot


class Position(NamedTuple):
    """How far a partition is read, durable with the changes read so far.

    `next_offset` is that behind the last record read. `time_us_max` is M_p, the greatest accepted
    event time (None before the first). Up to `passed` there is no record more, if that is further:
    offsets between may have held the marks of transactions.
    """

    next_offset: int
    time_us_max: int | None
    passed: int = 0

    @property
    def start(self) -> int:
        """The offset from which reading goes on."""
        return max(self.next_offset, self.passed)


class GraphStore(abc.ABC):
    """One writer's store of the true graph, the positions read, and the ledger.

    Whatever it is kept on, the graph is resident: subclasses make what was merged durable.

    Attributes
    ----------
    ledger:
        The releases made so far; primary data that the feed cannot rebuild.
    """

    ledger: Ledger

    def __init__(
        self,
        graph: ResidentGraph,
        positions: dict[tuple[str, int], Position],
        identity: dict[str, str],
    ) -> None:
        self._graph = graph
        self._positions = positions
        self._identity = identity

    def positions(self) -> dict[tuple[str, int], Position]:
        """Return the durable position of every partition seen so far."""
        return dict(self._positions)

    def source_identity(self) -> dict[str, str]:
        """Return the source identity stored with the positions ({} at first)."""
        return dict(self._identity)

    def counts(self) -> Mapping[str, int]:
        """Return `vertices`, `edges`, `edges_waiting` and `tombstones` as of the last commit."""
        return self._graph.counts()

    def gone(self, ids: Sequence[str], n_lives: int) -> list[bool]:
        """Return for each person whether no life among the first `n_lives` goes on.

        With the `n_lives` of a release: whether its person was deleted since, even
        if a person of the same id exists again.
        """
        return self._graph.vertices.gone(ids, n_lives)

    def alias(self, vertex_id: str) -> bytes:
        """Return the keyed hash by which this store remembers absent persons."""
        return self._graph.vertices.alias(vertex_id)

    def people_behind(self, aliases: Sequence[bytes]) -> list[str | None]:
        """Return the persons that exist and have these keyed hashes; a whole scan."""
        wanted = set(aliases)
        ids = list(self._graph.vertices.numbers)
        found = {alias: name for name in ids if (alias := self.alias(name)) in wanted}
        return [found.get(alias) for alias in aliases]

    @property
    def holds_rows(self) -> bool:
        """Whether the graph is that of tables: their rows are held, and events are refused."""
        return holds_rows(self)

    def resolve(self, told: Sequence[Told]) -> Resolved:
        """Return what becomes of the graph; nothing is changed before `commit`."""
        if isinstance(next(iter(told), None), RowChange | TableCleared) or self.holds_rows:
            graph = self._graph
            return resolve(told, self, graph.vertices.secret, graph.schema)
        return Resolved(told, {}, ())  # type: ignore[arg-type]  # No row among them.

    @abc.abstractmethod
    def rows(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return what is held of rows, by keys as `ktsafe.state.rows` draws them."""

    @abc.abstractmethod
    def rows_from(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield what is held by keys that begin so, ascending."""

    @abc.abstractmethod
    def commit(
        self,
        changes: Sequence[Told] | Resolved,
        positions: Mapping[tuple[str, int], Position],
        *,
        source_identity: Mapping[str, str] | None = None,
        cut: PendingCut | None = None,
    ) -> None:
        """Merge `changes` and advance `positions` in one atomic, synced write: a checkpoint.

        Rows are held in the same write. Those that need a row of before, which is not held, are
        passed over: `resolve` says which they are.

        With `cut` the checkpoint is a release cut: it is recorded in the same write, and the state
        as of now stays readable through `cut_snapshot` until `Ledger.stage` consumes the cut.
        """

    @abc.abstractmethod
    def snapshot(self) -> GraphSnapshot:
        """Return a copy of the graph as of the last commit."""

    @abc.abstractmethod
    def cut_snapshot(self) -> GraphSnapshot | None:
        """Return the graph as of the pending release cut, after a crash too; None without one."""

    @abc.abstractmethod
    def prune(self, horizon_us: int) -> int:
        """Forget tombstones older than `horizon_us`, which no accepted event can precede.

        Returns the number forgotten.
        """

    def lives(self) -> NDArray[np.int64]:
        """Return the lives that go on, int64, by vertex number."""
        lives = np.array(self._graph.vertices.lives, dtype=np.int64)
        return lives[lives >= 0]

    @abc.abstractmethod
    def erasures_pending(self) -> int:
        """Return how many lives ended since the last `scrub`: bytes of them may be on disk."""

    @abc.abstractmethod
    def scrub(self) -> None:
        """Rewrite what is stored until no byte of deleted persons is left in the store.

        The state of a pending release cut keeps its own; drop the cut or stage its release first.
        """

    @abc.abstractmethod
    def freeze(self) -> Path:
        """Make a second store of the state as of now, of hard links mostly; return its folder.

        The caller removes it; so do `thaw` and the next opening of this store.

        Raises
        ------
        StateUnusable
            If it cannot be made, or the store has no disk.
        """

    @abc.abstractmethod
    def thaw(self) -> None:
        """Remove what `freeze` made, all at once: a reader of it begins again."""

    @abc.abstractmethod
    def size_bytes(self) -> int:
        """Return the bytes the store takes on disk."""

    @abc.abstractmethod
    def close(self) -> None:
        """Release every handle and the lock. Safe to call twice."""
