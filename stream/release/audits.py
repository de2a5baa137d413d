"""The truth of an audit: mappings, and true graphs from a feed.

An audit's own reading: it shares no code with the store. State semantics: registers merge by (time,
line), an attribute or a tie counts if it is later than its vertex's last departure, and a tie waits
for its ends. A release at T shows the lines before the first one that is later than T. After
`ktsafe state import` the feed goes on from a graph in two files, which counts as older.

Whatever the store learns to understand of a feed must be written here a second time, not imported;
tests/stream/release/test_true_feed.py compares both with the naive fold.
"""

from __future__ import annotations

import dataclasses
import datetime
import gzip
import io
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.audit import Traced, trace
from ktsafe.audit.sequence import AuditedRelease, CodedTexts, Declared, Promise, TrueGraph
from ktsafe.errors import BadLines, InvalidGraph, raise_together, told_lines
from ktsafe.graph.inputs.people_and_ties import People, Ties
from ktsafe.graph.inputs.table_files import table_at
from ktsafe.graph.numbering import Ids
from ktsafe.stream.files.graphs import read_graph
from ktsafe.stream.files.private_audits import place_of
from ktsafe.stream.files.releases_read import Manifest, Release, ReleaseUnreadable
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
        """Return whether relations of two people are a tie by schema."""
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


# Files of an audit: mapping, declarations and true graphs.
#
# MAP/<release_id>/mapping.csv    released_id,original_id    empty: no owner, or none any more
# MAP/<release_id>/values.csv                                where values are exchanged
# MAP/<release_id>/audit.json     optional: {"declared": {"withheld": 0, "held_ties": 0,
# "held_changes": 0, "lag_max": null}}
# TRUTH/<release_id>/vertices.csv[.gz], edges.csv[.gz]       as `ktsafe anonymize` reads them
#
# A folder that holds the files itself serves every release. The truth may also be the feed, or a
# folder with the feed and the graph that was imported before it.

EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND: Final = datetime.timedelta(microseconds=1)

_TRUTH_AFTER_IMPORT: Final = (
    "After `ktsafe state import` --truth is a folder with the imported vertices.csv and edges.csv, "
    "and the feed."
)


def audited(
    release: Release,
    owners: Mapping[str, Hashable | None] | NDArray[np.int64] | None = None,
    vacated: Collection[str] = (),
    value_at: NDArray[np.int64] | None = None,
    promised: PrivacyParams | None = None,
) -> AuditedRelease:
    """Return a release as the auditor takes it.

    Parameters
    ----------
    owners:
        Private: by released id the person behind it, None without one; or the number of the person
        behind each vertex, -1 without one; None: nothing is known.
    vacated:
        Private: ids whose owners left since the release before, see `read_vacated`.
    value_at:
        Private: the vertex that shows the value of each, see `read_value_places`.
    promised:
        What the last release of the sequence states. An earlier one is held to its `t` and
        `epsilon` where it stated greater ones.
    """
    params = release.params
    if promised is not None and promised.t <= params.t and promised.epsilon <= params.epsilon:
        params = dataclasses.replace(params, t=promised.t, epsilon=promised.epsilon)
    schema = release.manifest.schema
    codes, meanings = release.codes()
    behind: Sequence[Hashable | None] | NDArray[np.int64] | None
    if isinstance(owners, Mapping):
        unmatched = len(owners.keys() ^ set(release.ids))
        behind = [owners.get(name) for name in release.ids]
    else:
        unmatched, behind = 0, owners
    return AuditedRelease(
        release_id=release.manifest.release_id,
        sequence_id=release.manifest.sequence_id,
        params=params,
        ids=release.ids.numbers if isinstance(release.ids, Ids) else release.ids,
        categories=[meanings[name] for name in schema.quasi_identifiers],
        codes=codes[:, :-1],
        is_sensitive=release.is_sensitive(),
        edges=release.edges,
        owners=behind,
        vacated=vacated,
        unmatched=unmatched,
        sensitive_texts=CodedTexts(meanings[schema.sensitive], codes[:, -1]),
        schema=msgspec.to_builtins(schema),
        value_at=value_at,
    )


def traced_of(release: Release, true: TrueGraph, owners: Mapping[str, Hashable | None]) -> Traced:
    """Return a release beside its truth, as attacks and figures take it.

    A place whose owner is not in the true graph counts as inserted: nobody is there to be found.

    Raises
    ------
    InvalidGraph
        If that holds for most owners: it is another truth.
    """
    part = release.manifest.schema
    schema = Schema(tuple(part.quasi_identifiers), part.sensitive, frozenset(part.sensitive_values))
    columns = dict(zip(schema.quasi_identifiers, true.values, strict=True))
    columns[schema.sensitive] = true.sensitive_texts
    place = {person: i for i, person in enumerate(true.people)}
    behind = [place.get(owners.get(name), -1) for name in release.ids]
    named = sum(owners.get(name) is not None for name in release.ids)
    if 2 * sum(vertex >= 0 for vertex in behind) < named:
        msg = f"Most people of {release.manifest.release_id} are not in the truth."
        raise InvalidGraph(msg, hint=_TRUTH_AFTER_IMPORT)
    return trace(
        AttributedGraph.from_columns(schema.expecting_nothing(), columns, true.edges),
        AttributedGraph.from_columns(schema.expecting_nothing(), release.columns, release.edges),
        np.array(behind, dtype=np.int64),
    )


