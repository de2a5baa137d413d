"""Graphs and schemas in files, with several sensitive attributes as one.

    [attributes]
    quasi_identifiers = ["gender"]
    sensitive = ["health", "income"]
    sensitive_values = { health = ["chronic"], income = ["none"] }

Source: Section 2.1 of the paper, "Graph Model"; see `ktsafe.graph.schemas`.

A key of `[attributes]` is a field of `AttributesTable`, for schema files and services alike:
stream/example.toml, `make reference`. How cells become values is decided in `ktsafe.graph.inputs`,
not here.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ktsafe import AttributedGraph, Schema
from ktsafe.errors import BadLines, InvalidGraph, numbered, raise_together, told_lines
from ktsafe.graph import NONE
from ktsafe.graph.inputs import Network, read_network
from ktsafe.graph.inputs.names import NOTHING_CHOSEN, Chosen
from ktsafe.graph.inputs.people_and_ties import People, missing_notes
from ktsafe.graph.inputs.spelling import code_text, value_text
from ktsafe.graph.inputs.table_files import PARQUET
from ktsafe.graph.schema_check import Border
from ktsafe.graph.schemas import absent_faults, check_part, composite_sensitive, value_faults
from ktsafe.stream.files.config_errors import config_error_text

JOINT: Final = "+"
"""Between the names of the parts, in the name of the composite attribute."""


@dataclasses.dataclass(frozen=True)
class CompositeSchema(Schema):
    """A schema with a sensitive attribute that stands for several columns.

    Attributes
    ----------
    parts:
        For each sensitive column, in order, its sensitive values. Which composite values are
        sensitive is known when the columns are: those of which any part is.
    """

    parts: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a file must have."""
        return (*self.quasi_identifiers, *self.parts)


def composite_schema(
    quasi_identifiers: list[str],
    sensitive: list[str],
    sensitive_values: Mapping[str, list[str]],
    buckets: Mapping[str, tuple[Border, ...]],
) -> CompositeSchema:
    """Return the schema of a table with several sensitive attributes.

    The table is `[attributes]`.

    Raises
    ------
    InvalidGraph
        If names clash, or values are declared for other attributes than are listed.
    """
    if not sensitive or set(sensitive_values) != set(sensitive):
        msg = "With several sensitive attributes, sensitive_values must be a table that names each."
        raise InvalidGraph(msg, hint='Such as sensitive_values = { health = ["chronic"] }.')
    names = [*quasi_identifiers, *sensitive]
    if len(set(names)) != len(names):
        raise InvalidGraph("A schema names an attribute twice.")
    parts = {name: frozenset(sensitive_values[name]) for name in sensitive}
    return CompositeSchema(
        tuple(quasi_identifiers), JOINT.join(sensitive), frozenset(), buckets, parts=parts
    )


def composed(
    schema: CompositeSchema, columns: Mapping[str, list[str]]
) -> tuple[Schema, dict[str, list[object]]]:
    """Return schema and columns, with the composite for its parts.

    Raises
    ------
    AbsentFromGraph
        If nobody has a sensitive attribute, or one of its sensitive values.
    """
    parts = dict(schema.parts)
    for part, sensitive in parts.items():
        absent, harmless = schema.expect_absent, schema.harmless_values
        check_part(part, sensitive, columns, absent=absent, harmless=harmless)
    made, values = composite_sensitive(schema.quasi_identifiers, parts, columns, schema.sensitive)
    names = ("buckets", "expect_absent", "groups", "nominal")
    told = {name: getattr(schema, name) for name in names}
    return dataclasses.replace(made, **told), values


def declaring_what_is_shown(graph: AttributedGraph) -> AttributedGraph:
    """Return a released graph that declares only sensitive values it shows.

    Which combinations exist among people whose values are not published is nobody's business.
    """
    texts = graph.categories[-1]
    shown = {texts[code] for code in set(graph.codes[:, -1].tolist())}
    schema = dataclasses.replace(
        graph.schema, sensitive_values=graph.schema.sensitive_values & shown
    )
    return AttributedGraph.from_codes(schema, graph.categories, graph.codes, graph.edges)


