"""Opening a store: what must hold before it is used, and reading it back into memory."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import struct
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ktsafe import Schema
from ktsafe.state import keys
from ktsafe.state.database import Database
from ktsafe.state.edge_rows import column
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
from ktsafe.state.ledger import EMPTY, Writes
from ktsafe.state.registers import Mark, Origin, Origins, VertexRecord
from ktsafe.state.resident import ResidentGraph
from ktsafe.state.store import Position

_PEOPLE_AT_ONCE: Final = 500
_TIES_AT_ONCE: Final = 1_000
"""As many rows as stay in a processor's cache."""

_record_decoder: Final = msgspec.msgpack.Decoder(VertexRecord)


class Progress(msgspec.Struct, array_like=True, frozen=True):
    """Written with every batch, and checked against what is read back.

    Attributes
    ----------
    commits:
        Batches so far; a release cut is identified by the number of its own.
    n_vertices, n_edges:
        Rows there must be in the column families of these names.
    cut_commits:
        Value of `commits` at the pending release cut; -1 without one.
    n_lives:
        Lives given so far.
    n_ended, n_scrubbed:
        Lives that ended so far, and how many of them were so when the store was last scrubbed.
    """

    commits: int = 0
    n_vertices: int = 0
    n_edges: int = 0
    cut_commits: int = -1
    n_lives: int = 0
    n_ended: int = 0
    n_scrubbed: int = 0


@dataclasses.dataclass(slots=True)
class Recovered:
    """What a store holds, read back."""

    graph: ResidentGraph
    positions: dict[tuple[str, int], Position]
    identity: dict[str, str]
    progress: Progress
    schema_digest: str


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


def initialize(database: Database, schema: Schema) -> None:
    """Write what a new store starts with."""
    batch = database.batch()
    batch.write(
        keys.META,
        {
            keys.META_FORMAT: msgspec.json.encode(keys.FORMAT),
            keys.META_SCHEMA: schema_digest(schema).encode(),
            keys.META_SECRET: secrets.token_bytes(keys.SECRET_BYTES),
            keys.META_PROGRESS: msgspec.msgpack.encode(Progress()),
        },
    )
    batch.write(keys.LEDGER, dict(EMPTY))
    database.commit(batch)


def meta_rows(
    origins: Origins,
    attributes: list[str],
    positions: Mapping[Origin, Position],
    identity: Mapping[str, str] | None,
    progress: Progress,
) -> Writes:
    """Return the rows of `meta` that go with what is written; origins may become more."""
    rows: Writes = {
        keys.position_key(origins.number(*at)): msgspec.msgpack.encode(
            position if Position(*position).passed else position[:2]
        )
        for at, position in positions.items()
    }
    # Both lists are short, and writing them always leaves no way to forget it.
    rows[keys.META_ORIGINS] = msgspec.json.encode(origins.names)
    rows[keys.META_ATTRIBUTES] = msgspec.json.encode(attributes)
    if identity is not None:
        rows[keys.META_IDENTITY] = msgspec.json.encode(dict(identity))
    rows[keys.META_PROGRESS] = msgspec.msgpack.encode(progress)
    return rows


def is_blank(database: Database) -> bool:
    """Whether nothing was ever written to a database."""
    return all(next(database.scan(family), None) is None for family in keys.FAMILIES)


def recover(database: Database, schema: Schema) -> Recovered:
    """Read a store into memory, checking every row.

    Raises
    ------
    StateCorrupted
        If anything does not read back as written, or has an earlier format.
    """
    meta = dict(database.scan(keys.META))
    try:
        version = msgspec.json.decode(meta[keys.META_FORMAT], type=int)
        _check(keys.OLDEST <= version <= keys.FORMAT)
        progress = msgspec.msgpack.decode(meta[keys.META_PROGRESS], type=Progress)
        names = msgspec.json.decode(meta.get(keys.META_ORIGINS, b"[]"), type=list[tuple[str, int]])
        attributes = msgspec.json.decode(meta.get(keys.META_ATTRIBUTES, b"[]"), type=list[str])
        graph = ResidentGraph(schema, attributes, Origins(names), meta[keys.META_SECRET])
        n_vertices = _load_vertices(graph, database, progress)
        n_edges = _load_edges(graph, database)
        _check((n_vertices, n_edges) == (progress.n_vertices, progress.n_edges))
        graph.recount()
        return Recovered(
            graph=graph,
            positions=read_positions(meta, names),
            identity=msgspec.json.decode(meta.get(keys.META_IDENTITY, b"{}"), type=dict[str, str]),
            progress=progress,
            schema_digest=meta[keys.META_SCHEMA].decode(),
        )
    except (LookupError, ValueError, struct.error, msgspec.DecodeError) as error:
        raise corrupted(database.path) from error


