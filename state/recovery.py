"""Opening a store: its checks, and its knowledge beside the rows.

`schema_digest` and the rows of `meta` are a format: a state whose digest comes out otherwise is
refused as one of another schema (tests/state/test_rocksdb.py). Hints may be reworded.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from ktsafe import Schema
from ktsafe.state import keys
from ktsafe.state.database import Database, Storage, StoredRows
from ktsafe.state.fold import Known
from ktsafe.state.folder import (
    DATABASE,
    Witness,
    clear_unfinished,
    corrupted,
    make_folder,
    mark_made,
    unusable,
)
from ktsafe.state.ledger import EMPTY, Writes
from ktsafe.state.registers import Origin, Origins
from ktsafe.state.snapshot import Categories
from ktsafe.state.store_base import Position, Progress, StateMismatch


@dataclasses.dataclass(slots=True)
class Recovered:
    """What a store knows beside its rows.

    Attributes
    ----------
    attributes:
        Every attribute name ever stored; its position is the attribute's number. Grows.
    secret:
        Key of the hashes that stand for people.
    counted:
        What counted as a tie so far, as JSON has it.
    """

    known: Known
    attributes: list[str]
    secret: bytes
    positions: dict[tuple[str, int], Position]
    identity: dict[str, str]
    progress: Progress
    schema_digest: str
    counted: object


def schema_digest(schema: Schema) -> str:
    """Return a digest of all that a schema says."""
    said = {
        "quasi_identifiers": schema.quasi_identifiers,
        "sensitive": schema.sensitive,
        "sensitive_values": sorted(schema.sensitive_values),
        "buckets": {
            name: [edge if isinstance(edge, str) else float(edge) for edge in edges]
            for name, edges in schema.buckets.items()
        },
        **({"groups": schema.groups} if schema.groups else {}),
        **({} if schema.ties == "any" else {"ties": schema.ties_told}),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def open_database(folder: Path, schema: Schema) -> Database:
    """Open the database in `folder`; make one if none was finished there.

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
    """Open the count of commits; refuse a store that lacks some."""
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
    """Refuse a store of another schema, or take it over.

    Ties that were counted in another way stay so: rows and dumps are counted as they come.
    """
    is_same = recovered.schema_digest == schema_digest(schema)
    if is_same and recovered.counted == schema.ties_told:
        return
    if not (is_same or accept):
        raise of_another_schema(database.path)
    if not is_same and recovered.counted != schema.ties_told:
        hint = "Its ties were counted in another way. Begin with a new state folder."
        raise StateMismatch("open the store", str(database.path), hint)
    batch = database.batch()
    batch.write(keys.META, _schema_rows(schema))
    database.commit(batch)


def initialize(database: Storage, schema: Schema, secret: bytes | None = None) -> None:
    """Write a new store's first rows, by default with a fresh secret."""
    batch = database.batch()
    batch.write(
        keys.META,
        {
            keys.META_FORMAT: msgspec.json.encode(keys.FORMAT),
            **_schema_rows(schema),
            keys.META_SECRET: secret or secrets.token_bytes(keys.SECRET_BYTES),
            keys.META_PROGRESS: msgspec.msgpack.encode(Progress()),
        },
    )
    batch.write(keys.LEDGER, dict(EMPTY))
    database.commit(batch)


def _schema_rows(schema: Schema) -> Writes:
    """Return what the meta rows say of a schema."""
    return {
        keys.META_SCHEMA: schema_digest(schema).encode(),
        keys.META_COUNTED: msgspec.json.encode(schema.ties_told),
    }


def meta_rows(
    origins: Origins,
    kinds: Iterable[str],
    attributes: list[str],
    positions: Mapping[Origin, Position],
    identity: Mapping[str, str] | None,
    progress: Progress,
) -> Writes:
    """Return the rows of `meta` that go with a write.

    Origins may become more.
    """
    rows: Writes = {
        keys.position_key(origins.number(*at)): msgspec.msgpack.encode(
            position if Position(*position).passed else position[:2]
        )
        for at, position in positions.items()
    }
    # These lists are short, and writing them always leaves no way to forget it.
    rows[keys.META_ORIGINS] = msgspec.json.encode(origins.names)
    rows[keys.META_KINDS] = msgspec.json.encode(list(kinds))
    rows[keys.META_ATTRIBUTES] = msgspec.json.encode(attributes)
    if identity is not None:
        rows[keys.META_IDENTITY] = msgspec.json.encode(dict(identity))
    rows[keys.META_PROGRESS] = msgspec.msgpack.encode(progress)
    return rows


def is_blank(database: Database) -> bool:
    """Whether nothing was ever written to a database."""
    return not any(next(database.scan_blocks(family), None) for family in keys.FAMILIES)


def recover(database: StoredRows, schema: Schema, path: Path) -> Recovered:
    """Read a store's knowledge beside its rows.

    The rows are checked where they are folded.

    Raises
    ------
    StateCorrupted
        If anything does not read back as written, or has another format.
    """
    meta = dict(database.all(keys.META))
    try:
        if msgspec.json.decode(meta[keys.META_FORMAT], type=int) != keys.FORMAT:
            raise ValueError("the rows have another format")
        names = msgspec.json.decode(meta.get(keys.META_ORIGINS, b"[]"), type=list[tuple[str, int]])
        attributes = msgspec.json.decode(meta.get(keys.META_ATTRIBUTES, b"[]"), type=list[str])
        attributes += [name for name in schema.attributes if name not in attributes]
        numbers = [attributes.index(name) for name in schema.attributes]
        kinds = msgspec.json.decode(meta.get(keys.META_KINDS, b"[]"), type=list[str])
        kind_numbers = {kind: number for number, kind in enumerate(kinds, 1)}
        return Recovered(
            known=Known(schema, numbers, Origins(names), kind_numbers, Categories(schema)),
            attributes=attributes,
            secret=meta[keys.META_SECRET],
            positions=read_positions(meta, names),
            identity=msgspec.json.decode(meta.get(keys.META_IDENTITY, b"{}"), type=dict[str, str]),
            progress=msgspec.msgpack.decode(meta[keys.META_PROGRESS], type=Progress),
            schema_digest=meta[keys.META_SCHEMA].decode(),
            counted=msgspec.json.decode(meta.get(keys.META_COUNTED, b'"any"')),
        )
    except (LookupError, ValueError, struct.error, msgspec.DecodeError) as error:
        raise corrupted(path) from error


class _StoredPosition(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `Position` as it is stored; states of before have no `passed`."""

    next_offset: int
    time_us_max: int | None
    passed: int = 0


def read_positions(
    meta: dict[bytes, bytes], names: list[tuple[str, int]]
) -> dict[tuple[str, int], Position]:
    """Return each partition's position, from `meta` and names of origins."""
    positions = {}
    for key, value in meta.items():
        if key.startswith(keys.META_POSITION):
            (origin,) = keys.PAGE_KEY.unpack(key.removeprefix(keys.META_POSITION))
            stored = msgspec.msgpack.decode(value, type=_StoredPosition)
            positions[names[origin]] = Position(*msgspec.structs.astuple(stored))
    return positions
