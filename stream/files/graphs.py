"""Reads a graph from `vertices.csv`, `edges.csv` and a schema file, plain or gzipped."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import tomllib
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO

import msgspec
import numpy as np

from ktsafe import AttributedGraph, Schema
from ktsafe.errors import (
    ID_AGAIN,
    NO_ID,
    BadLines,
    InvalidGraph,
    numbered,
    raise_together,
    told_lines,
)
from ktsafe.generalization.levels import Declared
from ktsafe.inputs import Network, read_network
from ktsafe.inputs.spelling import value_text
from ktsafe.stream.files.composite_schema import CompositeSchema, composed, composite_schema
from ktsafe.stream.files.config_errors import config_error_text

_ENCODING: Final = "utf-8-sig"
"""UTF-8, with or without the mark that spreadsheets put first."""


TABLES: Final = (".csv", ".csv.gz")


class AttributesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[attributes]` table of a schema file or of the service's configuration.

    In a schema file there may be several sensitive attributes
    (`ktsafe.stream.files.composite_schema`).
    `expect_absent`: attributes and sensitive values that need not occur.
    `harmless_values`: values that are not sensitive, though spelt almost like one that is.
    Values are spelt as they are read (`ktsafe.inputs.spelling`): `1.0` is `1`.
    """

    quasi_identifiers: list[str]
    sensitive: str | list[str]
    sensitive_values: list[str] | dict[str, list[str]]
    buckets: dict[str, list[float | str]] = {}
    expect_absent: list[str] = []
    harmless_values: list[str] = []
    groups: dict[str, dict[str, list[str]]] = {}

    def to_schema(self) -> Schema:
        """Return the schema that the table describes.

        Raises
        ------
        InvalidGraph
            If names clash, buckets do not ascend, or values do not fit the sensitive attributes.
        """
        buckets = {name: tuple(edges) for name, edges in self.buckets.items()}
        beside: dict[str, Any] = {
            "expect_absent": _spelt(self.expect_absent),
            "harmless_values": _spelt(self.harmless_values),
            "groups": {
                name: {group: _spelt(values) for group, values in groups.items()}
                for name, groups in self.groups.items()
            },
        }
        match self.sensitive, self.sensitive_values:
            case str() as sensitive, list() as values:
                names = tuple(self.quasi_identifiers)
                return Schema(names, sensitive, frozenset(_spelt(values)), buckets, **beside)
            case list() as parts, dict() as by_part:
                spelt = {name: _spelt(values) for name, values in by_part.items()}
                made = composite_schema(self.quasi_identifiers, parts, spelt, buckets)
                return dataclasses.replace(made, **beside)
        msg = "sensitive and sensitive_values must both be of one attribute, or both of several."
        raise InvalidGraph(msg, hint="docs/files.md shows one.")


def _spelt(values: Iterable[str]) -> list[str]:
    """Return values as readers spell them; the empty text stays, and is refused elsewhere."""
    return [value_text(value) or value for value in values]


@dataclasses.dataclass(frozen=True, eq=False)
class GraphFile:
    """A graph read from files.

    Attributes
    ----------
    ids:
        The id of every vertex, by position.
    edges_repeated, loops:
        Lines of the edge file that were ignored, because they repeat an edge (in either
        direction) or join a vertex to itself.
    ignored:
        What the files say and no release shows: columns that have no role, directions of edges.
    people:
        For each attribute with groups how many people have each value that may be in one.
    """

    graph: AttributedGraph
    ids: list[str]
    edges_repeated: int
    loops: int
    ignored: tuple[str, ...] = ()
    people: Mapping[str, Counter[str]] = dataclasses.field(default_factory=dict)


