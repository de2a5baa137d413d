"""The state as of the pending release cut, kept until its release is staged.

In memory it is a copy of the arrays; on disk a RocksDB checkpoint, hard links mostly, in
`<store>/cuts/<slot>`, for the case that the process ends before the release is staged.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ktsafe import Schema
from ktsafe.state.database import Database
from ktsafe.state.folder import corrupted, sync_folder, usable
from ktsafe.state.ledger import PendingCut
from ktsafe.state.recovery import Progress, recover
from ktsafe.state.snapshot import FrozenArrays


class FrozenCut:
    """The one frozen state there may be.

    Parameters
    ----------
    folder:
        Where frozen states lie on disk; nothing else does.
    """

    def __init__(self, folder: Path, schema: Schema) -> None:
        self._folder = folder
        self._schema = schema
        self._arrays: FrozenArrays | None = None

    def take(self, cut: PendingCut, arrays: FrozenArrays, database: Database) -> None:
        """Freeze `database` as it is now; `arrays` is the same state in memory.

        Raises
        ------
        StateUnusable
        """
        self._freeze(cut, database)
        self._arrays = arrays

    def arrays(self, cut: PendingCut, progress: Progress) -> FrozenArrays:
        """Return the frozen state, from disk if this process did not freeze it.

        Raises
        ------
        StateCorrupted
            If it does not read back as written, or belongs to another commit.
        """
        if self._arrays is None:
            folder = self._slot_folder(cut)
            if not _is_whole(folder):
                raise corrupted(folder)
            database = Database(folder, create=False, read_only=True)
            try:
                recovered = recover(database, self._schema)
            finally:
                database.close()
            if recovered.progress.commits != progress.cut_commits:
                raise corrupted(folder)
            self._arrays = recovered.graph.freeze()
        return self._arrays

    def check(self, cut: PendingCut, progress: Progress) -> None:
        """Check every block of the frozen state on disk, where a start would need it.

        Raises
        ------
        StateCorrupted
            If it does not read back as written, or belongs to another commit.
        """
        folder = self._slot_folder(cut)
        if not _is_whole(folder) and progress.commits == progress.cut_commits:
            return  # The live state is the one to freeze: see `clean_up`.
        self.arrays(cut, progress)
        database = Database(folder, create=False, read_only=True)
        try:
            database.verify()
        finally:
            database.close()

    def clean_up(self, cut: PendingCut | None, progress: Progress, database: Database) -> None:
        """Make the folders agree with the ledger after a start.

        No cut is pending: they are leftovers. One is: its folder is there, or the process ended
        right after the commit and the live state is still the one to freeze. (If it has moved on,
        the folder was lost later; `arrays` will say so, and the cut can be dropped.)
        """
        wanted = None if cut is None else self._slot_folder(cut)
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if folder != wanted:
                shutil.rmtree(folder, ignore_errors=True)
        is_lost = wanted is not None and not _is_whole(wanted)
        if cut is not None and is_lost and progress.commits == progress.cut_commits:
            self._freeze(cut, database)

    def clear(self) -> None:
        """Free the frozen state; what cannot be removed now is removed at the next start."""
        self._arrays = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _slot_folder(self, cut: PendingCut) -> Path:
        return self._folder / str(cut.slot_us)

    def _freeze(self, cut: PendingCut, database: Database) -> None:
        folder = self._slot_folder(cut)
        with usable("freeze the store", folder):
            # No other cut is pending, so what lies here could not be removed earlier.
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            # RocksDB fills a temporary folder and renames it: a folder of this name is whole.
            database.checkpoint(folder)
            sync_folder(self._folder)
            sync_folder(self._folder.parent)


def _is_whole(folder: Path) -> bool:
    # Looked at before opening, since opening makes a folder even to say that there is none.
    return (folder / "CURRENT").exists()
