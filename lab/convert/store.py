"""Convert the store of a state.

A store of formats 2 to 4 is made anew beside the old one and takes its place when it is whole; then
the old one is removed. What is interrupted is begun again. Format 5 is today's by another number.

Formats 2 to 4 had a row for everybody, by number, and one for every tie, by both numbers:

    vertices   <number:u32>         -> msgpack [id, alias, up, down, {attribute: [mark, value]},
                                                life]
    edges      <low:u32><high:u32>  -> <present:u8><origin:u32><time_us:i64><offset:i64>
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import rocksdict

from ktsafe.state import keys, tie_pages
from ktsafe.state.database import Database
from ktsafe.state.folder import (
    CUTS,
    DATABASE,
    MARKER,
    WITNESS,
    Witness,
    hold,
    make_folder,
    mark_made,
    sync_folder,
)
from ktsafe.state.number_pages import page_rows
from ktsafe.state.registers import Mark, VertexRecord, encoded, packed_mark
from ktsafe.state.snapshot import pair_codes
from ktsafe.state.store_base import Progress
from ktsafe.stream.config.places import STORE

BARE_COUNT: Final = 8
"""Bytes of a count of commits as formats before 3 had it: nothing tells whether it was changed."""
FORMATS: Final = range(2, 5)
LAST: Final = 5
"""What the last build before 0.1.0 called today's format."""
FAMILIES: Final = ("meta", "vertices", "edges", "ledger", "pages")
EDGE: Final = np.dtype([("present", "u1"), ("origin", ">u4"), ("time", ">i8"), ("offset", ">i8")])


