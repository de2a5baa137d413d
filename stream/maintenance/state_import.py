"""Takes over a graph that exists already, so that its history need not be replayed.

    files ──commits──▶ <private>/store.importing ──rename──▶ <private>/store

Everything in the files holds from one moment on; the feed goes on from the offsets that belong to
that moment. An import that is interrupted leaves the folder with the first name, which no service
starts beside and the next import begins anew.
"""

from __future__ import annotations

import dataclasses
import datetime
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from ktsafe import MISSING, Schema
from ktsafe.connectors.base import Source, TopicPartition
from ktsafe.connectors.errors import OffsetLost, SourceMismatch
from ktsafe.errors import InvalidGraph
from ktsafe.state.changes import Change, EdgeAdd, Stamp, VertexUpsert
from ktsafe.state.errors import StateError, StateLocked, StateUnusable
from ktsafe.state.folder import sync_folder, usable
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store import GraphStore, Position
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.graphs import csv_rows
from ktsafe.stream.ingest import events
from ktsafe.stream.process.private_folder import IMPORTING, STORE

IMPORT_TOPIC: Final = "!import"
"""Where the stamps of an import come from: before every topic, at equal times."""
CHANGES_AT_ONCE: Final = 5_000

Progress = Callable[[str, float], None]


@dataclasses.dataclass(frozen=True, slots=True)
class FeedPosition:
    """Where the feed goes on after an import, and what tells it from another feed."""

    offsets: Mapping[TopicPartition, int]
    identity: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to.

    Attributes
    ----------
    edges_repeated, loops:
        Lines of the edge file that were ignored, because they repeat an edge (in either
        direction) or join a vertex to itself.
    """

    vertices: int
    edges: int
    edges_repeated: int
    loops: int


def moment_us(text: str, now_us: int) -> int:
    """Return the moment at which an imported graph holds: RFC 3339 with a zone, or epoch ms.

    Raises
    ------
    ConfigError
        If the text is neither, or lies in the future, where events of today would lose against it.
    """
    hint = "Give the time of the export as 2026-01-01T00:00:00Z, or as epoch milliseconds."
    try:
        time = int(text) if text.isdigit() else datetime.datetime.fromisoformat(text)
        if isinstance(time, datetime.datetime) and time.tzinfo is None:
            raise ValueError("no zone")
        time_us = events.time_us(time, None)
    except (ValueError, events.MalformedEvent) as error:
        raise ConfigError("--at is no moment.", hint=hint) from error
    if time_us > now_us:
        raise ConfigError("--at lies in the future.", hint=hint)
    return time_us


def offsets_in(path: Path) -> dict[TopicPartition, int]:
    """Return the offsets in a file of `topic:partition:offset` lines, as Kafka's tools print them.

    Raises
    ------
    ConfigError
        If the file cannot be read, or a line is no offset.
    """
    found: dict[TopicPartition, int] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read ({type(error).__name__})."
        raise ConfigError(msg, hint="Name a file of offsets, or `latest`.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        topic, *numbers = line.strip().rsplit(":", 2)
        if not (topic and len(numbers) == 2 and all(n.isdecimal() for n in numbers)):
            msg = f"{path}, line {number} is no offset."
            raise ConfigError(msg, hint="A line is topic:partition:offset, one per partition.")
        found[TopicPartition(topic, int(numbers[0]))] = int(numbers[1])
    return found


def feed_at(source: Source, offsets: Mapping[TopicPartition, int] | None) -> FeedPosition:
    """Return where a feed goes on: at these offsets, or by default at its ends as of now.

    Raises
    ------
    ConfigError
        If the offsets do not name every partition, or do not fit the feed.
    ktsafe.connectors.errors.ConnectorError
        If the source cannot be opened, or not at these offsets.
    """
    hint = "Name the next offset of every partition."
    try:
        source.open(offsets or {}, {})
    except (SourceMismatch, OffsetLost) as error:
        msg = f"The offsets do not fit the feed ({error.subject})."
        raise ConfigError(msg, hint=hint) from None
    try:
        found = source.ends() if offsets is None else offsets
        if missing := sorted(set(source.partitions()) - set(found)):
            msg = f"The offsets leave out partition {missing[0].partition} of {missing[0].topic}."
            raise ConfigError(msg, hint=hint)
        return FeedPosition(dict(found), source.identity())
    finally:
        source.close()


def import_graph(
    private: Path,
    schema: Schema,
    vertices: Path,
    edges: Path,
    *,
    at_us: int,
    feed: FeedPosition,
    progress: Progress,
) -> Imported:
    """Fill a new store from two CSV files; it gets its name when it is complete.

    Parameters
    ----------
    private:
        The service's private folder, which exists and must not hold a store.
    at_us:
        The moment at which the files' graph holds. Earlier events do not change what they name.

    Raises
    ------
    StateUnusable
        If there is a store already, or the folder cannot be written.
    StateLocked
        If another import is under way.
    InvalidGraph
        If a file cannot be read, lacks a column, repeats an id or names an unknown one; the line
        is named, its content is not repeated.
    """
    target, partial = private / STORE, private / IMPORTING
    if target.exists():
        hint = "there is a state already, and an import is a beginning. Name an empty folder."
        raise StateUnusable("import state", str(private), hint)
    _clear(partial, schema)
    store = RocksDBStore.open(partial, schema)
    try:
        known = _import_vertices(store, vertices, schema, at_us, progress)
        n_lines, loops = _import_edges(store, edges, known, at_us, progress)
        positions = {(at.topic, at.partition): Position(n, at_us) for at, n in feed.offsets.items()}
        store.commit([], positions, source_identity=feed.identity)
        counts = store.counts()
    finally:
        store.close()
    with usable("import state", target):
        partial.rename(target)
        sync_folder(private)
    n_edges = counts["edges"]
    return Imported(counts["vertices"], n_edges, n_lines - loops - n_edges, loops)


def _clear(partial: Path, schema: Schema) -> None:
    """Remove what an interrupted import left; one that is under way holds its lock."""
    if not partial.exists():
        return
    try:
        RocksDBStore.open(partial, schema, accept_schema=True).close()
    except StateLocked:
        raise
    except StateError:
        pass  # It goes, whatever it holds.
    with usable("import state", partial):
        shutil.rmtree(partial)


def _import_vertices(
    store: GraphStore, path: Path, schema: Schema, at_us: int, progress: Progress
) -> set[str]:
    """Commit every vertex of the file; return their ids."""
    known: set[str] = set()

    def changes(rows: Iterator[tuple[int, list[str]]]) -> Iterator[Change]:
        for line, (vertex, *values) in rows:
            if vertex in known:
                raise InvalidGraph(f"{path}, line {line}: an id for the second time.")
            try:
                events.check_id(vertex)
                attributes = {
                    name: _stored(schema, name, value)
                    for name, value in zip(schema.attributes, values, strict=True)
                }
            except events.MalformedEvent as error:
                msg = f"{path}, line {line}: {error.reason} ({error.detail})."
                raise InvalidGraph(msg) from None
            known.add(vertex)
            yield VertexUpsert(Stamp(at_us, IMPORT_TOPIC, 0, line), vertex, attributes)

    with csv_rows(path, ["id", *schema.attributes]) as rows:
        for n in _commit_all(store, changes(rows)):
            progress(f"{n:,} vertices", 0.0)
    return known


def _stored(schema: Schema, name: str, text: str) -> str | None:
    """Return an attribute as the store keeps it: as written, None where it is missing."""
    if text in {"", MISSING}:
        return None
    try:
        schema.category(name, text)
    except InvalidGraph:
        raise events.MalformedEvent("bad_attribute", f"{name} must be a number") from None
    return events.attribute_text(text)


def _import_edges(
    store: GraphStore, path: Path, known: set[str], at_us: int, progress: Progress
) -> tuple[int, int]:
    """Commit every edge of the file; return how many lines there are, and how many are loops."""
    n_lines = loops = 0

    def changes(rows: Iterator[tuple[int, list[str]]]) -> Iterator[Change]:
        nonlocal n_lines, loops
        for line, (source, target) in rows:
            if source not in known or target not in known:
                msg = f"{path}, line {line}: names a vertex that the other file does not list."
                raise InvalidGraph(msg)
            n_lines += 1
            if source == target:
                loops += 1
            else:
                yield EdgeAdd(Stamp(at_us, IMPORT_TOPIC, 1, line), source, target)

    with csv_rows(path, ["source", "target"]) as rows:
        for n in _commit_all(store, changes(rows)):
            progress(f"{n:,} ties", 0.5)
    return n_lines, loops


def _commit_all(store: GraphStore, changes: Iterable[Change]) -> Iterator[int]:
    """Commit changes, some at a time; yield how many it were so far."""
    done = 0
    following = iter(changes)
    while some := list(islice(following, CHANGES_AT_ONCE)):
        store.commit(some, {})
        done += len(some)
        yield done
