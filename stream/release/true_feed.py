"""The true graph at any time, from a feed in files.

It is an audit's own reading.

After `ktsafe state import` the feed goes on from a graph in two files, which counts as older. It
shares no code with the store. State semantics: registers merge by (time, line), an attribute or a
tie counts if it is later than its vertex's last departure, and a tie waits for its ends. A release
at T shows the lines before the first one that is later than T.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from ktsafe import Schema
from ktsafe.audit.sequence import Declared, TrueGraph
from ktsafe.errors import BadLines, InvalidGraph, raise_together, told_lines
from ktsafe.graph.inputs.tables.people_and_ties import People, Ties
from ktsafe.graph.inputs.tables.table_files import table_at
from ktsafe.stream.ingest import events

Stamp = tuple[int, int]
"""(time in microseconds, line)."""
Mark = tuple[str | None, str | None]
"""The kind of a tie, and whose it is if it has a direction."""

_HINT: Final = "--truth takes a feed, a folder of graphs, or one with a graph and its feed."

BEGINNING: Stamp = (-(2**63), -1)
IMPORTED: Stamp = (BEGINNING[0], 0)


class TrueFeed:
    """Reads a feed up to a time, and then further.

    Parameters
    ----------
    path:
        The feed, one event per line.
    imported:
        Files of vertices and edges that were there before, if any.
    """

    def __init__(self, path: Path, imported: tuple[Path, Path] | None = None) -> None:
        self._path = path
        self._imported = imported
        self._restart()

    def _restart(self) -> None:
        self._lines = _lines(self._path)
        self._next: tuple[Stamp, events.Event] | None = None
        self._read_to = BEGINNING[0]
        self._up: dict[str, Stamp] = {}
        self._down: dict[str, Stamp] = {}
        self._values: dict[str, dict[str, tuple[Stamp, str | None]]] = {}
        self._ties: dict[tuple[str, str], dict[Mark, tuple[Stamp, bool]]] = {}

    def at(self, time_us: int, schema: Schema, declared: Declared) -> TrueGraph:
        """Return the true graph at a time.

        Raises
        ------
        InvalidGraph
            If the feed cannot be read, or a bucketed attribute holds no number.
        """
        if time_us < self._read_to:
            self._restart()
        if self._imported is not None and self._read_to == BEGINNING[0]:
            self._begin(*self._imported, schema)
        self._read_to = time_us
        while (following := self._next or next(self._lines, None)) is not None:
            self._next = following
            if following[0][0] > time_us:
                break
            self._apply(*following)
            self._next = None
        people = sorted(v for v, up in self._up.items() if up > self._down.get(v, BEGINNING))
        place = {v: i for i, v in enumerate(people)}
        ties = [
            (place[a], place[b])
            for (a, b), marks in self._ties.items()
            if a in place and b in place and self._is_tie(a, b, marks, schema)
        ]
        texts = [
            [schema.category(name, self._value(v, name)) for v in people]
            for name in schema.attributes
        ]
        edges = np.array(sorted(ties), dtype=np.int64).reshape(-1, 2)
        return TrueGraph(people, texts[:-1], texts[-1], edges, declared)

    def _begin(self, vertices: Path, edges: Path, schema: Schema) -> None:
        """Take in the graph that was imported, as events before all others."""
        bad: BadLines = {}
        for _, vertex, texts in People(vertices, schema.columns, nominal=schema.nominal).rows(bad):
            values: dict[str, events.AttributeValue] = dict(zip(schema.columns, texts, strict=True))
            self._apply(IMPORTED, events.VertexUpsertEvent(vertex, values))
        bad_ends: BadLines = {}
        for _, source, target in Ties(table_at(edges)).rows(bad_ends):
            self._apply(IMPORTED, events.EdgeAddEvent(source, target))
        told = [*told_lines(vertices, bad), *told_lines(edges, bad_ends)]
        raise_together([InvalidGraph(f"{each}.") for each in told])

    def left_after(self, time_us: int) -> frozenset[str]:
        """Return the people gone since a time, as far as read."""
        return frozenset(v for v, stamp in self._down.items() if stamp[0] > time_us)

    def _is_tie(
        self, a: str, b: str, marks: dict[Mark, tuple[Stamp, bool]], schema: Schema
    ) -> bool:
        """Return whether what holds between two people is a tie, as the schema asks."""
        held = [m for m, (at, is_there) in marks.items() if is_there and self._counts(at, a, b)]
        if schema.ties == "mutual":
            sources = {source for _, source in held}
            return None in sources or len(sources) == 2
        return any(schema.ties == "any" or kind in schema.ties for kind, _ in held)

    def _counts(self, stamp: Stamp, *ends: str) -> bool:
        return all(stamp > self._down.get(v, BEGINNING) for v in ends)

    def _value(self, vertex: str, name: str) -> str | None:
        stamp, value = self._values.get(vertex, {}).get(name, (BEGINNING, None))
        return value if self._counts(stamp, vertex) else None

    def _apply(self, stamp: Stamp, event: events.Event) -> None:
        match event:
            case events.VertexUpsertEvent(id=vertex, attributes=attributes):
                self._up[vertex] = max(self._up.get(vertex, BEGINNING), stamp)
                values = self._values.setdefault(vertex, {})
                for name, value in attributes.items():
                    if stamp > values.get(name, (BEGINNING, None))[0]:
                        values[name] = (stamp, events.attribute_text(value))
            case events.VertexDeleteEvent(id=vertex):
                self._down[vertex] = max(self._down.get(vertex, BEGINNING), stamp)
            case _:
                a, b = event.source, event.target
                tie = (a, b) if a < b else (b, a)
                mark = events.checked_kind(event.kind), a if event.directed else None
                marks = self._ties.setdefault(tie, {})
                if a != b and stamp > marks.get(mark, (BEGINNING, False))[0]:
                    marks[mark] = (stamp, isinstance(event, events.EdgeAddEvent))


def _lines(path: Path) -> Iterator[tuple[Stamp, events.Event]]:
    """Yield the events of a feed.

    Lines that are none were dead letters and are ignored.
    """
    number, found = -1, False
    try:
        with _open(path) as file:
            for number, line in enumerate(file):
                try:
                    event = events.with_checked_ids(events.decode(line))
                    stamp = events.time_us(event.time, None), number
                except events.MalformedEvent:
                    continue
                found = True
                yield stamp, event
    except (OSError, EOFError) as error:
        msg = f"{path} cannot be read ({type(error).__name__})."
        raise InvalidGraph(msg, hint=_HINT) from error
    if number >= 0 and not found:
        raise InvalidGraph(f"{path} holds no event.", hint=_HINT)


def _open(path: Path) -> io.BufferedIOBase:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    return path.open("rb")