def declared_beside(schema: Schema) -> dict[str, Any]:
    """Return what an `[attributes]` table says of sensitive attributes and absent values."""
    found: dict[str, Any]
    absent = schema.expect_absent
    if schema.columns == schema.quasi_identifiers:
        found, absent = {}, absent - {NONE}
    elif isinstance(schema, CompositeSchema):
        by_part = {name: sorted(values) for name, values in schema.parts.items()}
        found = {"sensitive": list(schema.parts), "sensitive_values": by_part}
    else:
        values = sorted(schema.sensitive_values)
        found = {"sensitive": schema.sensitive, "sensitive_values": values}
    harmless = {"harmless_values": sorted(schema.harmless_values)} if schema.harmless_values else {}
    nominal = {"nominal": sorted(schema.nominal)} if schema.nominal else {}
    ties = {} if schema.ties == "any" else {"ties": schema.ties_told}
    return {**found, "expect_absent": sorted(absent), **harmless, **nominal, **ties}


# Reads a graph from a table of people, a file of ties and a schema file.


class AttributesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `[attributes]` table of a schema file or of the service's configuration.

    In a schema file there may be several sensitive attributes
    (`ktsafe.stream.files.graphs`).
    `expect_absent`: attributes and sensitive values that need not occur.
    `harmless_values`: values that are not sensitive, though spelt almost like one that is.
    `nominal`: attributes whose values are codes, and no numbers.
    `ties`: what counts as one, "any" row, "mutual" ones, or those of some kinds.
    Without `sensitive` nobody has a sensitive attribute.
    Values are spelt as they are read (`ktsafe.graph.inputs.spelling`): `1.0` is `1`.
    """

    quasi_identifiers: list[str]
    sensitive: str | list[str] | UnsetType = UNSET
    sensitive_values: list[str] | dict[str, list[str]] | UnsetType = UNSET
    buckets: dict[str, list[float | str]] = {}
    expect_absent: list[str] = []
    harmless_values: list[str] = []
    groups: dict[str, dict[str, list[str]]] = {}
    nominal: list[str] = []
    ties: Literal["any", "mutual"] | list[str] = "any"

    def to_schema(self) -> Schema:
        """Return the schema that the table describes.

        Raises
        ------
        InvalidGraph
            If names clash, buckets do not ascend, or values do not fit the sensitive attributes.
        """
        names, nominal = tuple(self.quasi_identifiers), frozenset(self.nominal)
        parts = [self.sensitive] if isinstance(self.sensitive, str) else self.sensitive or []
        if extra := sorted(nominal - {*names, *parts}):
            raise InvalidGraph(f"{extra[0]!r} is declared nominal, and has no other role.")
        buckets = {name: tuple(edges) for name, edges in self.buckets.items()}
        is_code = not nominal.isdisjoint(parts)
        beside: dict[str, Any] = {
            "expect_absent": _spelt(self.expect_absent, is_code=is_code),
            "harmless_values": _spelt(self.harmless_values, is_code=is_code),
            "groups": {
                name: {group: _spelt(told, is_code=name in nominal) for group, told in of.items()}
                for name, of in self.groups.items()
            },
            "nominal": nominal,
            "ties": self.ties if isinstance(self.ties, str) else frozenset(self.ties),
        }
        match self.sensitive, self.sensitive_values:
            case UnsetType(), UnsetType():
                beside["expect_absent"].append(NONE)
                return Schema(names, NONE, frozenset(), buckets, **beside)
            case UnsetType(), _:
                raise InvalidGraph("sensitive_values are declared, but no sensitive attribute.")
            case _, UnsetType():
                raise InvalidGraph("The key sensitive_values is missing: it may be [].")
            case str() as sensitive, list() as values:
                spelt = frozenset(_spelt(values, is_code=is_code))
                return Schema(names, sensitive, spelt, buckets, **beside)
            case list(), dict() as by_part:
                of_part = {
                    part: _spelt(values, is_code=part in nominal)
                    for part, values in by_part.items()
                }
                made = composite_schema(self.quasi_identifiers, parts, of_part, buckets)
                return dataclasses.replace(made, **beside)
        msg = "sensitive and sensitive_values must both be of one attribute, or both of several."
        raise InvalidGraph(msg, hint="docs/files.md shows one.")


def _spelt(values: Iterable[str], *, is_code: bool) -> list[str]:
    """Return values as readers spell them; the empty text stays."""
    spell = code_text if is_code else value_text
    return [spell(value) or value for value in values]


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
    notes:
        What may surprise in how the files were read, a sentence each.
    """

    graph: AttributedGraph
    ids: list[str]
    edges_repeated: int
    loops: int
    ignored: tuple[str, ...] = ()
    people: Mapping[str, Counter[str]] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


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


