"""Inspects networks: in files, and in memory.

Words and counts may be changed: it is a private report, and nothing is read by it. What it calls
refused must be what `read_network` and `read_graph` refuse
(tests/ktsafe/graph/inputs/test_inspected.py).
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from ktsafe.errors import BadLines, InvalidGraph, told_lines
from ktsafe.graph import MISSING
from ktsafe.graph.inputs.edge_lists import among, read_network
from ktsafe.graph.inputs.in_memory import of_memory
from ktsafe.graph.inputs.names import (
    ENDS,
    ID,
    NOTHING_CHOSEN,
    Chosen,
    column_of,
    end_columns,
    id_column,
)
from ktsafe.graph.inputs.network import Kind, Network
from ktsafe.graph.inputs.people_and_ties import People, Spelled, Ties
from ktsafe.graph.inputs.proposed_schema import (
    Role,
    Type,
    proposed_schema,
    role_of,
    type_of,
)
from ktsafe.graph.inputs.spelling import is_number, looks_missing
from ktsafe.graph.inputs.table_files import PARQUET, NamedTable, table_at
from ktsafe.graph.schema_check import likeness

EXAMPLES_MAX: Final = 3
COMMON_MAX: Final = 5
ALONE: Final = "These are people without their ties; name the file of ties, too."
_NOT_IN_SCHEMAS: Final = frozenset({ID, *ENDS})


@dataclasses.dataclass(frozen=True)
class InspectedColumn:
    """An attribute of people.

    Attributes
    ----------
    name, type, role, why:
        What it holds, and the role that is proposed for it; see
        `ktsafe.graph.inputs.proposed_schema`.
    distinct, missing:
        How many different values it has, and how many people have none.
    common:
        Its most frequent values, and how many people have each.
    doubts:
        What may be wrong with values, a sentence each with examples.
    is_sound:
        Whether a schema may name it as it is.
    """

    name: str
    type: Type
    role: Role
    why: str
    distinct: int
    missing: int
    common: tuple[tuple[str, int], ...]
    doubts: tuple[str, ...] = ()
    is_sound: bool = True


@dataclasses.dataclass(frozen=True, eq=False)
class Inspection:
    """Private account of what was understood of a network.

    Attributes
    ----------
    network:
        What was understood; `format`, `people` and `ties` are read off it.
    columns:
        The attributes of people.
    doubts:
        What may be wrong with ids, a sentence each with examples.
    refused:
        Why commands refuse the files as they are.
    """

    network: Network = dataclasses.field(repr=False)
    columns: tuple[InspectedColumn, ...]
    doubts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def format(self) -> str:
        """The format or library."""
        return self.network.format

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.network.ids)

    @property
    def ties(self) -> int:
        """How many pairs of people have a tie."""
        return len(self.network.edges)

    @cached_property
    def schema(self) -> str:
        """A TOML schema that proposes an attribute's role, to be edited."""
        return proposed_schema(self.network, self.columns)

    def to_mapping(self) -> dict[str, Any]:
        """Return all of it, JSON-ready."""
        network = self.network
        return {
            "format": network.format,
            "people": self.people,
            "ties": self.ties,
            "isolates": network.isolates,
            "edges_repeated": network.edges_repeated,
            "loops": network.loops,
            "directed": network.directed,
            "columns": [dataclasses.asdict(column) for column in self.columns],
            "ignored": list(network.ignored),
            "notes": list(network.notes),
            "doubts": list(self.doubts),
            "refused": list(self.refused),
        }

    def __str__(self) -> str:
        network = self.network
        people = f"{self.people:,} people, {network.isolates:,} of them without a tie"
        lines = [f"{network.format}: {people}; {self.ties:,} ties"]
        counts = {
            "edges_repeated": "rows that repeat a tie",
            "loops": "rows that join a person to itself",
            "directed": "rows with a direction, which is dropped",
        }
        for name, what in counts.items():
            if n := getattr(network, name):
                lines.append(f"{n:,} {what}")
        for column in self.columns:
            told = ", ".join(f"{value!r} {n:,}" for value, n in column.common)
            more = ", ..." if column.distinct > len(column.common) else ""
            why = f" ({column.why})" if column.why else ""
            lines.append(
                f"{column.name}: {column.type}, {column.distinct:,} values, {column.missing:,} "
                f"missing; {column.role}{why}: {told or '-'}{more}"
            )
            lines += [f"  ? {doubt}" for doubt in column.doubts]
        if network.ignored:
            lines.append(f"not read: {', '.join(network.ignored)}")
        lines += [f"note: {note}" for note in network.notes]
        lines += [f"? {doubt}" for doubt in self.doubts]
        lines += [f"refused: {why}" for why in self.refused]
        return "\n".join(lines)


