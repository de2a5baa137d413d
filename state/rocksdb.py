"""The durable store: one RocksDB, one writer, every commit one synced batch.

<path>/STORE         written last when a store is made: its format
<path>/db/           RocksDB, with the column families of `ktsafe.state.keys`
<path>/cuts/<slot>/  RocksDB checkpoint of the pending release cut, while there is one
<path>/frozen/<x>/   a second store like this one, for a reader that copies it (`freeze`)
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.state import keys
from ktsafe.state.changes import Told
from ktsafe.state.database import Batch, Database
from ktsafe.state.errors import StateError, StateUnusable
from ktsafe.state.folder import (
    CUTS,
    DATABASE,
    FROZEN,
    Witness,
    corrupted,
    drop_frozen,
    mark_made,
    size_bytes,
    usable,
)
from ktsafe.state.frozen_cut import FrozenCut
from ktsafe.state.ledger import Ledger, LedgerStorage, PendingCut, Writes
from ktsafe.state.recovery import (
    Progress,
    Recovered,
    check_schema,
    decode_record,
    meta_rows,
    open_database,
    open_witness,
    recover,
)
from ktsafe.state.registers import VertexRecord
from ktsafe.state.resident import Touched
from ktsafe.state.rows import Resolved
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.state.store import GraphStore, Position

PRUNED_AT_ONCE: Final = 2_000
"""Tombstones forgotten per batch: rocksdict writes hold the interpreter's lock."""
_NO_EDGES: Final = np.zeros(0, dtype=np.int64)

_encode_record: Final = msgspec.msgpack.Encoder().encode


