"""RocksDB through rocksdict: opening, reading, writing, and its errors.

rocksdict raises bare `Exception` for everything; nothing outside this module sees one. Limits of
version 0.3.29 that shape it:

- an iterator that meets a damaged block may just end: a scan knows how many rows to expect;
- a handle of a column family keeps the lock after `close`: all of them are dropped first;
- an iterator over a snapshot sees later writes: no snapshot is used, checkpoints are.

Sizes of caches, logs and tables may be tuned. Messages of RocksDB are matched as texts: another
version needs tests/state/test_corruption.py, test_crash.py and test_power_loss.py, which damage,
cut and kill.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

import rocksdict

from ktsafe.state.keys import CHANGES, FAMILIES, has_false_end, has_recycled
from ktsafe.state.ledger import Writes
from ktsafe.state.store_base import (
    StateCorrupted,
    StateError,
    StateFull,
    StateLocked,
    StateUnusable,
)

RESTORE: Final = (
    "The store does not read back as written. Restore a backup with `ktsafe state restore`. "
    "Without one: where only the memory of the sequence is damaged, `ktsafe rebase` begins a new "
    "one; else move the store away, let it be built again from the feed, and publish to a new "
    "folder or topic, since nothing is known of the releases at the old one then."
)
_MEMTABLE_BYTES: Final = 16 << 20
_WAL_BYTES_MAX: Final = 128 << 20
_CACHE_BYTES: Final = 8 << 20
"""Blocks kept in memory, of all families together. By default each of them would fill 32 MiB, with
blocks of tables that are gone; what is read again soon, the system keeps."""
_LOG_BYTES_MAX: Final = 1 << 20
"""Of the file in which RocksDB tells what it does; two are kept."""
_ROWS_AT_ONCE: Final = 10_000
_TABLE_BYTES: Final = 64 << 20
"""Of a table that is written at once: as great as those that RocksDB makes of others."""
_NO_TABLE_ALONE: Final = "External file version not found"
"""What RocksDB says of a table to be taken in that was written by itself, not by `fill`."""
_READ_ONLY: Final = "Read-only file system"
_FULL: Final = ("No space left", "Disk quota exceeded")
_UNUSABLE: Final = (
    *_FULL,
    "Permission denied",
    _READ_ONLY,
    "Too many open files",
    "Not a directory",
    "Input/output error",
)


class StoredRows(Protocol):
    """A database that is read."""

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of `keys`, None where there is none."""

    def all(self, family: str, after: bytes | None = None) -> list[tuple[bytes, bytes]]:
        """Return keys and values of a column family behind a key, ascending."""


