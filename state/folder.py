"""Files beside RocksDB: a marker, and a witness of commits.

Both guard against what RocksDB takes in good faith: it makes an empty database where files are
gone, and it goes back in time where its log was cut short.

Names of files and folders, and the witness, are those of existing states and backups. Hints may be
reworded. Every guard has its damage in tests/state/test_corruption.py, test_inspection.py and
test_crash.py.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from ktsafe.state import keys
from ktsafe.state.database import RESTORE
from ktsafe.state.store_base import (
    StateCorrupted,
    StateFull,
    StateLocked,
    StateMismatch,
    StateUnusable,
)

MARKER: Final = "STORE"
WITNESS: Final = "COMMITS"
DATABASE: Final = "db"
CUTS: Final = "cuts"
FROZEN: Final = "frozen"

_COUNT: Final = struct.Struct(">Q8s")


class Witness:
    """The number of commits made, in a file of its own.

    It is not synced: losing its last writes weakens the check and never breaks it, because a
    commit is durable before it is counted here. A store without the file (a restored backup) is
    taken as it is.
    """

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._folder = folder
        self._descriptor = os.open(folder / WITNESS, flags, 0o600)

    def read(self) -> int:
        """Return the number of commits made, 0 if unknown.

        Raises
        ------
        StateCorrupted
            If something else was written there.
        """
        return _count(os.pread(self._descriptor, _COUNT.size + 1, 0), self._folder)

    def write(self, commits: int) -> None:
        """Count up to `commits`."""
        os.pwrite(self._descriptor, _COUNT.pack(commits, _check_of(commits)), 0)

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_witness(folder: Path) -> int:
    """Return the commits counted beside a store that is inspected.

    0: not known.

    Raises
    ------
    StateUnusable
    StateCorrupted
        If something else was written there.
    """
    try:
        with (folder / WITNESS).open("rb") as file:
            data = file.read(_COUNT.size + 1)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise unusable("look at the store", folder, error) from error
    return _count(data, folder)


def _count(data: bytes, folder: Path) -> int:
    """Return a witness's count.

    An empty file is one that a crash came before.
    """
    if not data:
        return 0
    if len(data) == _COUNT.size:
        commits, check = _COUNT.unpack(data)
        if check == _check_of(commits):
            return int(commits)
    raise corrupted(folder / WITNESS)


def _check_of(commits: int) -> bytes:
    return hashlib.blake2b(commits.to_bytes(8, "big"), digest_size=8).digest()


def make_folder(folder: Path) -> bool:
    """Make the folder of a store, mode 0700, unless it is there.

    Returns
    -------
    bool
        Whether there is a finished store in it.

    Raises
    ------
    StateUnusable
        If the folder cannot be made or read.
    StateMismatch
        If the store has another format.
    StateCorrupted
        If a store was finished here and its database is gone.
    """
    marker = folder / MARKER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not marker.exists():
            return False
        version = msgspec.json.decode(marker.read_bytes(), type=int)
        has_database = (folder / DATABASE / "CURRENT").exists()
    except OSError as error:
        raise unusable("open the store", folder, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise corrupted(marker) from error
    _check_format(version, folder)
    if not has_database:
        raise corrupted(folder)
    return True


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep every service off a finished store not opened for writing.

    Not for a process that has it open: with the file it would let go of its own lock. On a file
    system that is mounted read-only nobody writes, so nothing has to be kept off.

    Raises
    ------
    StateLocked
        If a process holds it.
    """
    path = folder / DATABASE / "LOCK"
    try:
        # RocksDB's own lock; a restored store has none until it is opened.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        yield
        return
    with os.fdopen(descriptor, "r+b") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "Another process holds this store. Stop it first."
            raise StateLocked("hold the store", str(folder), hint) from None
        yield


def clear_unfinished(folder: Path) -> None:
    """Remove what an interrupted attempt to make a store left.

    Raises
    ------
    StateCorrupted
        If there are tables: then a store was finished, and lost its marker and more.
    StateUnusable
    """
    database = folder / DATABASE
    if (database / "CURRENT").exists():
        return  # RocksDB was done; what is missing is added
    if any(database.glob("*.sst")):
        raise corrupted(folder)
    with usable("make the store", folder):
        if database.exists():
            shutil.rmtree(database)
        # A count that an earlier, deleted store left behind says nothing about the new one.
        (folder / WITNESS).unlink(missing_ok=True)


def mark_made(folder: Path) -> None:
    """Write, durably, that `folder` holds a complete store of this format."""
    marker, text = folder / MARKER, msgspec.json.encode(keys.FORMAT)
    with usable("open the store", folder):
        if marker.exists() and marker.read_bytes() == text:
            return
        partial = marker.with_suffix(".partial")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(marker)
        sync_folder(folder)


def drop_frozen(folder: Path) -> None:
    """Remove a store's frozen states, at once for unfinished copies.

    What cannot be removed now is removed at the next start.
    """
    gone = folder / f"{FROZEN}.gone"
    shutil.rmtree(gone, ignore_errors=True)
    with suppress(FileNotFoundError):
        (folder / FROZEN).rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def size_bytes(folder: Path) -> int:
    """Return the bytes of all files below, shared ones once."""
    sizes: dict[int, int] = {}
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                status = (Path(at) / name).stat()
            except FileNotFoundError:  # RocksDB deletes files whenever it compacts
                continue
            sizes[status.st_ino] = status.st_size
    return sum(sizes.values())


def sync_folder(folder: Path) -> None:
    """Make the entries of `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def corrupted(path: Path) -> StateCorrupted:
    """Return the error of a store that lacks what was written."""
    return StateCorrupted("read the store", str(path), RESTORE)


@contextmanager
def usable(op: str, path: Path) -> Iterator[None]:
    """Turn the system's error on a folder into one for operators.

    Raises
    ------
    StateUnusable
    """
    try:
        yield
    except OSError as error:
        raise unusable(op, path, error) from error


def unusable(op: str, path: Path, error: OSError) -> StateUnusable:
    """Return the error of a folder that cannot be used."""
    kind = StateFull if error.errno in {errno.ENOSPC, errno.EDQUOT} else StateUnusable
    return kind(op, str(path), f"{error.strerror}. Make the folder usable (space, permissions).")


def _check_format(version: int, path: Path) -> None:
    """Refuse a store of another format.

    Raises
    ------
    StateMismatch
    """
    if version == keys.FORMAT:
        return
    hint = (
        f"It has format {version}; this version reads {keys.FORMAT}. If a build before 0.1.0 made "
        "it, convert it once, with the laboratory: `python -m lab.convert FOLDER`. Else upgrade "
        "ktsafe."
    )
    raise StateMismatch("open the store", str(path), hint)