def read_schema(path: Path) -> Schema:
    """Return the schema in a TOML file with an `[attributes]` table.

    Raises
    ------
    InvalidGraph
        If the file cannot be read or does not describe a schema.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(document["attributes"], AttributesTable).to_schema()
    except InvalidGraph as error:
        raise InvalidGraph(f"{path}: {error.message}", hint=error.hint) from None
    except OSError as error:
        raise InvalidGraph(f"{path} cannot be read ({error.strerror}).") from error
    except KeyError as error:
        msg = f"{path} has no [attributes] table."
        raise InvalidGraph(msg, hint="docs/files.md shows one.") from error
    except msgspec.ValidationError as error:
        msg = f"{path}: {config_error_text(error, AttributesTable)}"
        raise InvalidGraph(msg, hint="docs/files.md shows one.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidGraph(f"{path}: {error}.", hint="docs/files.md shows one.") from error


NO_ATTRIBUTES: Final = Schema((), "none", frozenset(), expect_absent=frozenset({"none"}))
"""The schema of a network whose people are told by nothing but their ties."""


def read_graph(vertices: Path | None, edges: Path, schema: Schema) -> GraphFile:
    """Return the graph in a file of vertices and one of edges.

    `vertices` has a column `id` and one per attribute of the schema (others are ignored). Where
    it is None the vertices are those that the file of edges names, with the attributes it has.
    `edges` is any file that `ktsafe.inputs.read_network` reads, such as a CSV file with the
    columns `source` and `target`.

    Raises
    ------
    InvalidGraph
        If a file cannot be read, lacks a column, repeats an id or names an unknown one, or the
        schema names what nobody has. All faults of CSV files are told at once (`SeveralFaults`):
        lines are named, their content is not repeated.
    """
    if vertices is None:
        found = read_network(edges)
        return _graph_file(schema, found.columns, found)
    return _of_two_files(vertices, edges, schema)


def _of_two_files(vertices: Path, edges: Path, schema: Schema) -> GraphFile:
    """Return the graph, or refuse both files for all that is wrong with them."""
    names = schema.columns if isinstance(schema, CompositeSchema) else schema.attributes
    is_table = edges.name.endswith(TABLES)
    faults: list[InvalidGraph] = []
    people = _People(vertices, {name: [] for name in names})
    with gathered(vertices, faults) as bad:
        people.read(bad)
    with gathered(edges, faults) as bad:
        if is_table:
            network = _read_edges(edges, people, bad)
        else:
            network = _in_place(read_network(edges), people, edges)
    if faults:
        raise_together([*faults, *people.faults(schema)])
    ignored = _unused(vertices, {"id", *people.columns})
    if is_table:
        ignored |= _unused(edges, {"source", "target"})
    network = dataclasses.replace(network, ids=list(people.position))
    try:
        return _graph_file(schema, people.columns, network, ignored)
    except InvalidGraph:
        raise_together(people.faults(schema))
        raise


@contextmanager
def gathered(path: Path, faults: list[InvalidGraph]) -> Iterator[BadLines]:
    """Give room for what is wrong with lines of a file, and add all that is wrong with it."""
    bad: BadLines = {}
    try:
        yield bad
    except InvalidGraph as error:
        faults.append(error)
    faults += [InvalidGraph(f"{told}.") for told in told_lines(path, bad)]


def _read_edges(edges: Path, people: _People, bad: BadLines) -> Network:
    """Return the edges of a file, each once and without loops."""
    ends: list[tuple[int, int]] = []
    unknown = f"names a vertex that {people.path} does not list"
    with csv_rows(edges, ["source", "target"], bad) as rows:
        for line, (source, target) in rows:
            try:
                u, v = people.position[source], people.position[target]
            except KeyError:
                if people.is_whole:
                    bad.setdefault(unknown, []).append(line)
                continue
            ends.append((u, v) if u < v else (v, u))
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    joining = pairs[pairs[:, 0] != pairs[:, 1]]
    once = np.unique(joining, axis=0)
    repeated, loops = len(joining) - len(once), len(pairs) - len(joining)
    return Network("CSV", [], {}, once, repeated=repeated, loops=loops)


@dataclasses.dataclass
class _People:
    """The rows of a file of vertices.

    Attributes
    ----------
    path, columns:
        The file, and the values of each column that is wanted.
    position, lines:
        Where each id stands among the rows, and the line of each row.
    is_whole:
        Whether the ids of all rows are known.
    """

    path: Path
    columns: dict[str, list[object]]
    position: dict[str, int] = dataclasses.field(default_factory=dict)
    lines: list[int] = dataclasses.field(default_factory=list)
    is_whole: bool = False

    def read(self, bad: BadLines) -> None:
        """Read the file."""
        with csv_rows(self.path, ["id", *self.columns], bad) as rows:
            for line, (vertex, *values) in rows:
                if not vertex or vertex in self.position:
                    bad.setdefault(ID_AGAIN if vertex else NO_ID, []).append(line)
                    continue
                self.position[vertex] = len(self.position)
                self.lines.append(line)
                for column, value in zip(self.columns.values(), values, strict=True):
                    column.append(value)
        self.is_whole = bad.keys() <= {ID_AGAIN, NO_ID}

    def faults(self, schema: Schema) -> list[InvalidGraph]:
        """Return what is wrong with values, and what the schema names and nobody has."""
        from ktsafe.protection import input_faults  # noqa: PLC0415 -- loads kernels

        def told(error: InvalidGraph, rows: list[int]) -> InvalidGraph:
            where = numbered("line", [self.lines[row] for row in rows])
            return InvalidGraph(f"{self.path}, {where}: {error.message}", hint=error.hint)

        found = input_faults.value_faults(schema, self.columns, told)
        if self.is_whole and not isinstance(schema, CompositeSchema):
            found += input_faults.absent_faults(schema, self.columns, as_given=bool(found))
        return found


def _in_place(network: Network, people: _People, edges: Path) -> Network:
    """Return a network with its vertices at the positions of a file that lists more of them."""
    places = np.array([people.position.get(name, -1) for name in network.ids], dtype=np.int64)
    if people.is_whole and (places < 0).any():
        msg = f"{edges} names {int((places < 0).sum())} vertices that {people.path} does not list."
        raise InvalidGraph(msg)
    return dataclasses.replace(network, edges=np.sort(places[network.edges], axis=1))


def _graph_file(
    schema: Schema,
    columns: Mapping[str, list[Any]],
    network: Network,
    ignored: Collection[str] = (),
) -> GraphFile:
    names = schema.columns if isinstance(schema, CompositeSchema) else schema.attributes
    # Of an attribute that nobody has, all vertices lack the value.
    given: dict[str, list[Any]] = {name: [None] * len(network.ids) for name in names}
    given |= columns
    if isinstance(schema, CompositeSchema):
        graph = AttributedGraph.from_columns(*composed(schema, given), network.edges)
    else:
        graph = AttributedGraph.from_columns(schema, given, network.edges)
    ungrouped = dataclasses.replace(schema, groups={})
    people = {
        name: Counter(ungrouped.category(name, value) for value in given[name])
        for name in schema.groups
    }
    directions = {"directions"} if network.directed else set[str]()
    told = tuple(sorted({*network.ignored, *directions, *ignored, *(columns.keys() - {*names})}))
    return GraphFile(graph, network.ids, network.repeated, network.loops, told, people)


def read_levels(path: Path) -> dict[str, list[Declared]]:
    """Return the `[hierarchies]` table of a TOML file: ways to tell attributes, the finest first.

    A file without that table has none.

    Raises
    ------
    InvalidGraph
        If the file cannot be read, or the table is no list of levels for each attribute.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("hierarchies", {})
        found: dict[str, list[Declared]] = msgspec.convert(
            table, dict[str, list[list[float | str] | dict[str, list[str]]]]
        )
    except OSError as error:
        raise InvalidGraph(f"{path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        msg = f"{path}: its [hierarchies] are no lists of levels."
        raise InvalidGraph(msg, hint="docs/files.md shows one.") from error
    return found


@contextmanager
def csv_rows(
    path: Path, names: list[str], bad: BadLines | None = None
) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Give (line number, values of the named columns) for every row of a CSV file.

    With `bad` rows of another length are put there, and the others go on.

    Raises
    ------
    InvalidGraph
        If the file cannot be read, lacks a column or has a row of another length.
    """
    with _csv_reader(path) as reader:
        header: list[str] = next(reader, [])
        if missing := [name for name in names if name not in header]:
            named = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
            raise InvalidGraph(f"{path} has no {named}.", hint=_about_header(header, names))
        indices = [header.index(name) for name in names]
        yield _selected(path, reader, indices, len(header), bad)


def csv_header(path: Path) -> list[str]:
    """Return the names of the columns of a CSV file.

    Raises
    ------
    InvalidGraph
        If the file cannot be read.
    """
    with _csv_reader(path) as reader:
        header: list[str] = next(reader, [])
        return header


def _unused(path: Path, used: set[str]) -> set[str]:
    """Return the columns of a CSV file that are not used; of a pipe, which was read, none."""
    return {*csv_header(path)} - used if path.is_file() else set()


@contextmanager
def _csv_reader(path: Path) -> Iterator[Any]:
    """Give the rows of a CSV file, and say what is wrong with it.

    Raises
    ------
    InvalidGraph
    """
    try:
        with _open(path) as file:
            yield csv.reader(file, strict=True)
    except gzip.BadGzipFile as error:
        msg = f"{path} is no gzip file."
        raise InvalidGraph(msg, hint="A name that ends in .gz promises one.") from error
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror or type(error).__name__})."
        raise InvalidGraph(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} is no UTF-8 text."
        hint = "Save it as UTF-8, in spreadsheets as 'CSV UTF-8'."
        raise InvalidGraph(msg, hint=hint) from error
    except csv.Error as error:
        msg = f"{path} is no readable CSV file ({error})."
        hint = "A quotation mark that is opened and not closed does that."
        raise InvalidGraph(msg, hint=hint) from error
    except (EOFError, zlib.error) as error:
        msg = f"{path} is no whole gzip file."
        raise InvalidGraph(msg, hint="Copy or write it again.") from error


def _about_header(header: list[str], names: list[str]) -> str:
    """Return what helps where a column is missing."""
    hint = f"Its first line must name {', '.join(names)}."
    if not header:
        return f"It is empty. {hint}"
    for mark, word in ((";", "semicolons"), ("\t", "TABs"), ("|", "bars")):
        if len(header) == 1 and mark in header[0]:
            return f"Its columns are separated by {word}; write commas instead. {hint}"
    if {name.strip().lower() for name in header} >= {name.lower() for name in names}:
        return f"Names are compared letter by letter, spaces included. {hint}"
    return hint


def _selected(
    path: Path, reader: Any, indices: list[int], width: int, bad: BadLines | None
) -> Iterator[tuple[int, list[str]]]:
    for row in reader:
        if not row:
            continue
        if len(row) != width:
            what = f"{len(row)} values for {width} columns"
            if bad is None:
                raise InvalidGraph(f"{path}, line {reader.line_num}: {what}.")
            bad.setdefault(what, []).append(reader.line_num)
            continue
        yield reader.line_num, [row[i] for i in indices]


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path, "rb"), encoding=_ENCODING, newline="")
    return path.open(encoding=_ENCODING, newline="")
