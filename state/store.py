"""Graph store by its operations; `rocksdb` and tests' memory store differ underneath.

`LOGGED_MIN` and `LOGGED_PART` may be tuned. A new operation needs a case in
tests/state/test_conformance.py; other semantics need tests/state/naive_fold.py and
`ktsafe.stream.release.audits`, too.

State semantics (each register merges by maximum stamp):

- per vertex `up` and `down`; the vertex exists iff up > down;
- per attribute a value; it counts iff its stamp > down, so a re-created vertex starts blank;
- per edge {min, max}, kind and direction whether it is present; it exists iff present, both ends
  exist and its stamp exceeds both `down`s. It waits while an end does not exist. Which of those
  between two people make a tie is the schema's choice (`ktsafe.state.change_log`).

Existence is derived, never stored. People are merged when they are committed; what was said of ties
is kept as it was said, and resolved by a fold: at a cut, when the graph is asked for, and when more
was said than a tenth of what is known. What lies at or below `down` is physically deleted then.
"""

from __future__ import annotations

import abc
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.state import change_log, keys
from ktsafe.state.change_log import LoggedRows
from ktsafe.state.changes import RowChange, TableCleared, Told
from ktsafe.state.database import Storage, StoredRows
from ktsafe.state.fold import Folded
from ktsafe.state.folder import corrupted
from ktsafe.state.ledger import Ledger, LedgerStorage, PendingCut, Writes
from ktsafe.state.recovery import Recovered, meta_rows
from ktsafe.state.registers import AlteredPeople, VertexRecord, decoded
from ktsafe.state.rows import CLOCK, Resolved, resolve
from ktsafe.state.snapshot import GraphArrays, GraphSnapshot
from ktsafe.state.store_base import Position, Progress, StateError, StateUnusable, counted

LOGGED_MIN: Final = 100_000
"""Changes that wait for a fold without a cut, at least: some 5 MB, which are read in a moment."""
LOGGED_PART: Final = 10
"""More wait where the graph is large: as many as this part of its ties. A fold reads all of them,
so it costs each change as much as reading ten ties, 0.3 core microseconds."""

KeptCut: TypeAlias = AbstractContextManager[tuple[StoredRows, Progress]]
"""The database of a cut, as long as it is open, and how far it is."""

_encode_logged: Final = msgspec.msgpack.Encoder().encode