def true_graph(
    graph: AttributedGraph,
    people: Sequence[Hashable] | NDArray[np.int64],
    declared: Declared,
    left_since: frozenset[str] = frozenset(),
) -> TrueGraph:
    """Return a true graph for the auditor, vertices named as `people`."""
    texts = [CodedTexts(names, graph.codes[:, j]) for j, names in enumerate(graph.categories)]
    return TrueGraph(people, texts[:-1], texts[-1], graph.edges, declared, left_since)


def promise_of(manifest: Manifest) -> Promise:
    """Return what a release's manifest promises.

    Raises
    ------
    ReleaseUnreadable
        If it promises a window that means nothing.
    """
    window = manifest.guarantee.w
    if window in (1, "all"):
        return Promise("all" if window == "all" else 1, cover=manifest.guarantee.cover)
    msg = f"The manifest of {manifest.release_id} promises an unknown window."
    raise ReleaseUnreadable(msg, hint="Known: 1, or all.")


class Truth:
    """True graphs behind a history: a folder of graphs, or a feed.

    Parameters
    ----------
    path:
        A folder with `vertices.csv` and `edges.csv` per release, a feed (.jsonl, .jsonl.gz), or a
        folder with a feed and the graph that it goes on from.
    schema:
        Says how numbers become buckets; None: the values are as published.
    """

    def __init__(self, path: Path, schema: Schema | None) -> None:
        self._path = path
        self._schema = schema
        self._feed = _feed_at(path)

    def left_since(self, manifests: Sequence[Manifest]) -> list[frozenset[str]]:
        """Return leavers before each release, as far as known.

        The service erases them from the mappings of past releases.
        """
        if not manifests:
            return []
        if self._feed is not None:
            times = [self._time_us(manifest) for manifest in manifests]
            # People may have left after the last release, and been erased all the same.
            self._feed.at(events.TIME_US_MAX, self._schema_of(manifests[-1]), Declared())
            return [self._feed.left_after(time) for time in times]
        left: list[frozenset[str]] = []
        stayed: frozenset[str] | None = None
        for manifest in reversed(manifests):
            place = place_of(self._path, manifest.release_id, "vertices.csv", "vertices.csv.gz")
            people = _people(_either(place, "vertices.csv"))
            left.append(frozenset() if stayed is None else people - stayed)
            stayed = people if stayed is None else stayed & people
        return left[::-1]

    def of(
        self,
        manifest: Manifest,
        declared: Declared,
        left_since: frozenset[str] = frozenset(),
    ) -> TrueGraph:
        """Return the true graph at a release's nominal time.

        Raises
        ------
        InvalidGraph
            If the files cannot be read or do not fit the release's attributes.
        """
        schema = self._schema_of(manifest)
        if self._feed is not None:
            true = self._feed.at(self._time_us(manifest), schema, declared)
            return dataclasses.replace(true, left_since=left_since)
        place = place_of(self._path, manifest.release_id, "vertices.csv", "vertices.csv.gz")
        files = [_either(place, stem) for stem in ("vertices.csv", "edges.csv")]
        source = read_graph(files[0], files[1], schema.expecting_nothing())
        return true_graph(source.graph, source.ids, declared, left_since)

    def _time_us(self, manifest: Manifest) -> int:
        time = nominal_time(manifest)
        if time is None:
            msg = f"{manifest.release_id} has no nominal time to read the feed up to."
            raise InvalidGraph(msg, hint="Give --truth a folder with the true graph.")
        return (time - EPOCH) // MICROSECOND

    def _schema_of(self, manifest: Manifest) -> Schema:
        part = manifest.schema
        if self._schema is None:
            sensitive_values = frozenset(part.sensitive_values)
            return Schema(tuple(part.quasi_identifiers), part.sensitive, sensitive_values)
        if self._schema.attributes != (*part.quasi_identifiers, part.sensitive):
            msg = "The schema file lists other attributes than the release."
            raise InvalidGraph(msg, hint="Give the schema that the releases were made with.")
        return self._schema


def nominal_time(manifest: Manifest) -> datetime.datetime | None:
    """Return the nominal time of a release.

    Raises
    ------
    ReleaseUnreadable
        If it is no time.
    """
    if manifest.nominal_time is None:
        return None
    try:
        time = datetime.datetime.fromisoformat(manifest.nominal_time)
    except ValueError as error:
        msg = f"The manifest of {manifest.release_id} has an invalid nominal time."
        raise ReleaseUnreadable(msg) from error
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def _feed_at(path: Path) -> TrueFeed | None:
    """Return the feed given as truth, or beside an imported graph."""
    if path.is_file():
        return TrueFeed(path)
    feeds = [*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]
    if len(feeds) > 1:
        msg = f"{path} holds several feeds."
        raise InvalidGraph(msg, hint="Leave the one that the service read.")
    if not feeds:
        return None
    return TrueFeed(feeds[0], (_either(path, "vertices.csv"), _either(path, "edges.csv")))


def _people(path: Path) -> frozenset[str]:
    """Return a vertex file's ids, none where `Truth.of` will refuse it."""
    with suppress(InvalidGraph):
        return frozenset(vertex for _, vertex, _ in People(path, []).rows({}))
    return frozenset()


def _either(folder: Path, name: str) -> Path:
    """Return the gzipped file if only that is there."""
    zipped = folder / f"{name}.gz"
    return zipped if zipped.exists() and not (folder / name).exists() else folder / name
