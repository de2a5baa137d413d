"""Bringing a store of an earlier format to the present one, step by step.

A step writes rows in their new shape, a bounded number at a time, and the format number with the
last of them. Interrupted, it is done again from its beginning: nothing is merged in between, and
every row comes out the same. Take a backup before an upgrade: there is no way back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from state import keys
from state.database import Database
from state.folder import check_format, corrupted
from state.ledger import ReleaseRecord
from state.ledger_log import COUNT, CUT, PAGES, RELEASE, SEQUENCE, Writes
from state.recovery import Progress, decode_record


def migrate(database: Database) -> None:
    """Bring a store to the present format.

    Raises
    ------
    StateMismatch
        If its format is unknown here.
    StateCorrupted
        If it does not read back as written.
    """
    meta = dict(database.scan(keys.META))
    try:
        version = msgspec.json.decode(meta[keys.META_FORMAT], type=int)
        check_format(version, database.path)
        for step in range(version, keys.FORMAT):
            _STEPS[step](database)
    except (LookupError, ValueError, msgspec.DecodeError) as error:
        raise corrupted(database.path) from error


def _give_lives(database: Database) -> None:
    """From 1 to 2: every existence has a number, the life, and the ledger counts pages.

    Who exists now counts as having existed in every release so far, since format 1 did not tell:
    mappings of past releases keep naming them. A pending cut is given up, because its frozen state
    has the earlier format; its release is cut anew.
    """
    n_vertices = n_lives = 0
    for block in database.scan_blocks(keys.VERTICES):
        batch = database.batch()
        rows: Writes = {}
        for key, value in block:
            record = decode_record(value)
            n_vertices += 1
            if record.id is not None:
                record.life = n_lives
                n_lives += 1
                rows[key] = msgspec.msgpack.encode(record)
        batch.write(keys.VERTICES, rows)
        database.commit(batch)
    meta = dict(database.scan(keys.META))
    progress = msgspec.msgpack.decode(meta[keys.META_PROGRESS], type=Progress)
    if n_vertices != progress.n_vertices:
        raise ValueError("rows are missing")
    batch = database.batch()
    progress = msgspec.structs.replace(progress, n_lives=n_lives, cut_commits=-1)
    batch.write(
        keys.META,
        {
            keys.META_PROGRESS: msgspec.msgpack.encode(progress),
            keys.META_FORMAT: msgspec.json.encode(2),
        },
    )
    batch.write(keys.LEDGER, _with_lives(dict(database.scan(keys.LEDGER)), n_lives))
    database.commit(batch)


def _with_lives(ledger: Mapping[bytes, bytes], n_lives: int) -> Writes:
    """Return the entries of a ledger of format 1 that differ in format 2."""
    releases = {key: value for key, value in ledger.items() if key.startswith(RELEASE)}
    sequences = sum(key.startswith(SEQUENCE) for key in ledger)
    changed: Writes = {
        key: msgspec.json.encode(
            msgspec.structs.replace(msgspec.json.decode(value, type=ReleaseRecord), n_lives=n_lives)
        )
        for key, value in releases.items()
    }
    count = msgspec.json.encode([sequences, len(releases), 0])
    return {**changed, COUNT: count, CUT: None, PAGES: None}


_STEPS: Final[Mapping[int, Callable[[Database], None]]] = {1: _give_lives}
"""By the format that a step starts from."""