NO_ATTRIBUTES: Final = Schema((), NONE, frozenset(), expect_absent=frozenset({NONE}))
"""The schema of a network whose people are told by nothing but their ties."""


def read_graph(
    vertices: Path | None, edges: Path, schema: Schema, columns: Chosen = NOTHING_CHOSEN
) -> GraphFile:
    """Return the graph in a file of vertices and one of edges.

    Parameters
    ----------
    vertices:
        A table with ids and a column per attribute of the schema (others are ignored); None: the
        vertices are those that the file of edges names.
    edges:
        A table or list of ties, as `ktsafe.graph.inputs.read_network` reads it.
    columns:
        Which columns hold ids and ends of ties, where their names do not say so.

    Raises
    ------
    InvalidGraph
        If a file cannot be read, lacks a column, repeats an id or names an unknown one, or the
        schema names what nobody has. All faults of tables are told at once (`SeveralFaults`):
        lines are named, their content is not repeated.
    """
    if schema.ties != "any":
        msg = "The schema asks for ties of some kinds or directions."
        raise InvalidGraph(msg, hint="Services and `ktsafe next` count them; give one row a tie.")
    if vertices is None:
        network = read_network(edges, columns=columns)
        return _graph_file(schema, network.columns, network)
    faults: list[InvalidGraph] = []
    people = _ListedPeople(vertices, schema)
    with gathered(vertices, faults) as bad:
        people.read(columns, bad)
    with gathered(edges, faults) as bad:
        listed = people.listed
        network = read_network(edges, columns=columns, people=listed, bad=bad)
    if faults:
        raise_together([*faults, *people.faults()])
    assert listed is not None
    try:
        return _graph_file(schema, people.columns, network, listed.ignored)
    except InvalidGraph:
        raise_together(people.faults())
        raise


@contextmanager
def gathered(path: Path, faults: list[InvalidGraph]) -> Iterator[BadLines]:
    """Collect bad lines of a file, and add them to the faults."""
    bad: BadLines = {}
    try:
        yield bad
    except InvalidGraph as error:
        faults.append(error)
    word = "row" if path.suffix == PARQUET else "line"
    faults += [InvalidGraph(f"{told}.") for told in told_lines(path, bad, word)]


class _ListedPeople:
    """The people of a table, with the attributes of a schema.

    Attributes
    ----------
    listed:
        The table; None if it cannot be read.
    columns, lines:
        The values of each attribute, and where each person stands.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        self._path = path
        self._schema = schema
        self.listed: People | None = None
        self.columns: dict[str, list[Any]] = {}
        self.lines: list[int] = []

    def read(self, columns: Chosen, bad: BadLines) -> None:
        """Read the table."""
        schema = self._schema
        listed = People(self._path, schema.columns, chosen=columns, nominal=schema.nominal)
        self.listed = listed
        self.columns = {name: [] for name in listed.names}
        for line, _, values in listed.rows(bad):
            self.lines.append(line)
            for column, value in zip(self.columns.values(), values, strict=True):
                column.append(value)

    def faults(self) -> list[InvalidGraph]:
        """Return the faults of values, and the names that no vertex has."""
        if self.listed is None:
            return []
        word = self.listed.table.row_word

        def told(error: InvalidGraph, rows: list[int]) -> InvalidGraph:
            where = numbered(word, [self.lines[row] for row in rows])
            return InvalidGraph(f"{self._path}, {where}: {error.message}", hint=error.hint)

        schema = self._schema
        found = value_faults(schema, self.columns, told)
        if self.listed.is_whole and not isinstance(schema, CompositeSchema):
            found += absent_faults(schema, self.columns, as_given=bool(found))
        return found


def _graph_file(
    schema: Schema,
    columns: Mapping[str, list[Any]],
    network: Network,
    ignored: Collection[str] = (),
) -> GraphFile:
    names = schema.columns
    # Of an attribute that nobody has, all vertices lack the value.
    every = {*names, *schema.attributes} if not isinstance(schema, CompositeSchema) else {*names}
    given: dict[str, list[Any]] = {name: [None] * len(network.ids) for name in every}
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
    told = tuple(sorted({*network.ignored, *ignored, *(columns.keys() - {*names})}))
    notes = (*network.notes, *missing_notes({name: given[name] for name in names}))
    return GraphFile(graph, network.ids, network.edges_repeated, network.loops, told, people, notes)
