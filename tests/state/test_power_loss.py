"""A power loss drops what was not synced: nothing that was acknowledged is among it."""

from __future__ import annotations

import contextlib
import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ktsafe.state import database
from ktsafe.state.changes import VertexUpsert
from ktsafe.state.ledger import PendingCut
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store import Position
from tests.state.support import SCHEMA, plain, stamp


class Disk:
    """What a power loss leaves of a store: the folder as it was when its log was last synced."""

    def __init__(self, path: Path, image: Path, options: list[Any]) -> None:
        self._path, self._image, self.options_of = path, image, options
        self._n_synced = self._synced()
        self._take()

    def _synced(self) -> int:
        told = self.options_of[0].get_statistics()
        found = re.search(r"^rocksdb\.wal\.synced COUNT : (\d+)", told, re.MULTILINE)
        assert found
        return int(found[1])

    def _take(self) -> None:
        """Copy the folder as it is at one moment: again if a flush beside changed it meanwhile."""
        before: dict[str, tuple[int, int]] | None = None
        while before is None or before != self._files():
            before = self._files()
            shutil.rmtree(self._image, ignore_errors=True)
            with contextlib.suppress(shutil.Error, FileNotFoundError):
                shutil.copytree(self._path, self._image)

    def _files(self) -> dict[str, tuple[int, int]]:
        """Return size and time of change of each file."""
        found = {}
        for path in self._path.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                told = path.stat()
                found[str(path)] = (told.st_size, told.st_mtime_ns)
        return found

    def left(self) -> Path:
        """Return a copy of what would be left now."""
        if (n_synced := self._synced()) > self._n_synced:
            self._n_synced = n_synced
            self._take()
        left = self._image.with_name("left")
        shutil.rmtree(left, ignore_errors=True)
        return Path(shutil.copytree(self._image, left))


def test_a_power_loss_takes_nothing_that_was_acknowledged(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each commit, with a cut or without, what is synced has it, and its position."""
    made: list[Any] = []
    real = database.options_of

    def counted(*args: Any, **kwargs: Any) -> Any:
        options = real(*args, **kwargs)
        options.enable_statistics()
        made.append(options)
        return options

    monkeypatch.setattr(database, "options_of", counted)
    with closing(RocksDBStore.open(path, SCHEMA)) as store:
        disk = Disk(path, tmp_path / "image", made)
        for number in range(1, 9):
            change = VertexUpsert(stamp(number), f"p{number}", {"gender": "f"})
            cut = PendingCut(number, {"t/0": number}) if number % 3 == 0 else None
            if store.ledger.pending_cut() is not None:
                store.ledger.drop_cut()
            store.commit([change], {("t", 0): Position(number, number)}, cut=cut)
            with monkeypatch.context() as plainly:
                plainly.setattr(database, "options_of", real)
                with closing(RocksDBStore.open(disk.left(), SCHEMA)) as found:
                    assert found.positions() == store.positions()
                    assert plain(found.snapshot()) == plain(store.snapshot())
                    assert found.ledger.pending_cut() == cut