class Storage(StoredRows, Protocol):
    """A database that is written, by one process."""

    path: Path

    def scan_from(self, family: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that begin so, and their values, ascending."""

    def batch(self) -> Any:
        """Return a new, empty batch: see `Batch`."""

    def commit(self, batch: Any) -> None:
        """Write a batch and return once it is on disk."""

    def flush(self, family: str) -> None:
        """Move a column family from the log to its own table."""

    def drop(self, family: str, prefix: bytes) -> None:
        """Delete rows by key prefix, unreadable from the files too."""

    def scrub(self) -> None:
        """Make all that was overwritten or deleted unreadable from the files."""


class Batch:
    """Writes that take effect together or not at all."""

    def __init__(self, handles: dict[str, Any]) -> None:
        self._handles = handles
        self._batch = rocksdict.WriteBatch(raw_mode=True)
        self.put = self._batch.put
        self.delete = self._batch.delete
        self.delete_range = self._batch.delete_range

    def write(self, family: str, writes: Writes) -> None:
        """Add puts and, for None, deletes in one column family."""
        if not writes:
            return
        handle = self._handles[family]
        for key, value in writes.items():
            if value is None:
                self.delete(key, handle)
            else:
                self.put(key, value, handle)


class Database:
    """An open RocksDB with the column families of `ktsafe.state.keys`.

    Parameters
    ----------
    create:
        Whether a database may be made where there is none.
    read_only:
        Open without the lock, and write nothing.

    Raises
    ------
    StateLocked, StateUnusable, StateCorrupted
    """

    def __init__(self, path: Path, *, create: bool, read_only: bool = False) -> None:
        self.path = path
        access = (
            rocksdict.AccessType.read_only(False)
            if read_only
            else rocksdict.AccessType.read_write()
        )
        self._sync = rocksdict.WriteOptions()
        self._sync.sync = True
        self._mirror: TemporaryDirectory[str] | None = None
        try:
            self._open(path, access, create=create)
        except StateUnusable as error:
            if not (read_only and _READ_ONLY in error.hint):
                raise
            self._mirror = _mirror(path)
            self._open(Path(self._mirror.name), access, create=create)

    def _open(self, path: Path, access: Any, *, create: bool) -> None:
        with _errors("open the store", path, missing_is_damage=not create):
            manifests, logs = list(path.glob("MANIFEST-*")), path.glob("*.log")
            if any(map(has_recycled, (*manifests, *logs))) or any(map(has_false_end, manifests)):
                raise StateCorrupted("open the store", str(path), RESTORE)
            cache = rocksdict.Cache(_CACHE_BYTES)
            self.db = rocksdict.Rdict(
                str(path),
                options_of(cache, create=create),
                column_families={
                    family: options_of(cache, create=create, is_only_scanned=family == CHANGES)
                    for family in FAMILIES
                },
                access_type=access,
            )
            self._families = {name: self.db.get_column_family(name) for name in FAMILIES}
            self.handles = {name: self.db.get_column_family_handle(name) for name in FAMILIES}

    def batch(self) -> Batch:
        """Return a new, empty batch."""
        return Batch(self.handles)

    def commit(self, batch: Batch) -> None:
        """Write a batch; return once it is on disk (log, fsync).

        Raises
        ------
        StateUnusable, StateCorrupted
            If it is not known to be durable: only opening the store again tells.
        """
        with _errors("write to the store", self.path):
            self.db.write(batch._batch, self._sync)  # noqa: SLF001 -- two halves of one thing

    def fill(self, family: str, rows: Iterable[tuple[bytes, bytes]]) -> int:
        """Fill an empty column family with ascending rows; return their number.

        They become tables, synced, that the database takes in all at once: nothing goes through
        its log, and nothing has to be compacted.

        Raises
        ------
        StateUnusable, StateCorrupted
        """
        n_rows = 0
        paths: list[str] = []
        options = options_of(rocksdict.Cache(_CACHE_BYTES), create=False)
        moved = rocksdict.IngestExternalFileOptions()
        moved.set_move_files(True)
        following = iter(rows)
        with TemporaryDirectory(prefix="tables-", dir=self.path.parent) as folder:
            table = None
            while block := list(itertools.islice(following, _ROWS_AT_ONCE)):
                with _errors("fill the store", self.path):
                    if table is None:
                        paths.append(str(Path(folder) / f"{len(paths)}.sst"))
                        table = rocksdict.SstFileWriter(options)
                        table.open(paths[-1])
                    for key, value in block:
                        table[key] = value
                    if table.file_size() >= _TABLE_BYTES:
                        table.finish()
                        table = None
                n_rows += len(block)
            with _errors("fill the store", self.path):
                if table is not None:
                    table.finish()
                if paths:
                    self._families[family].ingest_external_file(paths, moved)
        return n_rows

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of `keys`, read in bulk."""
        if not keys:
            return []
        with _errors("read the store", self.path):
            values: list[bytes | None] = self._families[family].get(keys)
        return values

    def all(self, family: str, after: bytes | None = None) -> list[tuple[bytes, bytes]]:
        """Return keys and values behind a key, ascending: see `scan_blocks`."""
        return list(itertools.chain.from_iterable(self.scan_blocks(family, after=after)))

    def scan_blocks(
        self, family: str, n_rows: int = _ROWS_AT_ONCE, after: bytes | None = None
    ) -> Iterator[list[tuple[bytes, bytes]]]:
        """Yield a column family's keys and values, ascending, in parts.

        With `after` those behind that key.

        It may end early, without a word, at a block that does not match its checksum: the caller
        must know how many rows to expect.

        Raises
        ------
        StateCorrupted, StateUnusable
        """
        rows = None
        try:
            with _errors("read the store", self.path):
                first = None if after is None else after + b"\0"
                rows = self._families[family].items(from_key=first)
                while block := list(itertools.islice(rows, n_rows)):
                    yield block
        finally:
            # A traceback may keep this frame alive, and the iterator would keep the lock.
            rows = None

    def scan_from(self, family: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that begin so, and their values, ascending.

        Raises
        ------
        StateCorrupted, StateUnusable
        """
        rows = None
        try:
            with _errors("read the store", self.path):
                rows = self._families[family].iter()
                rows.seek(prefix)
                while rows.valid() and (key := rows.key()).startswith(prefix):
                    yield key, rows.value()
                    rows.next()
                rows.status()
        finally:
            rows = None  # As in `scan_blocks`: an iterator keeps the lock.

    def verify(self) -> None:
        """Read every block of tables and log; compare it with its checksum.

        Rows that were overwritten or deleted since are read, too: what compacts them later would
        fail on them. Filters are not: RocksDB goes on without one that does not read back.

        Raises
        ------
        StateCorrupted, StateUnusable
        """
        for family in self._families.values():
            rows = None
            try:
                with _errors("read the store", self.path, missing_is_damage=True):
                    rows = family.iter()
                    rows.seek_to_first()
                    while rows.valid():
                        rows.next()
                    rows.status()
            finally:
                rows = None  # As in `scan_blocks`: an iterator keeps the lock.

    def flush(self, family: str) -> None:
        """Move a column family from the write-ahead log to a table."""
        with _errors("flush the store", self.path):
            self._families[family].flush()

    def scrub(self) -> None:
        """Make all overwritten and deleted bytes unreadable from the files.

        Every column family goes from the log to a table, and every table is written anew. RocksDB
        removes the old files itself.
        """
        with _errors("scrub the store", self.path):
            # All are flushed before any is compacted: a log goes only when none needs it.
            for family in self._families.values():
                family.flush()
            for family in self._families.values():
                family.compact_range(None, None, _thorough())

    def drop(self, family: str, prefix: bytes) -> None:
        """Delete rows by key prefix, unreadable from the files too."""
        first, end = prefix, prefix + b"\xff"
        batch = self.batch()
        batch.delete_range(first, end, self.handles[family])
        self.commit(batch)
        with _errors("scrub the store", self.path):
            self._families[family].flush()
            self._families[family].compact_range(first, end, _thorough())

    def checkpoint(self, path: Path) -> None:
        """Make a second database at `path`, of hard links mostly."""
        with _errors("freeze the store", path):
            rocksdict.Checkpoint(self.db).create_checkpoint(str(path))

    def close(self) -> None:
        """Close, and let go of the lock. Safe to call twice.

        Raises
        ------
        StateUnusable, StateCorrupted
            If the disk refuses what RocksDB writes at the end; every commit is on it all the same.
        """
        self.handles.clear()
        self._families.clear()
        try:
            with _errors("close the store", self.path):
                self.db.close()
        finally:
            if self._mirror is not None:
                self._mirror.cleanup()


def table_rows(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield a table's rows, decompressed, also those overwritten since.

    No snapshot is ever used, so a table has one row for a key.

    Raises
    ------
    StateCorrupted, StateUnusable
    """
    with TemporaryDirectory(prefix="ktsafe-look-") as folder:
        options = options_of(rocksdict.Cache(_CACHE_BYTES), create=True)
        database = None
        try:
            with _errors("read the store", path, missing_is_damage=True):
                if _is_taken_in(path, folder, options):
                    families = {}
                else:
                    _repair(path, folder, options)
                    families = dict.fromkeys(rocksdict.Rdict.list_cf(folder), options)
                access = rocksdict.AccessType.read_only(False)
                database = rocksdict.Rdict(
                    folder, options, column_families=families, access_type=access
                )
                yield from database.items()
                for name in families:
                    if name != "default":
                        yield from database.get_column_family(name).items()
        finally:
            if database is not None:
                database.close()


def _is_taken_in(path: Path, folder: str, options: Any) -> bool:
    """Make a database of a copied table that `fill` wrote."""
    database = rocksdict.Rdict(folder, options)
    try:
        database.ingest_external_file([str(path)])
    except Exception as error:
        if _NO_TABLE_ALONE not in str(error):
            raise
        return False
    finally:
        database.close()
    return True


def _repair(path: Path, folder: str, options: Any) -> None:
    """Make a database of a link to one table of RocksDB.

    One that `fill` wrote would be passed over: it does not say which column family it is of.
    """
    rocksdict.Rdict.destroy(folder, options)
    Path(folder).mkdir(exist_ok=True)
    (Path(folder) / path.name).symlink_to(path.resolve())
    rocksdict.Rdict.repair(folder, options)


def _mirror(path: Path) -> TemporaryDirectory[str]:
    """Return a folder with links to a read-only database's files.

    Where a database is opened, even for reading, rocksdict writes a file, RocksDB a log beside it.
    Nothing changes on such a disk, so the links stay true.
    """
    mirror = TemporaryDirectory(prefix="ktsafe-look-")
    for file in path.iterdir():
        if file.name != "rocksdict-config.json" and not file.name.startswith("LO"):  # LOCK, LOG
            (Path(mirror.name) / file.name).symlink_to(file.resolve())
    return mirror


def options_of(cache: Any, *, create: bool, is_only_scanned: bool = False) -> Any:
    """Return RocksDB's options of one column family."""
    table = rocksdict.BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_bloom_filter(10, False)
    table.set_cache_index_and_filter_blocks(False)
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(create)
    options.create_missing_column_families(create)
    options.set_block_based_table_factory(table)
    options.set_compression_type(rocksdict.DBCompressionType.lz4())
    options.set_write_buffer_size(_MEMTABLE_BYTES)
    # One thread writes; and memory in which rows are only appended takes no other.
    options.set_allow_concurrent_memtable_write(False)
    if is_only_scanned:
        # Sorted when it is read or becomes a table: a fifth of the time of a row in a skip list.
        options.set_memtable_factory(rocksdict.MemtableFactory.vector())
    options.set_max_total_wal_size(_WAL_BYTES_MAX)
    options.set_use_fsync(True)
    options.set_paranoid_checks(True)
    options.set_max_log_file_size(_LOG_BYTES_MAX)
    options.set_keep_log_file_num(2)
    # A torn last record is what a crash leaves; any other damage to the log is refused, where the
    # default would silently go back in time, the ledger included.
    options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
    return options


def _thorough() -> Any:
    """Return options of a compaction that keeps nothing old."""
    options = rocksdict.CompactOptions()
    options.set_bottommost_level_compaction(rocksdict.BottommostLevelCompaction.force())
    return options


@contextmanager
def _errors(op: str, path: Path, *, missing_is_damage: bool = False) -> Iterator[None]:
    """Turn what rocksdict raises, which is bare `Exception`, into errors of ours."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 -- rocksdict raises nothing narrower
        raise _named(op, path, error, missing_is_damage=missing_is_damage) from None


def _named(op: str, path: Path, error: Exception, *, missing_is_damage: bool) -> StateError:
    """Return our error for one of RocksDB's, with a remedy."""
    text = str(error)
    subject = str(path)
    if isinstance(error, StateError):
        return error
    if "lock" in text.lower() and ("LOCK" in text or "lock hold" in text):
        return StateLocked(op, subject, "Another process holds this store. Stop it first.")
    if text.startswith("Corruption"):
        return StateCorrupted(op, subject, RESTORE)
    if any(cause in text for cause in _UNUSABLE) or not missing_is_damage:
        cause = next((cause for cause in _UNUSABLE if cause in text), "an error of the disk")
        kind = StateFull if cause in _FULL else StateUnusable
        return kind(
            op, subject, f"{cause}. Make the folder usable (space, permissions), then start again."
        )
    return StateCorrupted(op, subject, RESTORE)
