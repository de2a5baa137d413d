"""Looking at a store without opening it for writing: beside a service, or in a backup."""

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
from ktsafe.state.errors import StateUnusable
from ktsafe.state.folder import CUTS, DATABASE, corrupted, make_folder, read_witness
from ktsafe.state.frozen_cut import FrozenCut
from ktsafe.state.ledger import Ledger, LedgerStorage, ReleaseRecord, SequenceRecord, Status, Writes
from ktsafe.state.recovery import read_positions, recover
from ktsafe.state.store import Position


@dataclasses.dataclass(frozen=True, slots=True)
class Overview:
    """What a store holds beside the graph."""

    positions: Mapping[tuple[str, int], Position]
    sequence: SequenceRecord | None
    releases: list[ReleaseRecord]


@dataclasses.dataclass(frozen=True, slots=True)
class Examined:
    """What a store was found to hold, all of it read: counts as in `GraphStore.counts`.

    `pages` are the names of the sequence's pages, `schema_digest` is that of the schema which it
    was made with.
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
        meta = dict(database.scan(keys.META))
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
        recovered = recover(database, schema)
        if read_witness(path) > recovered.progress.commits:
            raise corrupted(path)
        ledger = _ledger(database)
        pages = ledger.pages()
        for name in pages:
            pages[name]  # Reading compares it with its digest.
        if not _is_chain(ledger.releases()):
            raise corrupted(path)
        if (cut := ledger.pending_cut()) is not None:
            FrozenCut(path / CUTS, schema).check(cut, recovered.progress)
        return Examined(
            recovered.graph.counts(),
            ledger.sequence(),
            ledger.releases(),
            frozenset(pages),
            recovered.schema_digest,
        )


def people_behind(path: Path, schema: Schema, aliases: Collection[bytes]) -> list[str]:
    """Return the persons in a store that have one of these keyed hashes.

    Raises
    ------
    StateUnusable, StateCorrupted, StateMismatch
        As `examine`.
    """
    wanted = frozenset(aliases)
    with _opened(path) as database:
        vertices = recover(database, schema).graph.vertices
        return sorted(name for name in vertices.numbers if vertices.alias(name) in wanted)


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
    return Ledger(dict(database.scan(keys.LEDGER)), storage)


def _is_chain(releases: list[ReleaseRecord]) -> bool:
    for before, after in itertools.pairwise(releases):
        if after.index != before.index + 1 or after.slot_us <= before.slot_us:
            return False
        if before.status is not Status.PUBLISHED or after.n_lives < before.n_lives:
            return False
        if any(after.offsets.get(at, -1) < offset for at, offset in before.offsets.items()):
            return False
    return len({release.release_id for release in releases}) == len(releases)
