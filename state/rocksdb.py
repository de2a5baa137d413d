"""The durable store: one RocksDB, one writer, every commit one synced batch.

<path>/STORE         written last when a store is made: its format
<path>/db/           RocksDB, with the column families of `ktsafe.state.keys`
<path>/cuts/<slot>/  RocksDB checkpoint of the pending release cut, while there is one
<path>/frozen/<x>/   a second store like this one, for a reader that copies it (`freeze`)

How it uses the disk may be changed; names of folders are those of states and backups. What every
store does is in `store`, and tests/state/test_conformance.py asks it of both; here stands what
needs a disk (test_rocksdb.py, test_crash.py).
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from ktsafe import Schema
from ktsafe.state.database import Database
from ktsafe.state.folder import (
    CUTS,
    DATABASE,
    FROZEN,
    Witness,
    corrupted,
    drop_frozen,
    mark_made,
    size_bytes,
    sync_folder,
    usable,
)
from ktsafe.state.ledger import PendingCut
from ktsafe.state.recovery import Recovered, check_schema, open_database, open_witness, recover
from ktsafe.state.store import GraphStore, KeptCut
from ktsafe.state.store_base import Progress, StateError


class RocksDBStore(GraphStore):
    """A store on disk. Made by `open`."""

    def __init__(
        self, path: Path, database: Database, witness: Witness, recovered: Recovered
    ) -> None:
        self._path = path
        self._disk = database
        self._witness = witness
        self._cuts = CutFolder(path / CUTS)
        super().__init__(database, recovered)
        drop_frozen(path)
        self._cuts.clean_up(self.ledger.pending_cut(), self._progress, database)

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], schema: Schema, *, accept_schema: bool = False
    ) -> RocksDBStore:
        """Open the store at `path`; make it (mode 0700) if missing.

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
            recovered = recover(database, schema, folder)
            witness = open_witness(folder, recovered.progress)
            undo.callback(witness.close)
            check_schema(database, recovered, schema, accept=accept_schema)
            store = cls(folder, database, witness, recovered)
            undo.pop_all()
        return store

    def freeze(self) -> Path:
        """Copy the state of now by hard links; return the folder."""
        with self._lock:
            self._check_usable()
            folder = self._path / FROZEN / secrets.token_hex(8)
            with usable("freeze the store", folder):
                folder.parent.mkdir(mode=0o700, exist_ok=True)
                folder.mkdir(mode=0o700)
                self._disk.checkpoint(folder / DATABASE)
                if (self._path / CUTS).is_dir():  # Its files are never written again.
                    shutil.copytree(self._path / CUTS, folder / CUTS, copy_function=os.link)
            mark_made(folder)
            return folder

    def thaw(self) -> None:
        """Remove frozen states."""
        drop_frozen(self._path)

    def size_bytes(self) -> int:
        """Return the bytes of all files, once if shared with frozen states."""
        return size_bytes(self._path)

    def close(self) -> None:
        """Release every handle and the lock. Safe to call twice."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._witness.close()
                # After a write that failed its error says what is wrong, not that of closing.
                with nullcontext() if self._failed is None else suppress(StateError):
                    self._disk.close()

    def _keep_cut(self, cut: PendingCut) -> None:
        self._cuts.keep(cut, self._disk)

    def _kept_cut(self, cut: PendingCut) -> KeptCut:
        return self._cuts.opened(cut, self._known.schema)

    def _cut_gone(self) -> None:
        self._at_cut = None
        self._cuts.clear()

    def _committed(self, commits: int) -> None:
        self._witness.write(commits)


class CutFolder:
    """Database as of the pending cut, kept until its release is staged.

    It is a RocksDB checkpoint, hard links mostly, for the case that the process ends before that.
    What was said before the cut and not folded yet is in it as it was said.

    Parameters
    ----------
    folder:
        Where they lie on disk; nothing else does.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, cut: PendingCut, database: Database) -> None:
        """Keep `database` as it is now.

        Raises
        ------
        StateUnusable
        """
        folder = self._of(cut)
        with usable("freeze the store", folder):
            # No other cut is pending, so what lies here could not be removed earlier.
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            # RocksDB fills a temporary folder and renames it: a folder of this name is whole.
            database.checkpoint(folder)
            sync_folder(self._folder)
            sync_folder(self._folder.parent)

    @contextmanager
    def opened(self, cut: PendingCut, schema: Schema) -> Iterator[tuple[Database, Progress]]:
        """Open what was kept, for reading.

        Raises
        ------
        StateCorrupted
            If it is not there, or does not read back as written.
        """
        folder = self._of(cut)
        if not self.is_whole(cut):
            raise corrupted(folder)
        database = Database(folder, create=False, read_only=True)
        try:
            yield database, recover(database, schema, folder).progress
        finally:
            database.close()

    def is_whole(self, cut: PendingCut) -> bool:
        """Whether the database of a cut is there."""
        # Looked at before opening, since opening makes a folder even to say that there is none.
        return (self._of(cut) / "CURRENT").exists()

    def clean_up(self, cut: PendingCut | None, progress: Progress, database: Database) -> None:
        """Make the folders agree with the ledger after a start.

        No cut is pending: they are leftovers. One is: its folder is there, or the process ended
        right after the commit and the live state is still the one to keep. (If it has moved on,
        the folder was lost later; `opened` will say so, and the cut can be dropped.)
        """
        wanted = None if cut is None else self._of(cut)
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if folder != wanted:
                shutil.rmtree(folder, ignore_errors=True)
        is_live = progress.commits == progress.cut_commits
        if cut is not None and is_live and not self.is_whole(cut):
            self.keep(cut, database)

    def clear(self) -> None:
        """Free what was kept, at the next start what fails now."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _of(self, cut: PendingCut) -> Path:
        return self._folder / str(cut.slot_us)