def inspect(graph: Any, vertices: Any = None, *, columns: Chosen = NOTHING_CHOSEN) -> Inspection:
    """Report what the program understands of a network, before any release.

    Parameters
    ----------
    graph:
        A file of ties or of a network, a table of people, or a graph of any kind that
        `ktsafe.protect` takes.
    vertices:
        A table of people beside it.
    columns:
        Of tables in files the columns of ids and ends, if their names do not say so:
        `{"id": "C", "source": "A", "target": "B"}`.

    Raises
    ------
    ktsafe.errors.InvalidGraph
        If it is not understood.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.Graph([("Ann", "Bo"), ("Bo", "Cy")])
    >>> nx.set_node_attributes(graph, {"Ann": "f", "Bo": "m", "Cy": "M"}, "gender")
    >>> print(inspect(graph))
    networkx: 3 people, 0 of them without a tie; 2 ties
    gender: nominal, 3 values, 0 missing; quasi-identifier: 'f' 1, 'm' 1, 'M' 1
      ? 'm' (1) and 'M' (1) may be one value
    """
    if isinstance(graph, str | Path):
        return _of_files(Path(graph), None if vertices is None else Path(vertices), columns)
    return inspected(of_memory(graph, vertices))


def inspected(
    network: Network, doubts: Iterable[str] = (), refused: Iterable[str] = ()
) -> Inspection:
    """Return the report on a network."""
    columns = tuple(
        _column(name, values, len(network.ids), network.kinds.get(name))
        for name, values in network.columns.items()
    )
    found = [*_doubtful(Counter(network.ids), "id", "somebody has no id"), *doubts]
    return Inspection(network, columns, tuple(found), tuple(refused))


def _column(
    name: str, values: Sequence[str | None], n_people: int, kind: Kind | None
) -> InspectedColumn:
    counts = Counter(value for value in values if value is not None and value != MISSING)
    sure = {value: n for value, n in counts.items() if not looks_missing(value)}
    type_ = type_of(name, sure, n_people, kind)
    role, why = role_of(name, type_, counts, n_people)
    doubts = _doubtful(counts, "value", "it is missing")
    wrong = [value for value in counts if type_ == "number" and not is_number(value)]
    if others := [value for value in wrong if not looks_missing(value)]:
        told = ", ".join(map(repr, others[:EXAMPLES_MAX]))
        doubts.append(f"{len(others):,} values are no numbers, such as {told}")
    if name in _NOT_IN_SCHEMAS:
        doubts.append("no attribute may have this name in a release: rename it")
    common = tuple(counts.most_common(COMMON_MAX))
    n_missing = n_people - sum(counts.values())
    is_sound = not wrong and name not in _NOT_IN_SCHEMAS
    return InspectedColumn(
        name, type_, role, why, len(counts), n_missing, common, tuple(doubts), is_sound
    )