def decode_record(value: bytes | None) -> VertexRecord:
    """Return the registers of a vertex as stored."""
    if value is None:
        raise ValueError("a vertex has no registers")
    return _record_decoder.decode(value)


def _check(holds: bool) -> None:
    if not holds:
        raise ValueError("rows are missing or impossible")


def _load_vertices(graph: ResidentGraph, database: Database, progress: Progress) -> int:
    """Read the vertices in columns, some at a time: all registers would take far more memory."""
    vertices, attributes = graph.vertices, graph.numbers_of_attributes()
    names = bytearray()
    labels: list[str | bytes] = []
    lives = array("q")
    downs: list[tuple[int, Mark]] = []
    codes = [array("i") for _ in attributes]
    for block in database.scan_blocks(keys.VERTICES, _PEOPLE_AT_ONCE):
        names += b"".join([key for key, _ in block])
        records = [decode_record(row) for _, row in block]
        for r in records:
            _check((r.id is None) == (r.up is None) != (r.alias is None))
        downs += [(i, r.down) for i, r in enumerate(records, len(labels)) if r.down is not None]
        labels += [r.label for r in records]
        lives.extend([-1 if r.life is None else r.life for r in records])
        registers = [r.attributes for r in records]
        for place, attribute in enumerate(attributes):
            values = [found[attribute][1] if attribute in found else None for found in registers]
            codes[place].extend(vertices.coded(place, values))
    _check(len(names) == len(labels) * keys.VERTEX_KEY.size)
    numbers = np.frombuffer(names, dtype=">u4").astype(np.int64)
    marks = {int(numbers[i]): mark for i, mark in downs}
    vertices.load(numbers, labels, column(lives), marks, progress.n_lives)
    vertices.n_ended = progress.n_ended
    for place, told in enumerate(codes):
        vertices.load_codes(place, numbers, column(told))
    return vertices.n_held


def _load_edges(graph: ResidentGraph, database: Database) -> int:
    labels = graph.vertices.labels
    if labels:
        graph.edges.reserve(len(labels) - 1)
    names, values = bytearray(), bytearray()
    n_rows = 0
    for block in database.scan_blocks(keys.EDGES, _TIES_AT_ONCE):
        names += b"".join([key for key, _ in block])
        values += b"".join([value for _, value in block])
        n_rows += len(block)
    _check(len(names) == n_rows * keys.EDGE_KEY.size)
    _check(len(values) == n_rows * keys.EDGE_VALUE.size)
    edges = np.frombuffer(names, dtype=">u8").astype(np.int64)
    rows: Any = np.frombuffer(values, dtype=keys.EDGE_VALUE_DTYPE)
    if len(edges):
        held = np.array([label is not None for label in labels], dtype=np.bool_)
        low, high = edges >> 32, edges & 0xFFFFFFFF
        _check(int(low.min()) >= 0 and bool((low < high).all()) and int(high.max()) < len(labels))
        _check(bool(held[low].all() and held[high].all()) and int(rows["present"].max()) <= 1)
        _check(int(rows["origin"].max()) < len(graph.origins.names))
    graph.edges.load(edges, rows["present"], rows["origin"], rows["time"], rows["offset"])
    return n_rows


class _StoredPosition(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A `Position` as it is stored; states of before have no `passed`."""

    next_offset: int
    time_us_max: int | None
    passed: int = 0


def read_positions(
    meta: dict[bytes, bytes], names: list[tuple[str, int]]
) -> dict[tuple[str, int], Position]:
    """Return the position of every partition, from the rows of `meta` and the names of origins."""
    positions = {}
    for key, value in meta.items():
        if key.startswith(keys.META_POSITION):
            (origin,) = keys.VERTEX_KEY.unpack(key.removeprefix(keys.META_POSITION))
            stored = msgspec.msgpack.decode(value, type=_StoredPosition)
            positions[names[origin]] = Position(*msgspec.structs.astuple(stored))
    return positions
