"""Looking at a store without writing: beside a service, or a backup.

Checks may be added. Nothing may be written into the folder of the store
(tests/state/test_inspection.py), and what is refused here is what opening refuses.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ktsafe import Schema
from ktsafe.state import keys
from ktsafe.state.database import Database
from ktsafe.state.fold import Folded
from ktsafe.state.folder import CUTS, DATABASE, corrupted, make_folder, read_witness
from ktsafe.state.ledger import (
    Ledger,
    LedgerStorage,
    PendingCut,
    ReleaseRecord,
    SequenceRecord,
    Status,
    Writes,
)
from ktsafe.state.recovery import Recovered, read_positions, recover
from ktsafe.state.registers import decoded
from ktsafe.state.rocksdb import CutFolder
from ktsafe.state.store_base import Position, Progress, StateUnusable
from ktsafe.state.tie_pages import are_beside


@dataclasses.dataclass(frozen=True, slots=True)
class Overview:
    """What a store holds beside the graph."""

    positions: Mapping[tuple[str, int], Position]
    sequence: SequenceRecord | None
    releases: list[ReleaseRecord]


@dataclasses.dataclass(frozen=True, slots=True)
class Examined:
    """Contents of a store, all of it read.

    Counts are those of `GraphStore.counts`, as of now. `pages` are the names of the sequence's
    pages, `schema_digest` is that of the schema which it was made with.
    """

    counts: Mapping[str, int]
    sequence: SequenceRecord | None
    releases: list[ReleaseRecord]
    pages: frozenset[str]
    schema_digest: str


def overview(path: Path) -> Overview:
    """Return what a store holds beside the graph, in an instant.

    Raises
    ------
    StateUnusable
        If there is no store, or it cannot be read.
    StateCorrupted, StateMismatch
    """
    with _opened(path) as database:
        ledger = _ledger(database)
        meta = dict(database.all(keys.META))
        names = msgspec.json.decode(meta.get(keys.META_ORIGINS, b"[]"), type=list[tuple[str, int]])
        return Overview(read_positions(meta, names), ledger.sequence(), ledger.releases())


def examine(path: Path, schema: Schema) -> Examined:
    """Read every block of a store and check it.

    Checksums of all tables, formats, the number of rows, references between them, the pages'
    digests, and the chain of releases: indexes without a gap, slots that ascend, offsets and
    numbers of lives that never go back, ids that differ, and none but the last one unpublished. No
    commit that was counted beside the database may be missing. The frozen state of a pending cut is
    read as well.

    Raises
    ------
    StateUnusable
        If there is no store, or it cannot be read.
    StateCorrupted
        If anything is not as it was written.
    StateMismatch
        If it has a format that is unknown here.
    """
    with _opened(path) as database:
        database.verify()
        recovered = recover(database, schema, path)
        if read_witness(path) > recovered.progress.commits:
            raise corrupted(path)
        ledger = _ledger(database)
        pages = ledger.pages()
        for name in pages:
            pages[name]  # Reading compares it with its digest.
        if not _is_chain(ledger.releases()):
            raise corrupted(path)
        counts = _checked(database, recovered, recovered.progress)
        if (cut := ledger.pending_cut()) is not None:
            _check_cut(CutFolder(path / CUTS), cut, recovered, schema)
        return Examined(
            counts,
            ledger.sequence(),
            ledger.releases(),
            frozenset(pages),
            recovered.schema_digest,
        )


def _check_cut(folder: CutFolder, cut: PendingCut, recovered: Recovered, schema: Schema) -> None:
    """Check every block that a start would need of a cut."""
    if not folder.is_whole(cut) and recovered.progress.commits == recovered.progress.cut_commits:
        return  # The live state is the one to keep: see `CutFolder.clean_up`.
    with folder.opened(cut, schema) as (database, progress):
        database.verify()
        if progress.commits != recovered.progress.cut_commits:
            raise ValueError("it is of another commit")
        _checked(database, recovered, progress)


def _checked(database: Database, recovered: Recovered, progress: Progress) -> dict[str, int]:
    """Read a whole graph, compare what stands twice; return the counts."""
    fold = Folded(database, recovered.known, progress)
    fold.arrays()
    records = {key: decoded(value) for key, value in database.all(keys.PEOPLE)}
    lives = {key: record.life for key, record in records.items() if record.life is not None}
    downs = {key for key, record in records.items() if record.down is not None}
    ties, stamps = database.all(keys.TIES), database.all(keys.STAMPS)
    if not are_beside(ties, stamps):
        raise ValueError("stamps are missing")
    is_known = {key for key, _ in database.all(keys.DOWNS)} == downs
    if not is_known or fold.lives() != lives or len(records) != progress.n_people:
        raise ValueError("rows are missing or impossible")
    return dict(fold.counts)


def people_behind(path: Path, aliases: Collection[bytes]) -> list[str]:
    """Return a store's persons with one of these keyed hashes.

    Raises
    ------
    StateUnusable, StateCorrupted, StateMismatch
        As `examine`.
    """
    with _opened(path) as database:
        found = database.get_many(keys.PEOPLE, list(aliases))
        ids = [decoded(value).id for value in found if value is not None]
    return sorted(name for name in ids if name is not None)


@contextmanager
def _opened(path: Path) -> Iterator[Database]:
    if not path.is_dir() or not make_folder(path):
        hint = "there is no store. Name the configuration of a service that has run."
        raise StateUnusable("look at the store", str(path), hint)
    database = Database(path / DATABASE, create=False, read_only=True)
    try:
        yield database
    except (LookupError, ValueError, msgspec.DecodeError) as error:
        raise corrupted(path) from error
    finally:
        database.close()


def _ledger(database: Database) -> Ledger:
    """Return the ledger of a store that is only looked at."""

    def write(_entries: Writes, _pages: Writes) -> None:
        raise AssertionError("the ledger is only looked at")

    storage = LedgerStorage(
        write=write,
        read_pages=lambda names: database.get_many(keys.PAGES, names),
        drop_pages=lambda _prefix: None,
        cut_gone=lambda: None,
        damaged=lambda: corrupted(database.path),
    )
    return Ledger(dict(database.all(keys.LEDGER)), storage)


def _is_chain(releases: list[ReleaseRecord]) -> bool:
    for before, after in itertools.pairwise(releases):
        if after.index != before.index + 1 or after.slot_us <= before.slot_us:
            return False
        if before.status is not Status.PUBLISHED or after.n_lives < before.n_lives:
            return False
        if any(after.offsets.get(at, -1) < offset for at, offset in before.offsets.items()):
            return False
    return len({release.release_id for release in releases}) == len(releases)