def _doubtful(counts: Mapping[str, int], what: str, meaning: str) -> list[str]:
    """Return sentences on texts that look missing, or like others."""
    found = [
        f"{text!r} ({n:,}) may mean that {meaning}"
        for text, n in counts.items()
        if looks_missing(text)
    ]
    alike: dict[str, list[str]] = defaultdict(list)
    for text in counts:
        alike[likeness(text)].append(text)
    several = [texts for texts in alike.values() if len(texts) > 1]
    found += [
        f"{' and '.join(f'{text!r} ({counts[text]:,})' for text in texts)} may be one {what}"
        for texts in several[:EXAMPLES_MAX]
    ]
    if n := len(several[EXAMPLES_MAX:]):
        found.append(f"{n:,} more groups of {what}s may be one each")
    return found


def _of_files(path: Path, vertices: Path | None, columns: Chosen) -> Inspection:
    """Inspect a file of ties, people or a network, or two."""
    bad: BadLines = {}
    if vertices is None and lists_people(path, columns):
        vertices = path
    if vertices is None:
        network = read_network(path, columns=columns, bad=bad)
        return inspected(network, _ends_spelt_otherwise(path, columns), _told(path, bad))
    people = People(vertices, chosen=columns)
    rows = [values for _, _, values in people.rows(bad)]
    refused = _told(vertices, bad)
    header = (people.table.header[i] for i in people.columns)
    doubts = _otherwise(people.table, zip(people.columns, header, people.spelled, strict=True))
    network = Network.of_rows(people.table.format, [], np.empty((0, 2), dtype=np.int64))
    if vertices != path:
        bad_ends: BadLines = {}
        network = read_network(path, columns=columns, bad=bad_ends)
        with suppress(InvalidGraph):
            doubts += _ends_spelt_otherwise(path, columns)
        if unknown := {*network.ids} - people.position.keys():
            what = people.unknown(network.ids)
            refused.append(f"{path.name} {what} ({len(unknown):,} such)")
        refused += _told(path, bad_ends)
    else:
        network = dataclasses.replace(network, notes=(ALONE,))
    texts = {name: [values[i] for values in rows] for i, name in enumerate(people.names)}
    network = dataclasses.replace(among(network, people), columns=texts, kinds=people.table.kinds)
    return inspected(network, doubts, refused)


def lists_people(path: Path, columns: Chosen) -> bool:
    """Whether a file is a table of people.

    Its header names ids, and no ends of ties.
    """
    ends = {end: columns[end] for end in ENDS if end in columns}
    try:
        table = table_at(path)
        if not ends and end_columns(path, table.header, {}) is not None:
            return False
        if ends and all(column_of(path, table.header, name) is not None for name in ends.values()):
            return False
        return id_column(path, table.header, columns) is not None
    except InvalidGraph:
        return False


def _ends_spelt_otherwise(path: Path, columns: Chosen) -> list[str]:
    """Return what `_otherwise` says of the ends of ties in a table."""
    ends = {end: columns[end] for end in ENDS if end in columns}
    try:
        ties = Ties(table_at(path), chosen=ends)
    except InvalidGraph:
        return []  # No table with a header; a list tells its lines.
    list(ties.rows({}))
    header = (ties.table.header[i] for i in ties.columns)
    return _otherwise(ties.table, zip(ties.columns, header, ties.ends, strict=True))


def _otherwise(table: NamedTable, columns: Iterable[tuple[int, str, Spelled]]) -> list[str]:
    """Return a sentence for each column that spells something in two ways."""
    found = []
    for column, name, spelled in columns:
        spellings: dict[str, dict[Hashable, None]] = defaultdict(dict)
        for _, (cell,) in table.rows([column], {}) if spelled.otherwise else ():
            with suppress(InvalidGraph):
                if (text := spelled(cell)) in spelled.otherwise and text is not None:
                    spellings[text][cell.strip() if isinstance(cell, str) else cell] = None
        twice = [given for given in spellings.values() if len(given) > 1]
        if twice:
            told = ", ".join(" and ".join(map(repr, given)) for given in twice[:EXAMPLES_MAX])
            found.append(f"{name!r} spells {len(twice):,} texts in several ways, such as {told}")
    return found


def _told(path: Path, bad: BadLines) -> list[str]:
    return told_lines(path.name, bad, "row" if path.suffix == PARQUET else "line")