class Vertex(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """All registers of one vertex, as they were stored."""

    id: str | None
    alias: bytes | None
    up: Mark | None
    down: Mark | None
    attributes: dict[int, tuple[Mark, str | None]]
    life: int | None


class Former(msgspec.Struct, array_like=True):
    """The progress of a store, as it was stored."""

    commits: int
    n_vertices: int
    n_edges: int
    cut_commits: int = -1
    n_lives: int = 0
    n_ended: int = 0
    n_scrubbed: int = 0


def convert(folder: Path) -> None:
    """Convert the store in the folder of a state; today's stays as it is.

    Raises
    ------
    SystemExit
        If there is no state, or it has no format that is converted here.
    ktsafe.state.store_base.StateLocked
        If a service runs.
    ValueError, LookupError
        If the state does not read back as written.
    """
    store, former = folder / STORE, folder / f"{STORE}.former"
    made = folder / f"{STORE}.converting"
    if former.exists() and not store.exists():
        former.rename(store)  # It was interrupted between two names.
    marker = store / MARKER
    number = int(marker.read_text()) if marker.exists() else None
    if number == keys.FORMAT:
        return
    if number == LAST:
        with hold(store):
            for database in (store / DATABASE, *_cuts(store)):
                _renumber(database)
            mark_made(store)
        return
    if number not in FORMATS:
        raise SystemExit(f"{folder} has no state of formats {FORMATS[0]} to {LAST}.")
    shutil.rmtree(made, ignore_errors=True)
    with hold(store):
        make_folder(made)
        _database(store / DATABASE, made / DATABASE)
        for cut in _cuts(store):
            (made / CUTS).mkdir(mode=0o700, exist_ok=True)
            _database(cut, made / CUTS / cut.name)
        if (store / WITNESS).exists():
            shutil.copy(store / WITNESS, made / WITNESS)
            count = (made / WITNESS).read_bytes()
            if len(count) == BARE_COUNT:
                with closing(Witness(made)) as witness:
                    witness.write(int.from_bytes(count, "big"))
        mark_made(made)
        store.rename(former)
        made.rename(store)
        sync_folder(folder)
    shutil.rmtree(former)


def _cuts(store: Path) -> list[Path]:
    """Return the frozen databases of pending cuts."""
    return sorted((store / CUTS).glob("*")) if (store / CUTS).is_dir() else []


def _renumber(path: Path) -> None:
    """Give a database of format 5 the number of today's."""
    with closing(Database(path, create=False)) as database:
        batch = database.batch()
        batch.write(keys.META, {keys.META_FORMAT: msgspec.json.encode(keys.FORMAT)})
        database.commit(batch)


def _database(old: Path, new: Path) -> None:
    """Convert a database."""
    with ExitStack() as opened:
        rows = opened.enter_context(_opened(old))
        made = opened.enter_context(closing(Database(new, create=True)))
        meta = dict(rows["meta"].items())
        before = msgspec.msgpack.decode(meta[keys.META_PROGRESS], type=Former)
        numbers, n_people, n_downs, n_places = _people(rows, made, meta[keys.META_SECRET])
        progress = msgspec.structs.replace(
            _ties(rows, made, numbers, before.n_edges),
            commits=before.commits,
            cut_commits=before.cut_commits,
            n_lives=before.n_lives,
            n_ended=before.n_ended,
            n_scrubbed=before.n_scrubbed,
            n_people=n_people,
            n_downs=n_downs,
            n_places=n_places,
        )
        if len(numbers) != before.n_vertices:
            raise ValueError("people are missing")
        progress = msgspec.structs.replace(progress, tombstones=progress.tombstones + n_downs)
        for family in (keys.LEDGER, keys.PAGES):
            made.fill(family, rows[family].items())
        meta[keys.META_FORMAT] = msgspec.json.encode(keys.FORMAT)
        meta[keys.META_PROGRESS] = msgspec.msgpack.encode(progress)
        batch = made.batch()
        batch.write(keys.META, dict(meta))
        made.commit(batch)


class People:
    """Whom old numbers stand for: the numbers ascend, and a new one is the place of an old one."""

    def __init__(self) -> None:
        self.old: list[int] = []
        self.exists: list[bool] = []

    def __len__(self) -> int:
        return len(self.old)


def _people(rows: Any, made: Database, secret: bytes) -> tuple[People, int, int, int]:
    """Write everybody; return whom numbers stand for, and the rows of people, downs and places."""
    people, hashes = People(), keys.Hashes(secret)
    records: list[tuple[bytes, bytes]] = []
    downs: list[tuple[bytes, bytes]] = []
    decoder = msgspec.msgpack.Decoder(Vertex)

    def everybody() -> Iterator[tuple[bytes, VertexRecord]]:
        for key, value in rows["vertices"].items():
            old = decoder.decode(value)
            alias = old.alias if old.id is None else hashes.of(old.id)
            assert alias is not None
            record = VertexRecord(old.id, old.up, old.down, old.attributes, old.life)
            people.old.append(int.from_bytes(key, "big"))
            people.exists.append(old.id is not None)
            if old.up is not None or old.down is not None:
                records.append((alias, encoded(record)))
            if old.down is not None:
                downs.append((alias, packed_mark(*old.down)))
            yield alias, record

    n_places = made.fill(keys.PLACES, page_rows(everybody()))
    n_people = made.fill(keys.PEOPLE, sorted(records))
    return people, n_people, made.fill(keys.DOWNS, sorted(downs)), n_places


def _ties(rows: Any, made: Database, people: People, n_edges: int) -> Progress:
    """Write every tie; return what there is of them."""
    stored = list(rows["edges"].items())
    if len(stored) != n_edges:
        raise ValueError("ties are missing")
    ends = np.frombuffer(b"".join([key for key, _ in stored]), dtype=">u4").reshape(-1, 2)
    values = np.frombuffer(b"".join([value for _, value in stored]), dtype=EDGE)
    old = np.array(people.old, dtype=np.int64)
    numbers = old.searchsorted(ends.astype(np.int64))
    if len(ends) and (old.take(numbers, mode="clip") != ends).any():
        raise ValueError("a tie has no end")
    present = values["present"].astype(np.int64)
    codes = pair_codes(numbers[:, 0], numbers[:, 1]) | present
    pages = tie_pages.page_rows(codes)

    def stamps() -> Iterator[tuple[bytes, bytes]]:
        for name, part in pages:
            columns = (values[part][column] for column in ("time", "origin", "offset"))
            yield name, tie_pages.packed_stamps(*columns)

    made.fill(keys.TIES, ((name, codes[part].astype("<i8").tobytes()) for name, part in pages))
    n_pages = made.fill(keys.STAMPS, stamps())
    exists = np.array(people.exists, dtype=np.bool_)
    is_edge = (present == 1) & exists[numbers].all(axis=1)
    n_there, n_both = int(present.sum()), int(is_edge.sum())
    return Progress(
        n_pages=n_pages,
        vertices=int(exists.sum()),
        edges=n_both,
        edges_waiting=n_there - n_both,
        tombstones=len(codes) - n_there,
    )


@contextmanager
def _opened(path: Path) -> Iterator[dict[str, Any]]:
    """Open a database of an old format for reading; yield its column families."""
    options = rocksdict.Options(raw_mode=True)
    database = rocksdict.Rdict(
        str(path),
        options,
        column_families=dict.fromkeys(FAMILIES, options),
        access_type=rocksdict.AccessType.read_only(False),
    )
    found = {name: database.get_column_family(name) for name in FAMILIES}
    try:
        yield found
    finally:
        found.clear()
        database.close()
