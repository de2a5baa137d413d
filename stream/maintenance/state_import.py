"""Import of a graph that exists, without replaying its history.

    files ──tables──▶ <private>/store.importing ──rename──▶ <private>/store

Everything in the files holds from one moment on; the feed goes on from the offsets that belong to
that moment. An import that is interrupted leaves the folder with the first name, which no service
starts beside and the next import begins anew.

Words and `ROWS_AT_ONCE` may be changed. `IMPORT_TOPIC` stands in the stamps of states and sorts
before every topic, so the feed wins at equal times (tests/stream/maintenance/test_state_import.py).
"""

from __future__ import annotations

import dataclasses
import datetime
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import islice, repeat
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.connectors.base import OffsetLost, Source, SourceMismatch, TopicPartition
from ktsafe.errors import BadLines, InvalidGraph, raise_together
from ktsafe.graph.inputs.names import NOTHING_CHOSEN, Chosen
from ktsafe.graph.inputs.people_and_ties import People, Ties
from ktsafe.graph.inputs.table_files import table_at
from ktsafe.state.bulk_load import BulkLoad, Registered
from ktsafe.state.folder import sync_folder, usable
from ktsafe.state.recovery import open_database
from ktsafe.state.store_base import Position, StateError, StateLocked, StateUnusable
from ktsafe.stream.config.places import IMPORTING, STORE
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.files.graphs import gathered
from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.own_tables import StoredTexts

IMPORT_TOPIC: Final = "!import"
"""Where the stamps of an import come from: before every topic, at equal times."""
ROWS_AT_ONCE: Final = 10_000

_AS_EVENTS: Final = "Imported ties have neither: let events tell of them."

Progress = Callable[[str, float], None]


@dataclasses.dataclass(frozen=True, slots=True)
class FeedPosition:
    """Position in the feed after an import, and the feed's identity."""

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
    """Return the time of an imported graph: RFC 3339, or epoch ms.

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
    """Return the offsets in a file of `topic:partition:offset` lines.

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
    """Return where a feed goes on: at offsets, or at its ends.

    Raises
    ------
    ConfigError
        If the offsets do not name every partition, or do not fit the feed.
    ktsafe.connectors.base.ConnectorError
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
    columns: Chosen = NOTHING_CHOSEN,
) -> Imported:
    """Fill a new store from two files; name it once complete.

    Parameters
    ----------
    private:
        The service's private folder, which exists and must not hold a store.
    at_us:
        The moment at which the files' graph holds. Earlier events do not change what they name.
    columns:
        Which columns hold ids and ends of ties, where their names do not say so.

    Raises
    ------
    StateUnusable
        If there is a store already, or the folder cannot be written.
    StateLocked
        If another import is under way.
    InvalidGraph
        If a file cannot be read, lacks a column, repeats an id or names an unknown one. All such
        lines of both files are told at once, their content is not repeated. Also if ties have kinds
        or directions, or the schema asks for some.
    """
    target, partial = private / STORE, private / IMPORTING
    if schema.ties != "any":
        raise InvalidGraph("The schema asks for ties of some kinds or directions.", hint=_AS_EVENTS)
    if target.exists():
        hint = "there is a state already. An import needs an empty folder."
        raise StateUnusable("import state", str(private), hint)
    _clear(partial, schema)
    with closing(BulkLoad(partial, schema)) as load:
        faults: list[InvalidGraph] = []
        people: People | None = None
        with gathered(vertices, faults) as bad:
            people = People(vertices, schema.columns, chosen=columns, nominal=schema.nominal)
            _import_vertices(load, people, schema, at_us, progress, bad)
        with gathered(edges, faults) as bad:
            ends, lines, loops = _read_edges(
                Ties(table_at(edges), chosen=columns), people, progress, bad
            )
        raise_together(faults)
        assert people is not None
        progress(f"{len(ends):,} ties are sorted", 0.9)
        n_edges = load.add_edges(Registered((IMPORT_TOPIC, 1), at_us), ends, lines)
        positions = {(at.topic, at.partition): Position(n, at_us) for at, n in feed.offsets.items()}
        load.finish(positions, feed.identity)
    with usable("import state", target):
        partial.rename(target)
        sync_folder(private)
    return Imported(len(people.position), n_edges, len(ends) - n_edges, loops)


def _clear(partial: Path, schema: Schema) -> None:
    """Remove the rest of an interrupted import, unless it still runs."""
    if not partial.exists():
        return
    try:
        open_database(partial, schema).close()
    except StateLocked:
        raise
    except StateError:
        pass  # It goes, whatever it holds.
    with usable("import state", partial):
        shutil.rmtree(partial)


def _import_vertices(
    load: BulkLoad, people: People, schema: Schema, at_us: int, progress: Progress, bad: BadLines
) -> None:
    """Load every vertex of the table."""
    stored = [StoredTexts(schema, name) for name in schema.columns]
    nobodys: list[str | None] = [None] * (len(schema.attributes) - len(stored))

    def rows() -> Iterator[tuple[int, str, list[str | None]]]:
        for line, vertex, values in people.rows(bad):
            try:
                events.checked_id(vertex)
                texts = [table[value] for table, value in zip(stored, values, strict=True)]
            except events.MalformedEvent as error:
                bad.setdefault(f"{error.reason} ({error.detail})", []).append(line)
                continue
            if len(people.position) % ROWS_AT_ONCE == 0:
                progress(f"{len(people.position):,} vertices", 0.0)
            yield line, vertex, texts + nobodys

    load.add_vertices(Registered((IMPORT_TOPIC, 0), at_us), rows())
    progress(f"{len(people.position):,} vertices", 0.3)


def _read_edges(
    ties: Ties, people: People | None, progress: Progress, bad: BadLines
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Return the ends of every edge, their lines, and the loops.

    Where ids of people are unknown, lines are read for what else is wrong with them.
    """
    blocks = [(np.empty((0, 2), dtype=np.int32), np.empty(0, dtype=np.int64))]
    n_lines = 0
    unknown: list[int] = []
    if marked := {"kind", "directed"} & {*ties.ignored}:
        msg = f"{ties.table.path} has a column {min(marked)!r}."
        raise InvalidGraph(msg, hint=_AS_EVENTS)
    rows = ties.rows(bad)
    while block := list(islice(rows, ROWS_AT_ONCE)):
        if people is None or not people.is_whole:
            continue
        lines = np.array([line for line, *_ in block], dtype=np.int64)
        ids = [end for _, *ends in block for end in ends]
        found = map(people.position.get, ids, repeat(-1))
        ends = np.fromiter(found, dtype=np.int32, count=len(ids)).reshape(-1, 2)
        unknown += lines[(ends < 0).any(axis=1)].tolist()
        n_lines += len(block)
        progress(f"{n_lines:,} ties", 0.3)
        is_tie = ends[:, 0] != ends[:, 1]
        blocks.append((ends[is_tie], lines[is_tie]))
    if unknown and people is not None:
        named = {end for _, *both in ties.rows({}) for end in both}
        bad[people.unknown(named)] = unknown
    ends, lines = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    return ends, lines, n_lines - len(ends)