class GraphStore(abc.ABC):
    """Store of one writer: the true graph, read positions, and ledger.

    Methods may be called from several threads; writes go one after the other. After an error in a
    write only `close` works, since nobody knows what became durable: open the store again.

    Attributes
    ----------
    ledger:
        The releases made so far; primary data that the feed cannot rebuild.
    """

    ledger: Ledger

    def __init__(self, database: Storage, recovered: Recovered) -> None:
        self.database = database
        self._known = recovered.known
        self._names = recovered.attributes
        self._secret = recovered.secret
        self._positions = recovered.positions
        self._identity = recovered.identity
        self._progress = recovered.progress
        self._horizon_us: int | None = None
        self._at_cut: tuple[GraphArrays, list[str]] | None = None
        self._graph: Folded | None = None  # As of some commit, once it was asked for.
        self._rows: LoggedRows | None = None  # As `rows_logged`, once they were asked for.
        self._failed: StateError | None = None
        self._is_open = True
        self._lock = threading.RLock()
        storage = LedgerStorage(
            self._write_ledger,
            self._read_pages,
            self._drop_pages,
            self._cut_gone,
            lambda: corrupted(database.path),
        )
        with self._checked():
            self.ledger = Ledger(dict(database.all(keys.LEDGER)), storage)
        self.ledger.drop_orphans()

    def positions(self) -> dict[tuple[str, int], Position]:
        """Return the durable position of every partition seen so far."""
        return dict(self._positions)

    def source_identity(self) -> dict[str, str]:
        """Return the source identity stored with the positions ({} at first)."""
        return dict(self._identity)

    def counts(self) -> Mapping[str, int]:
        """Return `vertices`, `edges`, `edges_waiting` and `tombstones`, as of the last cut.

        Or as of a later time, if so much was said that it was folded then.
        """
        return counted(self._progress)

    @property
    def is_blank(self) -> bool:
        """Whether graph and log know no person and no tie."""
        progress = self._progress
        return not (progress.n_people or progress.n_log or progress.n_places)

    def gone(self, ids: Sequence[str], n_lives: int) -> list[bool]:
        """Return which persons have no life going on among `n_lives`.

        With the `n_lives` of a release: whether its person was deleted since, even
        if a person of the same id exists again. For a few; `people` is for many.
        """
        records = self._records([self.alias(vertex_id) for vertex_id in ids])
        return [r is None or r.life is None or r.life >= n_lives for r in records]

    def alias(self, vertex_id: str) -> bytes:
        """Return the keyed hash by which this store remembers a person."""
        return keys.Hashes(self._secret).of(vertex_id)

    def people_behind(self, aliases: Sequence[bytes]) -> list[str | None]:
        """Return the persons that exist and have these keyed hashes."""
        return [record.id if record else None for record in self._records(aliases)]

    def people(self) -> dict[str, int]:
        """Return the lives that go on, by id."""
        with self._lock:
            places = self.folded().places
            with self._checked():
                return dict(zip(places.ids(), places.lives_given().tolist(), strict=True))

    def lives(self) -> NDArray[np.int64]:
        """Return the lives that go on, int64, by vertex number."""
        with self._lock:
            return self.folded().places.lives_given()

    def kinds(self) -> list[str]:
        """Return the kinds of ties that events named so far."""
        return list(self._known.kinds)

    @property
    def holds_rows(self) -> bool:
        """Whether the graph is that of tables, and events are refused."""
        return self.rows([CLOCK])[0] is not None

    def resolve(self, told: Sequence[Told]) -> Resolved:
        """Return what becomes of the graph; nothing is changed before `commit`."""
        if isinstance(next(iter(told), None), RowChange | TableCleared) or self.holds_rows:
            return resolve(told, self, self._secret, self._known.schema)
        return Resolved(told, {}, {}, ())  # type: ignore[arg-type]  # No row among them.

    def rows(self, names: Sequence[bytes]) -> list[bytes | None]:
        """Return held rows by the keys of `ktsafe.state.rows`."""
        with self._lock:
            self._check_usable()
            return self.database.get_many(keys.ROWS, names)

    def rows_from(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield held rows by key prefix, ascending."""
        with self._lock:
            self._check_usable()
            return self.database.scan_from(keys.ROWS, prefix)

    def rows_logged(self) -> LoggedRows:
        """Return what rows of ties said since the last fold."""
        with self._lock:
            self._check_usable()
            if self._rows is None:
                with self._checked():
                    log = self.database.all(keys.CHANGES)
                    self._rows = change_log.rows_of(change_log.decoded(log))
            return self._rows

    def commit(
        self,
        changes: Sequence[Told] | Resolved,
        positions: Mapping[tuple[str, int], Position],
        *,
        source_identity: Mapping[str, str] | None = None,
        cut: PendingCut | None = None,
    ) -> None:
        """Apply `changes` and advance `positions` in one atomic, synced write.

        It is a checkpoint. 1. Read the rows of people that are told of, and the registers of
        people, and merge. 2. Write them, what is said of ties, positions, source identity and cut
        in one synced batch. 3. With `cut`: keep the database as it is, before anything else is
        written. A crash between 2 and 3 leaves the live state equal to the cut's, and the next
        start makes up for it. 4. With `cut`: resolve what was said. 5. Fold if much has been said.
        A crash before it leaves that to the next commit.

        Rows that need a row of before, which is not held, are passed over: `resolve` says which.

        With `cut` the checkpoint is a release cut: the state as of now stays readable through
        `cut_snapshot` until `Ledger.stage` consumes the cut.

        Raises
        ------
        ValueError
            If an edge has one end only, or a cut is pending already; nothing has happened.
        StateUnusable, StateCorrupted
            If the commit is not known to be durable; the store must be opened again.
        """
        with self._lock:
            self._check_usable()
            cut_writes = {} if cut is None else self.ledger.take_cut(cut)
            merged, rows, ties, _ = (
                changes if isinstance(changes, Resolved) else self.resolve(changes)
            )
            said = change_log.said(
                merged, keys.Hashes(self._secret), self._known.origins, self._known.kinds
            )
            people = self._people([alias for alias, _, _ in said.people])
            with self._all_or_closed("commit"):
                writes: dict[str, Writes] = {keys.LEDGER: cut_writes, keys.ROWS: rows}
                writes[keys.PEOPLE], writes[keys.DOWNS] = people.merge(said.people)
                logged = said.logged(people.altered, ties)
                before = self._progress
                if len(logged):
                    name = keys.LONG_KEY.pack(before.commits + 1)
                    writes[keys.CHANGES] = {name: _encode_logged(logged)}
                progress = msgspec.structs.replace(
                    before,
                    cut_commits=before.commits + 1 if cut else before.cut_commits,
                    n_lives=people.n_lives,
                    n_ended=people.n_ended,
                    n_people=before.n_people + people.n_new,
                    n_downs=before.n_downs + people.n_downs,
                    n_log=before.n_log + bool(len(logged)),
                    n_logged=before.n_logged + len(logged),
                )
                self._write(writes, progress, positions, source_identity)
                if self._rows is not None:
                    self._rows |= ties
                if cut is not None:
                    self._keep_cut(cut)
                    self.ledger.cut_taken(cut)
            if cut is not None:
                self._at_cut = self._arrays(self.folded())
            is_short = cut is not None and self.holds_rows  # A cut leaves rows in memory.
            most = LOGGED_MIN if is_short else max(LOGGED_MIN, self._n_ties() // LOGGED_PART)
            if progress.n_logged > most:
                self.fold()

    def snapshot(self) -> GraphSnapshot:
        """Return the graph as of the last commit."""
        with self._lock:
            arrays, ids = self._arrays(self.folded())
        return arrays.snapshot(ids)

    def cut_snapshot(self) -> GraphSnapshot | None:
        """Return the graph as of the pending cut, None without one.

        A crash keeps it.
        """
        with self._lock:
            self._check_usable()
            cut = self.ledger.pending_cut()
            if cut is None:
                return None
            # Whoever asks again reads it from the disk: it is not kept beside the release.
            found, self._at_cut = self._at_cut, None
            if found is None:
                with self._kept_cut(cut) as (database, progress), self._checked():
                    if progress.commits != self._progress.cut_commits:
                        raise ValueError("it is of another commit")
                    found = self._arrays(Folded(database, self._known, progress))
        arrays, ids = found
        return arrays.snapshot(ids)

    def prune(self, horizon_us: int) -> None:
        """Let the next fold forget tombstones older than `horizon_us`.

        No event that is accepted later can precede it.
        """
        with self._lock:
            self._check_usable()
            self._horizon_us = max(horizon_us, self._horizon_us or horizon_us)

    def erasures_pending(self) -> int:
        """Return the lives ended since `scrub`; their bytes may remain."""
        return self._progress.n_ended - self._progress.n_scrubbed

    def scrub(self) -> None:
        """Rewrite the store until no byte of deleted persons is left.

        The state of a pending release cut keeps its own; drop the cut or stage its release first.

        1. Fold, so that ties of theirs go, and what they showed.
        2. Write every column family from the log to tables; the log before it goes.
        3. Compact: what was overwritten or deleted goes with the old tables.
        4. Note how many lives had ended at step 1. A crash before it repeats the work.
        """
        with self._lock:
            self._check_usable()
            n_ended = self._progress.n_ended
            self.thaw()  # A copy that is being made begins again, without the deleted.
            self.fold()
            self.database.scrub()
            with self._all_or_closed("scrub"):
                progress = msgspec.structs.replace(self._progress, n_scrubbed=n_ended)
                self._write({}, progress)

    @abc.abstractmethod
    def freeze(self) -> Path:
        """Copy the state of now by hard links; return the folder.

        The caller removes it; so do `thaw` and the next opening of this store.

        Raises
        ------
        StateUnusable
            If it cannot be made, or the store has no disk.
        """

    @abc.abstractmethod
    def thaw(self) -> None:
        """Remove what `freeze` made, at once: its readers begin again."""

    @abc.abstractmethod
    def size_bytes(self) -> int:
        """Return the bytes the store takes on disk."""

    @abc.abstractmethod
    def close(self) -> None:
        """Release every handle and the lock. Safe to call twice."""

    @abc.abstractmethod
    def _keep_cut(self, cut: PendingCut) -> None:
        """Keep the database as it is now."""

    @abc.abstractmethod
    def _kept_cut(self, cut: PendingCut) -> KeptCut:
        """Open what `_keep_cut` kept, and read how far it is."""

    @abc.abstractmethod
    def _cut_gone(self) -> None:
        """Let go of what `_keep_cut` kept."""

    @abc.abstractmethod
    def _committed(self, commits: int) -> None:
        """Take note that so many commits are durable."""

    def _check_usable(self) -> None:
        if not self._is_open:
            raise StateUnusable("use the store", str(self.database.path), "It is closed.")
        if self._failed is not None:
            raise self._failed

    @contextmanager
    def _all_or_closed(self, op: str) -> Iterator[None]:
        """Write inside; close for good if the disk's state is unknown."""
        hint = "An earlier write failed. Start again to go on from the disk."
        self._failed = StateUnusable(op, str(self.database.path), hint)
        yield
        self._failed = None

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Call rows that do not read back as written what they are."""
        try:
            yield
        except (LookupError, ValueError, msgspec.DecodeError) as error:
            raise corrupted(self.database.path) from error

    def folded(self) -> Folded:
        """Return the graph as of the last commit; nothing is written."""
        self._check_usable()
        graph, self._graph = self._graph, None  # Nobody knows what an error leaves of it.
        with self._checked():
            if graph is None:
                graph = Folded(self.database, self._known, self._progress)
            else:
                graph.follow(self._progress)
        self._progress = msgspec.structs.replace(self._progress, **graph.counts)
        self._graph = graph
        return graph

    def fold(self) -> None:
        """Write what became of the graph since the last fold."""
        graph = self.folded()
        if self._progress.n_log or self._horizon_us is not None:
            with self._all_or_closed("fold"):
                with self._checked():
                    writes, progress = graph.writes(self._progress, self._horizon_us)
                self._write(writes, progress)
            self._horizon_us = self._rows = None

    def _arrays(self, graph: Folded) -> tuple[GraphArrays, list[str]]:
        with self._checked():
            return graph.arrays(), graph.places.ids()

    def _n_ties(self) -> int:
        return self._progress.edges + self._progress.edges_waiting

    def _records(self, aliases: Sequence[bytes]) -> list[VertexRecord | None]:
        with self._lock:
            self._check_usable()
            values = self.database.get_many(keys.PEOPLE, aliases)
        with self._checked():
            return [None if value is None else decoded(value) for value in values]

    def _people(self, aliases: Sequence[bytes]) -> AlteredPeople:
        """Return people's registers, as far as some are remembered."""
        wanted = list(dict.fromkeys(aliases))
        found = zip(wanted, self._records(wanted), strict=True)
        known, schema = self._known, self._known.schema
        return AlteredPeople(
            records={alias: record for alias, record in found if record is not None},
            numbers=dict(zip(schema.attributes, known.attributes, strict=True)),
            origins=known.origins,
            n_lives=self._progress.n_lives,
            n_ended=self._progress.n_ended,
        )

    def _write(
        self,
        writes: Mapping[str, Writes],
        progress: Progress,
        positions: Mapping[tuple[str, int], Position] | None = None,
        identity: Mapping[str, str] | None = None,
    ) -> None:
        """Write a commit in one synced batch, then move the positions."""
        batch = self.database.batch()
        for family, rows in writes.items():
            batch.write(family, rows)
        progress = msgspec.structs.replace(progress, commits=self._progress.commits + 1)
        at = positions or {}
        known = self._known
        meta = meta_rows(known.origins, known.kinds, self._names, at, identity, progress)
        batch.write(keys.META, meta)
        self.database.commit(batch)
        self._committed(progress.commits)
        self._progress = progress
        self._positions.update({(p[0], p[1]): Position(*to) for p, to in at.items()})
        if identity is not None:
            self._identity = dict(identity)

    def _write_ledger(self, entries: Writes, pages: Writes) -> None:
        with self._lock:
            self._check_usable()
            with self._all_or_closed("write the ledger"):
                batch = self.database.batch()
                batch.write(keys.LEDGER, entries)
                batch.write(keys.PAGES, pages)
                # Counts of a cut are durable with its release.
                batch.write(keys.META, {keys.META_PROGRESS: msgspec.msgpack.encode(self._progress)})
                self.database.commit(batch)
                # What no feed can rebuild does not stay in the tail of a log for long.
                self.database.flush(keys.LEDGER)
                if pages:
                    self.database.flush(keys.PAGES)

    def _read_pages(self, names: list[bytes]) -> list[bytes | None]:
        with self._lock:
            self._check_usable()
            return self.database.get_many(keys.PAGES, names)

    def _drop_pages(self, prefix: bytes) -> None:
        with self._lock:
            self._check_usable()
            with self._all_or_closed("write the ledger"):
                self.database.drop(keys.PAGES, prefix)
