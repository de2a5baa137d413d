"""The attributed graph of Definition 1: coded attributes beside compressed adjacency.

A vertex is a position 0..n-1. The caller maps positions to ids (of people, or released ones); the
mechanism never sees an id.

Judges start from these arrays, so their meaning (sorted, each pair once, codes in range) is checked
here and relied upon everywhere; tests/ktsafe/graph/test_graph.py has each. A field of `Schema` also
goes into the digests of states (`state.recovery`, `stream.release.sequence_inputs`) if releases
depend on it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph.numbering import adjacency, ranks, renumbered
from ktsafe.graph.schema_check import (
    Border,
    bucket_text,
    check_alike,
    check_texts,
    checked_groups,
    date_in,
    date_of,
    holds_control,
    refuse,
)

if TYPE_CHECKING:
    import networkx as nx

MISSING = "-"
"""The value of an attribute that nobody gave: an ordinary category of its own."""

NONE = "none"
"""The sensitive attribute of a schema that has none: nobody has a value of it."""

Groups = Mapping[str, Sequence[str]]
"""The name of each group of values, and the values."""

_TAKEN = frozenset({"id", "source", "target"})


@dataclasses.dataclass(frozen=True)
class Schema:
    """Which attributes a graph carries, and which of their values are sensitive.

    Attributes
    ----------
    quasi_identifiers:
        Names of the d-1 non-sensitive attributes, in published order.
    sensitive:
        Name of the sensitive attribute.
    sensitive_values:
        Those of its values that count as sensitive.
    buckets:
        For numbers and dates the ascending bucket edges; a value x falls into "<e0",
        "e0..<e1" and so on up to ">=eN". Those of dates are texts such as "2020-01-01".
        Attributes without an entry are categorical as they are.
    expect_absent:
        Attributes and sensitive values that need not occur. Any other that no vertex has is taken
        for a misspelling, see `AttributedGraph.check_present`.
    groups:
        For quasi-identifiers the groups that values are told as: the name of each group, and the
        values (buckets, if the attribute has any) that it stands for. Others stay as they are.
    harmless_values:
        Values of the sensitive attribute that are not sensitive on purpose, though they are spelt
        almost like one that is, see `AttributedGraph.check_spelling`.
    ties:
        What counts as a tie where rows tell of a pair, in tables of a database and dumps: "any" of
        them; "mutual", two that name each other or one without a direction; or those of some kinds.
    nominal:
        Attributes whose values are codes, such as those of countries: they are taken as they are
        written, and never told as ranges.

    Raises
    ------
    InvalidGraph
        If a text stands for a collection, names clash or are no names, buckets do not ascend, or a
        value is in two groups.

    Examples
    --------
    >>> Schema(("gender", "age"), "health", frozenset({"chronic"}), {"age": (18, 65)}).attributes
    ('gender', 'age', 'health')
    """

    quasi_identifiers: tuple[str, ...]
    sensitive: str
    sensitive_values: frozenset[str]
    buckets: Mapping[str, tuple[Border, ...]] = dataclasses.field(default_factory=dict)
    expect_absent: frozenset[str] = frozenset()
    groups: Mapping[str, Groups] = dataclasses.field(default_factory=dict)
    harmless_values: frozenset[str] = frozenset()
    nominal: frozenset[str] = frozenset()
    ties: str | frozenset[str] = "any"

    def __post_init__(self) -> None:
        names = check_texts("quasi_identifiers", self.quasi_identifiers)
        object.__setattr__(self, "quasi_identifiers", names)
        for name in ("sensitive_values", "expect_absent", "harmless_values", "nominal"):
            texts = frozenset(check_texts(name, getattr(self, name)))
            object.__setattr__(self, name, texts)
        if not isinstance(self.sensitive, str):
            raise InvalidGraph("The sensitive attribute must be one name.")
        if self.ties not in {"any", "mutual"}:
            if isinstance(self.ties, str) or not self.ties:
                raise InvalidGraph('ties is "any", "mutual", or a list of kinds.')
            object.__setattr__(self, "ties", frozenset(check_texts("ties", self.ties)))
        object.__setattr__(self, "buckets", {k: tuple(v) for k, v in self.buckets.items()})
        names = self.attributes
        if len(set(names)) != len(names):
            msg = "A schema names an attribute twice."
            raise InvalidGraph(msg)
        if bad := [name for name in names if not name or name in _TAKEN or holds_control(name)]:
            msg = f"{bad[0]!r} cannot name an attribute."
            raise InvalidGraph(msg, hint="Rename it: id, source and target are column names.")
        for name, edges in self.buckets.items():
            if name not in names:
                msg = f"Buckets are declared for {name!r}, which the schema does not list."
                raise InvalidGraph(msg)
            kinds = {isinstance(edge, str) for edge in edges}
            if len(kinds) != 1 or any(not a < b for a, b in itertools.pairwise(edges)):  # type: ignore[operator]
                msg = f"The bucket edges of {name!r} must ascend."
                raise InvalidGraph(msg)
            if any(isinstance(edge, str) and date_of(edge) is None for edge in edges):
                msg = f"A bucket edge of {name!r} is no date."
                raise InvalidGraph(msg, hint="Write dates such as 2020-01-31.")
        if both := sorted(self.nominal & self.buckets.keys()):
            raise InvalidGraph(f"{both[0]!r} has buckets, and is declared nominal: no order.")
        object.__setattr__(self, "groups", checked_groups(self.groups, self.quasi_identifiers))

    @property
    def ties_told(self) -> str | list[str]:
        """What counts as a tie, as JSON has it."""
        return self.ties if isinstance(self.ties, str) else sorted(self.ties)

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attribute names: the quasi-identifiers, then the sensitive one."""
        return (*self.quasi_identifiers, self.sensitive)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a table of people must have.

        All attributes, `NONE` apart.
        """
        is_none = self.sensitive == NONE and not self.sensitive_values
        return self.quasi_identifiers if is_none else self.attributes

    def expecting_nothing(self) -> Self:
        """Return this schema with every name optional, however spelt.

        That is right for a graph that is judged, not published: nobody is protected by it.
        """
        named = frozenset(self.attributes) | self.sensitive_values
        return dataclasses.replace(self, expect_absent=named)

    def category(self, attribute: str, value: object) -> str:
        """Return the category under which `value` is coded and published.

        None and the empty text are `MISSING`; numbers and dates of a bucketed attribute become
        their bucket, and what is in a group becomes that group.

        Raises
        ------
        InvalidGraph
            If a bucketed attribute holds no number or date, or another one NaN or an end of line.
            The value itself is not repeated.
        """
        return self.group(attribute, self.ungrouped(attribute, value))

    def group(self, attribute: str, text: str) -> str:
        """Return a value's group, or its own text without one."""
        return self._group_of.get(attribute, {}).get(text, text)

    @cached_property
    def _group_of(self) -> dict[str, dict[str, str]]:
        """For each attribute the group of each value."""
        return {
            name: {value: group for group, values in groups.items() for value in values}
            for name, groups in self.groups.items()
        }

    def ungrouped(self, attribute: str, value: object) -> str:
        """Return the category of a value before groups.

        Its text, `MISSING`, or its bucket.

        Raises
        ------
        InvalidGraph
            As `category`.
        """
        if value is None or (isinstance(value, str) and value in {"", MISSING}):
            return MISSING
        edges = self.buckets.get(attribute)
        if edges is None:
            if _is_nan(value):
                msg = f"Attribute {attribute!r} holds NaN, which is no category."
                raise InvalidGraph(msg, hint="Give None where a value is missing.")
            text = str(value)
            if holds_control(text):
                msg = f"Attribute {attribute!r} holds an end of line or another control character."
                raise InvalidGraph(msg, hint="Write a blank in its place.")
            return text
        if _is_nan(value):
            return MISSING
        if isinstance(edges[0], str):
            return bucket_text(edges, date_in(attribute, value))
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            msg = f"Attribute {attribute!r} is bucketed but holds something that is no number."
            raise InvalidGraph(msg) from error
        return MISSING if _is_nan(number) else bucket_text(edges, number)


