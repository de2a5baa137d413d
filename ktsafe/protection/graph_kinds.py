"""Graphs as networkx, igraph, scipy and data frames hold them: read, and written in kind.

None of these libraries is imported: what a caller gives brings its own types along.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.protection.input_faults import fault

NONE = "none"
"""The sensitive attribute where there is none: nobody has it, and it is not written."""

WEIGHT = "weight"
"""What cells of a matrix say beyond that there is an edge."""

Written = Callable[[AttributedGraph], Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Given:
    """A graph as it was given.

    Attributes
    ----------
    ids:
        What its owner calls each vertex.
    columns:
        For each attribute of vertices its values, in the order of `ids`; None where missing.
    edges:
        int64, shape (m, 2): positions in `ids`, each edge once.
    edges_repeated, loops:
        Edges that were ignored: they repeat one, in either direction, or join a vertex to itself.
    faults:
        What is wrong with ids and ends of edges; edges without an end are left out.
    of_edges:
        Names of the attributes of edges.
    written:
        Returns a released graph in the same kind.
    """

    ids: list[Hashable]
    columns: dict[str, list[object]]
    edges: NDArray[np.int64]
    of_edges: Collection[str]
    written: Written
    edges_repeated: int = 0
    loops: int = 0
    faults: tuple[InvalidGraph, ...] = ()


def given(graph: Any, vertices: Any = None) -> Given:
    """Read a graph of any known kind.

    Raises
    ------
    InvalidGraph
        If it is of no known kind, or directed.
    """
    if vertices is None:
        if hasattr(graph, "nodes") and hasattr(graph, "is_multigraph"):
            return _networkx(graph)
        if hasattr(graph, "vs") and hasattr(graph, "es"):
            return _igraph(graph)
    elif hasattr(graph, "tocoo") and _is_table(vertices):
        return _sparse(graph, vertices)
    elif _is_table(graph) and _is_table(vertices):
        return _tables(graph, vertices)
    raise InvalidGraph(
        "This is no graph of a kind that is known.",
        hint="Give a networkx or igraph graph, or edges (a data frame or a sparse matrix) and "
        "a data frame of vertices.",
    )


def _networkx(graph: Any) -> Given:
    _refuse_directed(
        directed=graph.is_directed(),
        hint="Ties in either direction: graph.to_undirected(); in both: "
        "graph.to_undirected(reciprocal=True).",
    )
    ids = list(graph.nodes)
    position = {node: i for i, node in enumerate(ids)}
    names = _names([data for _, data in graph.nodes(data=True)])
    columns = {name: [graph.nodes[node].get(name) for node in ids] for name in names}
    edges = [(position[u], position[v]) for u, v in graph.edges()]
    of_edges = _names([data for _, _, data in graph.edges(data=True)])

    def written(released: AttributedGraph) -> Any:
        made = released.to_networkx()
        if _nothing_is_sensitive(released):
            for _, data in made.nodes(data=True):
                del data[NONE]
        return made

    return _given(ids, columns, _pairs(edges), of_edges, written)


def _igraph(graph: Any) -> Given:
    _refuse_directed(
        directed=graph.is_directed(),
        hint="Ties in either direction: graph.as_undirected(); in both: "
        'graph.as_undirected(mode="mutual").',
    )
    ids: list[Hashable] = list(range(graph.vcount()))
    columns = {name: list(graph.vs[name]) for name in graph.vs.attributes()}
    if "name" in columns:
        ids = columns.pop("name")

    def written(released: AttributedGraph) -> Any:
        vertices = _texts(released)
        return type(graph)(released.n_vertices, released.edges.tolist(), vertex_attrs=vertices)

    edges = _pairs(graph.get_edgelist())
    return _given(ids, columns, edges, graph.es.attributes(), written)


def _sparse(matrix: Any, vertices: Any) -> Given:
    columns = _columns(vertices)
    n = len(next(iter(columns.values()), []))
    if matrix.shape != (n, n):
        raise InvalidGraph("The matrix must have a row and a column for each vertex.")
    cells = matrix.tocoo()
    cells.sum_duplicates()
    there = cells.data != 0
    row, column = cells.row[there].astype(np.int64), cells.col[there].astype(np.int64)
    keys = np.sort(row * n + column)
    _refuse_directed(
        directed=not np.array_equal(keys, np.sort(column * n + row)),
        hint="Ties in either direction: matrix + matrix.T; in both: matrix.minimum(matrix.T).",
    )
    once = row <= column
    weighted = [WEIGHT] if np.any(cells.data[there] != 1) else []

    def written(released: AttributedGraph) -> Any:
        low, high = released.edges.T
        ends = np.concatenate((low, high)), np.concatenate((high, low))
        cells = np.ones(2 * len(low), dtype=matrix.dtype), ends
        made = kind(cells, shape=(released.n_vertices, released.n_vertices))
        return made.asformat(matrix.format), _table(vertices, _texts(released))

    kind = type(cells)
    ids = columns.pop("id", None) or list(range(n))
    return _given(ids, columns, np.column_stack((row[once], column[once])), weighted, written)


def _tables(edges: Any, vertices: Any) -> Given:
    columns, ends = _columns(vertices), _columns(edges)
    if "id" not in columns or not {"source", "target"} <= ends.keys():
        raise InvalidGraph(
            "A column is missing.",
            hint="Vertices have a column id, edges have source and target; rename yours.",
        )
    ids = columns.pop("id")
    position = {name: i for i, name in enumerate(ids)}
    pairs = _pairs(
        [
            (position.get(u, -1), position.get(v, -1))
            for u, v in zip(ends["source"], ends["target"], strict=True)
        ]
    )
    lost = np.flatnonzero((pairs < 0).any(axis=1)).tolist()
    faults = [fault("An edge ends at a vertex that is not among the vertices.", lost)][: len(lost)]
    of_edges = ends.keys() - {"source", "target"}

    def written(released: AttributedGraph) -> Any:
        low, high = released.edges.T.tolist() if released.n_edges else ([], [])
        named = {"id": list(range(released.n_vertices)), **_texts(released)}
        return _table(edges, {"source": low, "target": high}), _table(vertices, named)

    return _given(ids, columns, np.delete(pairs, lost, axis=0), of_edges, written, faults)


def extra_faults(
    given_: Given, published: Collection[str], ignore: Collection[str]
) -> list[InvalidGraph]:
    """Return what would be dropped in silence, and what is to be ignored and does not occur."""
    known = {*given_.columns, *given_.of_edges}
    nobodys = "".join(f"No vertex has {name!r}. " for name in sorted(set(published) - known))
    found = []
    for whose, names in (
        ("Vertices", set(given_.columns) - set(published)),
        ("Edges", set(given_.of_edges)),
    ):
        if extra := sorted(str(name) for name in names - set(ignore)):
            found.append(
                InvalidGraph(
                    f"{whose} have {', '.join(map(repr, extra))}, which a release would not show.",
                    hint=f"{nobodys}If that is meant, say ignore={extra!r}.",
                )
            )
    if absent := sorted(set(ignore) - known):
        found.append(InvalidGraph(f"Nothing has {absent[0]!r}, which is to be ignored."))
    return found


def _given(
    ids: list[Hashable],
    columns: dict[str, list[object]],
    edges: NDArray[np.int64],
    of_edges: Collection[str],
    written: Written,
    faults: Sequence[InvalidGraph] = (),
) -> Given:
    """Return what was given, each edge once and without loops, with all faults of ids."""
    first: dict[Hashable, int] = {}
    again = [row for row, name in enumerate(ids) if first.setdefault(name, row) != row]
    nobody = [row for row, name in enumerate(ids) if name is None]
    found = [*faults]
    if again:
        found.append(fault("Two vertices have the same id.", again))
    if nobody:
        found.append(fault("A vertex has no id.", nobody))
    is_loop = edges[:, 0] == edges[:, 1]
    pairs = np.sort(edges[~is_loop], axis=1)
    once = np.unique(pairs, axis=0)
    return Given(
        ids,
        columns,
        once,
        of_edges,
        written,
        edges_repeated=len(pairs) - len(once),
        loops=int(is_loop.sum()),
        faults=tuple(found),
    )


def _names(every: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    return dict.fromkeys(name for data in every for name in data)


def _nothing_is_sensitive(released: AttributedGraph) -> bool:
    """Whether the sensitive attribute only takes the place of one."""
    return released.schema.sensitive == NONE and not released.schema.sensitive_values


def _refuse_directed(*, directed: bool, hint: str) -> None:
    if directed:
        # k people are alike in how many neighbours they have, not in which way edges point.
        raise InvalidGraph("The edges have directions, which a release cannot show.", hint=hint)


def _pairs(edges: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def _texts(released: AttributedGraph) -> dict[str, list[Any]]:
    """Return the published values of each attribute."""
    return {
        name: [texts[code] for code in released.codes[:, j].tolist()]
        for j, (name, texts) in enumerate(
            zip(released.schema.attributes, released.categories, strict=True)
        )
        if not (name == NONE and _nothing_is_sensitive(released))
    }


def _is_table(table: Any) -> bool:
    return hasattr(table, "columns") and (hasattr(table, "isna") or hasattr(table, "to_pydict"))


def _columns(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a pandas or pyarrow table, None where a value is missing."""
    if hasattr(table, "to_pydict"):
        return dict(table.to_pydict())
    there = table.notna()
    return {
        name: [
            value if known else None
            for value, known in zip(table[name].tolist(), there[name].tolist(), strict=True)
        ]
        for name in table.columns
    }


def _table(like: Any, columns: dict[str, list[Any]]) -> Any:
    """Return a table of the same library."""
    kind = type(like)
    return kind.from_pydict(columns) if hasattr(kind, "from_pydict") else kind(columns)
