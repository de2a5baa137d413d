"""Opening a store for writing: its folder, its database, its witness, and whose schema it has."""

from __future__ import annotations

from pathlib import Path

from ktsafe import Schema
from ktsafe.state import keys
from ktsafe.state.database import Database
from ktsafe.state.errors import StateMismatch
from ktsafe.state.folder import (
    DATABASE,
    Witness,
    clear_unfinished,
    corrupted,
    make_folder,
    mark_made,
    unusable,
)
from ktsafe.state.recovery import Progress, Recovered, initialize, is_blank, schema_digest


def open_database(folder: Path, schema: Schema) -> Database:
    """Open the database in `folder`; make a new one unless one was ever finished there.

    The marker of a new one is written last; that of one of an earlier format before anything else.
    """
    is_finished = make_folder(folder)
    if not is_finished:
        clear_unfinished(folder)
    database = Database(folder / DATABASE, create=not is_finished)
    try:
        if not is_finished and is_blank(database):
            initialize(database, schema)
        mark_made(folder)
    except BaseException:
        database.close()
        raise
    return database


def open_witness(folder: Path, progress: Progress) -> Witness:
    """Open the count of commits, and refuse a store that lacks some of them."""
    try:
        witness = Witness(folder)
        if witness.read() > progress.commits:
            witness.close()
            raise corrupted(folder)
    except OSError as error:
        raise unusable("open the store", folder, error) from error
    return witness


def of_another_schema(path: Path) -> StateMismatch:
    """Return the error of a store that was made with another schema."""
    hint = (
        "It was made with another schema. Use that schema, or begin a new sequence with "
        "`ktsafe rebase`."
    )
    return StateMismatch("open the store", str(path), hint)


def check_schema(database: Database, recovered: Recovered, schema: Schema, *, accept: bool) -> None:
    """Refuse a store of another schema, or take it over."""
    digest = schema_digest(schema)
    if recovered.schema_digest == digest:
        return
    if not accept:
        raise of_another_schema(database.path)
    batch = database.batch()
    batch.write(keys.META, {keys.META_SCHEMA: digest.encode()})
    database.commit(batch)