@dataclasses.dataclass(frozen=True, eq=False)
class AttributedGraph:
    """An undirected simple graph with coded categorical attributes.

    Attributes
    ----------
    schema:
        Names and meaning of the attributes.
    categories:
        For each of the d attributes (quasi-identifiers, then the sensitive one) the texts of its
        codes.
    codes:
        int32, shape (n, d): `categories[j][codes[v, j]]` is the value of attribute j at vertex v.
    indptr, indices:
        Compressed adjacency, int64 (n + 1) and int32 (2m): the neighbours of v are
        `indices[indptr[v]:indptr[v + 1]]`, ascending.

    Examples
    --------
    >>> schema = Schema(("city",), "health", frozenset({"ill"}))
    >>> columns = {"city": ["B", "B", None], "health": ["ill", "well", "well"]}
    >>> graph = AttributedGraph.from_columns(schema, columns, [(0, 1), (1, 2)])
    >>> graph.n_vertices, graph.n_edges, graph.is_sensitive.tolist()
    (3, 2, [True, False, False])
    """

    schema: Schema
    categories: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int32]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def from_codes(
        cls,
        schema: Schema,
        categories: Sequence[Sequence[str]],
        codes: ArrayLike,
        edges: ArrayLike,
    ) -> AttributedGraph:
        """Build a graph from coded attributes (n, d) and edges (m, 2).

        Edges may come in any order and direction; loops and repeated edges are refused.

        Raises
        ------
        InvalidGraph
            If shapes, codes or edges do not describe a simple graph.
        """
        d = len(schema.attributes)
        coded = np.ascontiguousarray(codes, dtype=np.int32).reshape(-1, d)
        n = len(coded)
        frozen = tuple(tuple(texts) for texts in categories)
        if len(frozen) != d:
            msg = f"The schema has {d} attributes, the categories {len(frozen)}."
            raise InvalidGraph(msg)
        for j, texts in enumerate(frozen):
            if n and not (coded[:, j].min() >= 0 and coded[:, j].max() < len(texts)):
                msg = f"A code of attribute {schema.attributes[j]!r} names no category."
                raise InvalidGraph(msg)
        indptr, indices = adjacency(n, _whole(edges))
        return cls(schema, frozen, coded, indptr, indices)

    @classmethod
    def from_columns(
        cls, schema: Schema, columns: Mapping[str, Sequence[object]], edges: ArrayLike
    ) -> AttributedGraph:
        """Build a graph from one column of raw values per attribute.

        A missing column is an attribute that nobody gave. Categories are coded in sorted order.

        Raises
        ------
        InvalidGraph
            If columns differ in length or hold what is no category.
        AbsentFromGraph, WrittenOtherwise
            See `check_present` and `check_spelling`.
        """
        n = max((len(column) for column in columns.values()), default=0)
        categories: list[tuple[str, ...]] = []
        codes = np.zeros((n, len(schema.attributes)), dtype=np.int32)
        for j, name in enumerate(schema.attributes):
            column = columns.get(name)
            if column is None:
                values = [MISSING] * n
            elif set(map(type, column)) == {str}:  # Most values come many times.
                told = {x: schema.category(name, x) for x in set(column)}
                values = list(map(told.__getitem__, column))
            else:
                values = [schema.category(name, x) for x in column]
            if len(values) != n:
                msg = f"Column {name!r} has {len(values)} values for {n} vertices."
                raise InvalidGraph(msg)
            texts = sorted(set(values))
            index = {text: code for code, text in enumerate(texts)}
            codes[:, j] = [index[value] for value in values]
            categories.append(tuple(texts))
        graph = cls.from_codes(schema, categories, codes, edges)
        graph.check_present(columns)
        graph.check_spelling()
        return graph

    def to_networkx(self, nodes: Sequence[Hashable] | None = None) -> nx.Graph:
        """Return the graph as networkx, its nodes named by `nodes` (default: positions)."""
        names: Sequence[Any] = range(self.n_vertices) if nodes is None else nodes
        import networkx as nx  # noqa: PLC0415 -- only callers that need its graphs wait for it

        graph = nx.Graph()
        for v, name in enumerate(names):
            graph.add_node(name, **self.values(v))
        graph.add_edges_from((names[u], names[v]) for u, v in self.edges)
        return graph

    def check_present(self, given: Iterable[str] = ()) -> None:
        """Refuse names of the schema without holders, unless it expects that.

        A misspelt sensitive value would make every release safe, and a misspelt quasi-identifier
        would be published as missing for everybody. A graph without vertices says nothing.

        Parameters
        ----------
        given:
            Names of attributes in the input, of which one may be meant.

        Raises
        ------
        AbsentFromGraph
        """
        if not self.n_vertices:
            return
        schema = self.schema
        shown = [
            {texts[code] for code in np.unique(self.codes[:, j])}
            for j, texts in enumerate(self.categories)
        ]
        nobody_gave = [
            name
            for name, texts in zip(schema.attributes, shown, strict=True)
            if texts == {MISSING} and name not in schema.expect_absent
        ]
        nobody_holds = sorted(schema.sensitive_values - shown[-1] - schema.expect_absent)
        others = set(given) - set(schema.attributes)
        refuse(nobody_gave, nobody_holds, others if nobody_gave else shown[-1])

    def check_spelling(self) -> None:
        """Refuse values spelt almost like a sensitive one, unless expected.

        Somebody whose value is `1.0` where `1` is sensitive would be protected as harmless.

        Raises
        ------
        WrittenOtherwise
        """
        schema = self.schema
        if schema == schema.expecting_nothing():
            return
        texts = self.categories[-1]
        shown = [texts[code] for code in np.unique(self.codes[:, -1])]
        check_alike(schema.sensitive, shown, schema.sensitive_values, schema.harmless_values)

    @property
    def n_vertices(self) -> int:
        """Number of vertices n."""
        return len(self.codes)

    @property
    def n_edges(self) -> int:
        """Number of edges m."""
        return len(self.indices) // 2

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Degree of every vertex, int64, shape (n,)."""
        return np.diff(self.indptr)

    @cached_property
    def edges(self) -> NDArray[np.int32]:
        """Each edge once as (smaller, greater), ascending, int32, (m, 2)."""
        source = np.repeat(np.arange(self.n_vertices, dtype=np.int32), self.degrees)
        once = source < self.indices
        return np.column_stack((source[once], self.indices[once]))

    @cached_property
    def is_sensitive(self) -> NDArray[np.bool_]:
        """Whether each vertex holds a sensitive value, bool, shape (n,)."""
        texts = self.categories[-1]
        table = np.array([text in self.schema.sensitive_values for text in texts], dtype=np.bool_)
        return table[self.codes[:, -1]] if self.n_vertices else np.zeros(0, dtype=np.bool_)

    @cached_property
    def qi_classes(self) -> NDArray[np.int32]:
        """Class of equal quasi-identifiers of every vertex: int32, shape (n,), 0..classes-1.

        Classes are numbered in the lexicographic order of their codes.
        """
        classes = np.zeros(self.n_vertices, dtype=np.int64)
        for j, texts in enumerate(self.categories[:-1]):
            # Renumbered after each attribute, so products stay inside int64.
            classes = ranks(classes * len(texts) + self.codes[:, j])
        return classes.astype(np.int32)

    def bare(self) -> Self:
        """Return the same graph without derived values, which may be large."""
        return dataclasses.replace(self)

    def subgraph(self, vertices: NDArray[np.integer]) -> AttributedGraph:
        """Return the graph on distinct vertices in order, with their edges."""
        position = np.full(self.n_vertices, -1, dtype=np.int32)
        position[vertices] = np.arange(len(vertices))
        among = renumbered(position, self.edges)
        return AttributedGraph.from_codes(self.schema, self.categories, self.codes[vertices], among)

    def values(self, vertex: int) -> dict[str, str]:
        """Return the attribute values of one vertex by name."""
        row = self.codes[vertex]
        return {
            name: texts[row[j]]
            for j, (name, texts) in enumerate(
                zip(self.schema.attributes, self.categories, strict=True)
            )
        }


def _whole(edges: ArrayLike) -> NDArray[np.integer]:
    """Return an edge list as integers, (m, 2), unchanged if possible."""
    array = np.asarray(edges)
    if not np.issubdtype(array.dtype, np.integer):
        array = array.astype(np.int64)
    return array.reshape(-1, 2)


def _is_nan(value: object) -> bool:
    """Return whether a value is unequal to itself, as NaN is.

    NaT is, too; pandas.NA does not say.
    """
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ValueError):
        return True