class RocksDBStore(GraphStore):
    """A store on disk. Made by `open`.

    Methods may be called from several threads; writes go one after the other. After an error in a
    write only `close` works, since nobody knows what became durable: open the store again.
    """

    def __init__(
        self, path: Path, database: Database, witness: Witness, recovered: Recovered
    ) -> None:
        super().__init__(recovered.graph, recovered.positions, recovered.identity)
        self._path = path
        self._database = database
        self._progress = recovered.progress
        self._frozen = FrozenCut(path / CUTS, recovered.graph.schema)
        self._failed: StateError | None = None
        self._is_open = True
        self._lock = threading.RLock()
        self._witness = witness
        try:
            storage = LedgerStorage(
                self._write_ledger,
                self._read_pages,
                self._drop_pages,
                self._frozen.clear,
                lambda: corrupted(path),
            )
            self.ledger = Ledger(dict(database.scan(keys.LEDGER)), storage)
        except (ValueError, msgspec.DecodeError) as error:
            raise corrupted(path) from error
        self.ledger.drop_orphans()
        drop_frozen(path)
        self._frozen.clean_up(self.ledger.pending_cut(), self._progress, database)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], schema: Schema, *, accept_schema: bool = False
    ) -> RocksDBStore:
        """Open the store at `path`, making it (mode 0700) where there is none.

        Parameters
        ----------
        accept_schema:
            Take over a store of another schema and record the new one (`ktsafe rebase`).
            Attributes that the old schema did not list are missing until events give them.

        Raises
        ------
        StateLocked
            If another process holds the store.
        StateUnusable
            If the folder cannot be created, read or written.
        StateCorrupted
            If the store does not read back as written.
        StateMismatch
            If it has another format or another schema.
        """
        folder = Path(path)
        with ExitStack() as undo:
            database = open_database(folder, schema)
            undo.callback(database.close)
            recovered = recover(database, schema)
            witness = open_witness(folder, recovered.progress)
            undo.callback(witness.close)
            check_schema(database, recovered, schema, accept=accept_schema)
            store = cls(folder, database, witness, recovered)
            undo.pop_all()
        return store

    def commit(
        self,
        changes: Sequence[Told] | Resolved,
        positions: Mapping[tuple[str, int], Position],
        *,
        source_identity: Mapping[str, str] | None = None,
        cut: PendingCut | None = None,
    ) -> None:
        """Merge `changes` and advance `positions` in one atomic, synced write: a checkpoint.

        1. Read the registers that the changes alter, and before that the rows.
        2. Merge in memory.
        3. Write registers, rows, positions, source identity and cut in one synced batch.
        4. With `cut`: freeze the arrays in memory, and the database on disk before anything else
           is written. A crash between 3 and 4 leaves the live state equal to the cut's, and the
           next start makes up for step 4.

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
            merged, rows, _ = changes if isinstance(changes, Resolved) else self.resolve(changes)
            records = self._graph.prepare(merged, self._read)
            with self._all_or_closed("commit"):
                touched = self._graph.merge(merged, records)
                self._write(touched, positions, source_identity, cut_writes, rows)
                if cut is not None:
                    self._frozen.take(cut, self._graph.freeze(), self._database)
                    self.ledger.cut_taken(cut)

    def rows(self, keys_of_rows: Sequence[bytes]) -> list[bytes | None]:
        """Return what is held of rows."""
        with self._lock:
            self._check_usable()
            return self._database.get_many(keys.ROWS, keys_of_rows)

    def rows_from(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield what is held by keys that begin so, ascending."""
        with self._lock:
            self._check_usable()
            return self._database.scan_from(keys.ROWS, prefix)

    def snapshot(self) -> GraphSnapshot:
        """Return a copy of the graph as of the last commit."""
        with self._lock:
            self._check_usable()
            frozen = self._graph.freeze()
        return frozen.snapshot()

    def cut_snapshot(self) -> GraphSnapshot | None:
        """Return the graph as of the pending release cut, after a crash too; None without one."""
        with self._lock:
            self._check_usable()
            cut = self.ledger.pending_cut()
            if cut is None:
                return None
            arrays = self._frozen.arrays(cut, self._progress)
        return arrays.snapshot()

    def prune(self, horizon_us: int) -> int:
        """Forget tombstones older than `horizon_us`, which no accepted event can precede.

        Returns the number forgotten.
        """
        with self._lock:
            self._check_usable()
            numbers, edge_keys = self._graph.tombstones(horizon_us)
            for start in range(0, max(len(numbers), len(edge_keys)), PRUNED_AT_ONCE):
                some = slice(start, start + PRUNED_AT_ONCE)
                records = self._read(numbers[some])
                with self._all_or_closed("prune"):
                    touched = self._graph.forget(numbers[some], edge_keys[some], records)
                    self._write(touched, {}, None, {})
            return len(numbers) + len(edge_keys)

    def erasures_pending(self) -> int:
        """Return how many lives ended since the last `scrub`: bytes of them may be on disk."""
        return self._graph.vertices.n_ended - self._progress.n_scrubbed

    def scrub(self) -> None:
        """Rewrite the tables until no byte of deleted persons is left in them or in the log.

        1. Write every column family from the log to tables; the log before it goes.
        2. Compact: what was overwritten or deleted goes with the old tables.
        3. Note how many lives had ended at step 1. A crash before it repeats the work.
        """
        with self._lock:
            self._check_usable()
            n_ended = self._graph.vertices.n_ended
            self.thaw()  # A copy that is being made begins again, without the deleted.
            self._database.scrub()
            with self._all_or_closed("scrub"):
                self._progress = msgspec.structs.replace(self._progress, n_scrubbed=n_ended)
                self._write(Touched({}, _NO_EDGES, _NO_EDGES), {}, None, {})

    def freeze(self) -> Path:
        """Make a second store of the state as of now, of hard links mostly; return its folder."""
        with self._lock:
            self._check_usable()
            folder = self._path / FROZEN / secrets.token_hex(8)
            with usable("freeze the store", folder):
                folder.parent.mkdir(mode=0o700, exist_ok=True)
                folder.mkdir(mode=0o700)
                self._database.checkpoint(folder / DATABASE)
                if (self._path / CUTS).is_dir():  # Its files are never written again.
                    shutil.copytree(self._path / CUTS, folder / CUTS, copy_function=os.link)
            mark_made(folder)
            return folder

    def thaw(self) -> None:
        """Remove frozen states."""
        drop_frozen(self._path)

    def gone(self, ids: Sequence[str], n_lives: int) -> list[bool]:
        """Return for each person whether no life among the first `n_lives` goes on."""
        with self._lock:
            return super().gone(ids, n_lives)

    def size_bytes(self) -> int:
        """Return the bytes of all files; those shared with a frozen state count once."""
        return size_bytes(self._path)

    def close(self) -> None:
        """Release every handle and the lock. Safe to call twice."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._witness.close()
                # After a write that failed its error says what is wrong, not that of closing.
                with nullcontext() if self._failed is None else suppress(StateError):
                    self._database.close()

    def _check_usable(self) -> None:
        if not self._is_open:
            raise StateUnusable("use the store", str(self._path), "It is closed.")
        if self._failed is not None:
            raise self._failed

    @contextmanager
    def _all_or_closed(self, op: str) -> Iterator[None]:
        """Let memory run ahead of the disk inside; if the disk does not follow, close for good."""
        self._failed = StateUnusable(
            op, str(self._path), "An earlier write failed. Start again to go on from the disk."
        )
        yield
        self._failed = None

    def _read(self, numbers: Sequence[int]) -> list[VertexRecord]:
        pack = keys.VERTEX_KEY.pack
        values = self._database.get_many(keys.VERTICES, [pack(number) for number in numbers])
        try:
            return [decode_record(value) for value in values]
        except (ValueError, msgspec.DecodeError) as error:
            raise corrupted(self._path) from error

    def _write(
        self,
        touched: Touched,
        positions: Mapping[tuple[str, int], Position],
        identity: Mapping[str, str] | None,
        ledger: Writes,
        rows: Writes | None = None,
    ) -> None:
        """Write all of a commit in one synced batch, then move the resident positions on."""
        if rows:
            self._database.make(keys.ROWS)
        batch = self._database.batch()
        self._put_graph(batch, touched)
        batch.write(keys.ROWS, rows or {})
        commits = self._progress.commits + 1
        progress = Progress(
            commits=commits,
            n_vertices=self._graph.vertices.n_held,
            n_edges=len(self._graph.edges.rows),
            cut_commits=commits if ledger else self._progress.cut_commits,
            n_lives=self._graph.vertices.n_lives,
            n_ended=self._graph.vertices.n_ended,
            n_scrubbed=self._progress.n_scrubbed,
        )
        graph = self._graph
        meta = meta_rows(graph.origins, graph.attributes, positions, identity, progress)
        batch.write(keys.META, meta)
        batch.write(keys.LEDGER, ledger)
        self._database.commit(batch)
        self._witness.write(commits)
        self._progress = progress
        self._positions.update({(p[0], p[1]): Position(*at) for p, at in positions.items()})
        if identity is not None:
            self._identity = dict(identity)

    def _put_graph(self, batch: Batch, touched: Touched) -> None:
        put, delete = batch.put, batch.delete
        handle, pack = self._database.handles[keys.VERTICES], keys.VERTEX_KEY.pack
        for number, record in touched.vertices.items():
            if record is None:
                delete(pack(number), handle)
            else:
                put(pack(number), _encode_record(record), handle)
        handle = self._database.handles[keys.EDGES]
        is_kept = touched.edge_rows >= 0
        for name in _cells(touched.edge_keys[~is_kept].astype(">u8")):
            delete(name, handle)
        names = _cells(touched.edge_keys[is_kept].astype(">u8"))
        values = _cells(self._graph.edges.stored(touched.edge_rows[is_kept]))
        for name, value in zip(names, values, strict=True):
            put(name, value, handle)

    def _write_ledger(self, entries: Writes, pages: Writes) -> None:
        with self._lock:
            self._check_usable()
            with self._all_or_closed("write the ledger"):
                batch = self._database.batch()
                batch.write(keys.LEDGER, entries)
                batch.write(keys.PAGES, pages)
                self._database.commit(batch)
                # What no feed can rebuild does not stay in the tail of a log for long.
                self._database.flush(keys.LEDGER)
                if pages:
                    self._database.flush(keys.PAGES)

    def _read_pages(self, names: list[bytes]) -> list[bytes | None]:
        with self._lock:
            self._check_usable()
            return self._database.get_many(keys.PAGES, names)

    def _drop_pages(self, prefix: bytes) -> None:
        with self._lock:
            self._check_usable()
            with self._all_or_closed("write the ledger"):
                self._database.drop(keys.PAGES, prefix)


def _cells(values: NDArray[Any]) -> list[bytes]:
    """Return the bytes of each value of an array."""
    cells: list[bytes] = values.view(f"V{values.itemsize}").tolist()
    return cells
