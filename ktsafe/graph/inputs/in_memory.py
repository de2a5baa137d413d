"""Networks in memory: graphs of other libraries, data frames by narwhals.

Cells are taken out as they are, and spelt by `ktsafe.graph.inputs.spelling`. Nothing is compared,
grouped or made a text inside of narwhals: there each library has an answer of its own.

A library is added in `_found`, by what its graphs have, without importing it; it must tell the same
network as all others (tests/ktsafe/graph/inputs/test_in_memory.py) and give releases back in its
own kind.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph, fault, raise_together
from ktsafe.graph import NONE, AttributedGraph
from ktsafe.graph.inputs.names import NOTHING_CHOSEN, end_columns, id_column
from ktsafe.graph.inputs.network import Kind, Network
from ktsafe.graph.inputs.spelling import code_text, id_text, of_numpy, spelt_twice, value_text


def is_frame(table: Any) -> bool:
    """Whether this is a data frame with its rows in memory."""
    import narwhals  # noqa: PLC0415 -- only callers with data frames wait for it

    return narwhals.dependencies.is_into_dataframe(table)


def columns_of(table: Any, of: str) -> dict[str, list[object]]:
    """Return a data frame's columns, None where values are missing.

    Parameters
    ----------
    of:
        What the rows are, for errors.

    Raises
    ------
    InvalidGraph
        If two columns have one name.
    """
    import narwhals  # noqa: PLC0415

    given = getattr(table, "column_names", None)  # pyarrow calls its arrays `columns`.
    names = [str(name) for name in (table.columns if given is None else given)]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        msg = f"The table of {of} has two columns {twice[0]!r}."
        raise InvalidGraph(msg, hint="Rename or remove one of them: which is meant?")
    frame = narwhals.from_native(table, eager_only=True)
    return {
        name: [
            None if is_missing else value
            for value, is_missing in zip(cells.to_list(), cells.is_null().to_list(), strict=True)
        ]
        for name, cells in zip(names, frame.iter_columns(), strict=True)
    }


def frame_like(table: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return a data frame of the same library.

    `id`, `source` and `target` are numbers.
    """
    import narwhals  # noqa: PLC0415

    kind = narwhals.from_native(table, eager_only=True).implementation
    schema = {
        name: narwhals.Int64() if name in {"id", "source", "target"} else narwhals.String()
        for name in columns
    }
    return narwhals.from_dict(dict(columns), schema, backend=kind).to_native()


# Graphs as networkx, igraph, scipy and data frames hold them.
#
# Read, and written in kind.
#
# networkx, igraph and scipy are not imported: what a caller gives brings its own types along.

WEIGHT = "weight"
"""What cells of a matrix say beyond that there is a tie."""

Written = Callable[[AttributedGraph], Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Given:
    """A graph as it was given.

    Attributes
    ----------
    network:
        What was understood. If ids have faults, row numbers stand for them; ties that have faults
        are not there.
    ids:
        What its owner calls each person.
    written:
        Returns a released graph in the same kind.
    faults:
        All that is wrong with ids and ties, with the rows concerned.
    unread:
        Attributes of people that hold what has no one text, such as positions, and what that is:
        they are no columns, and matter only if they are to be published.
    """

    network: Network
    ids: list[Hashable]
    written: Written
    faults: tuple[InvalidGraph, ...]
    unread: Mapping[str, tuple[InvalidGraph, ...]]


def of_memory(graph: Any, vertices: Any = None) -> Network:
    """Return the network that a graph in memory stands for.

    Parameters
    ----------
    graph, vertices:
        As `ktsafe.protect` takes them.

    Raises
    ------
    InvalidGraph
        If it is of no known kind, or directed, or for all that is wrong with its rows.

    Examples
    --------
    >>> import networkx as nx
    >>> network = of_memory(nx.karate_club_graph())
    >>> network.format, len(network.ids), len(network.edges), network.kinds, network.ignored
    ('networkx', 34, 78, {'club': 'text'}, ('weight',))
    """
    found = given(graph, vertices)
    raise_together(found.faults)
    return found.network


def given(graph: Any, vertices: Any = None, *, nominal: Collection[str] = ()) -> Given:
    """Read a graph of any known kind.

    Parameters
    ----------
    nominal:
        Attributes whose texts are codes, which are taken as they are written.

    Raises
    ------
    InvalidGraph
        If it is of no known kind, or directed.
    """
    return _spelt_alike(_found(graph, vertices), frozenset(nominal))


@dataclasses.dataclass(frozen=True, eq=False)
class _AsGiven:
    """What stands in a graph, as it stands there.

    Attributes
    ----------
    rows:
        int64, shape (rows, 2): the ends of ties, by position in `ids`.
    of_ties:
        What ties have beside their ends.
    faults:
        What is wrong with ties; those concerned are left out.
    """

    format: str
    ids: list[Hashable]
    columns: Mapping[Any, Sequence[object]]
    rows: NDArray[np.int64]
    of_ties: Collection[Any]
    written: Written
    faults: Sequence[InvalidGraph] = ()


def _found(graph: Any, vertices: Any) -> _AsGiven:
    if hasattr(graph, "tocoo"):
        if vertices is None or is_frame(vertices):
            return _sparse(graph, vertices)
    elif vertices is None:
        if hasattr(graph, "nodes") and hasattr(graph, "is_multigraph"):
            return _networkx(graph)
        if hasattr(graph, "vs") and hasattr(graph, "es"):
            return _igraph(graph)
        if is_frame(graph):
            raise InvalidGraph(
                "One data frame is no graph of a kind that is known.",
                hint="Give ties and people: a frame with source and target, and one with id.",
            )
    elif is_frame(graph) and is_frame(vertices):
        return _frames(graph, vertices)
    raise InvalidGraph(
        "This is no graph of a kind that is known.",
        hint="Give a networkx or igraph graph, or edges (a data frame or a sparse matrix) and "
        "a data frame of vertices. Collect a lazy frame first.",
    )


def _networkx(graph: Any) -> _AsGiven:
    _refuse_directed(
        directed=graph.is_directed(),
        hint="Ties in either direction: graph.to_undirected(); in both: "
        "graph.to_undirected(reciprocal=True).",
    )
    ids = list(graph.nodes)
    position = {node: i for i, node in enumerate(ids)}
    # What readers of GraphML and GEXF found as the value of whoever has none.
    defaults = graph.graph.get("node_default", {})
    names = _names([defaults, *(data for _, data in graph.nodes(data=True))])
    columns = {
        name: [graph.nodes[node].get(name, defaults.get(name)) for node in ids] for name in names
    }
    rows = _rows([(position[u], position[v]) for u, v in graph.edges()])
    of_ties = _names([data for _, _, data in graph.edges(data=True)])

    def written(released: AttributedGraph) -> Any:
        made = released.to_networkx()
        if NONE not in released.schema.columns:
            for _, data in made.nodes(data=True):
                data.pop(NONE, None)
        return made

    return _AsGiven("networkx", ids, columns, rows, of_ties, written)


def _igraph(graph: Any) -> _AsGiven:
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

    return _AsGiven(
        "igraph", ids, columns, _rows(graph.get_edgelist()), graph.es.attributes(), written
    )


def _sparse(matrix: Any, vertices: Any) -> _AsGiven:
    n = matrix.shape[0]
    columns = {} if vertices is None else columns_of(vertices, "people")
    if matrix.shape != (n, n) or any(len(column) != n for column in columns.values()):
        raise InvalidGraph("The matrix must have a row and a column for each vertex.")
    cells = matrix.tocoo()
    rows, values = np.column_stack((cells.row, cells.col)).astype(np.int64), cells.data
    if np.issubdtype(values.dtype, np.inexact) and np.isnan(values).any():
        raise InvalidGraph("A cell of the matrix is NaN.", hint="Is there a tie? Write 1 or 0.")
    # Cells that are stored several times add up.
    keys, of_key = np.unique(rows @ (n, 1), return_inverse=True)
    is_tie = _sums(values, of_key, len(keys)) != 0
    mirrored = np.unique(rows[is_tie[of_key]] @ (1, n))
    _refuse_directed(
        directed=not np.array_equal(keys[is_tie], mirrored),
        hint="Ties in either direction: matrix + matrix.T; in both: matrix.minimum(matrix.T).",
    )
    is_row = is_tie[of_key] & (values != 0) & (rows[:, 0] <= rows[:, 1])
    of_ties = [WEIGHT] if np.any(values[is_row] != 1) else []
    ids: list[Any] = columns.pop("id") if "id" in columns else list(range(n))

    def written(released: AttributedGraph) -> Any:
        low, high = released.edges.T
        ends = np.concatenate((low, high)), np.concatenate((high, low))
        ones = np.ones(2 * len(low), dtype=matrix.dtype), ends
        made = type(cells)(ones, shape=(released.n_vertices, released.n_vertices))
        made = made.asformat(matrix.format)
        return made if vertices is None else (made, frame_like(vertices, _texts(released)))

    return _AsGiven("scipy", ids, columns, rows[is_row], of_ties, written)


def _sums(values: NDArray[Any], of_key: NDArray[np.int64], n: int) -> NDArray[Any]:
    """Return the sum of the values of each cell.

    Small integers have no room for it.
    """
    is_signed = np.issubdtype(values.dtype, np.signedinteger)
    wide = values.astype(np.int64) if is_signed else values
    if values.dtype.kind in "bu":
        wide = values != 0
    sums = np.zeros(n, dtype=np.result_type(wide, np.int64))
    np.add.at(sums, of_key, wide)
    return sums


def _frames(ties: Any, people: Any) -> _AsGiven:
    columns, of_ties = columns_of(people, "people"), columns_of(ties, "ties")
    id_name, source, target = _named(list(columns), list(of_ties))
    ids: list[Any] = columns.pop(id_name)
    position: dict[str | None, int] = {None: -1}
    for row, text in enumerate(_spelt("People", ids, id_text)[0]):
        position.setdefault(text, row)
    faults: list[InvalidGraph] = []
    ends = []
    for end in (source, target):
        texts, found = _spelt("Ties", of_ties.pop(end), id_text)
        ends.append([position.get(text, -1) for text in texts])
        faults += found
    rows = np.array(ends, dtype=np.int64).T.reshape(-1, 2)
    lost = np.flatnonzero((rows < 0).any(axis=1)).tolist()
    if lost and not faults:
        faults.append(fault("An edge ends at a vertex that is not among the vertices.", lost))

    def written(released: AttributedGraph) -> Any:
        low, high = released.edges.T.tolist() if released.n_edges else ([], [])
        numbers = {"id": list(range(released.n_vertices))}
        return (
            frame_like(ties, {"source": low, "target": high}),
            frame_like(people, {**numbers, **_texts(released)}),
        )

    rows = np.delete(rows, lost, axis=0)
    return _AsGiven("data frames", ids, columns, rows, of_ties, written, faults)


def _named(people: list[str], ties: list[str]) -> tuple[str, str, str]:
    """Return the names of columns with ids and ends of ties."""
    try:
        at = id_column("The table of people", people, NOTHING_CHOSEN)
        ends = end_columns("The table of ties", ties, NOTHING_CHOSEN)
    except InvalidGraph as error:
        raise InvalidGraph(error.message, hint="Rename those that are not meant.") from None
    if at is None or ends is None:
        raise InvalidGraph(
            "A column is missing.",
            hint="Vertices have a column id, edges have source and target; rename yours.",
        )
    return people[at], ties[ends[0]], ties[ends[1]]


def _spelt_alike(found: _AsGiven, nominal: Collection[str]) -> Given:
    """Return what was found, spelt, with all faults of ids."""
    names, bad = _spelt("People", found.ids, id_text)
    faults = [*found.faults, *(bad or _id_faults(found.ids, names))]
    texts: dict[str, list[str | None]] = {}
    kinds: dict[str, Kind] = {}
    unread: dict[str, tuple[InvalidGraph, ...]] = {}
    for given_name, values in found.columns.items():
        name = str(given_name)
        spell = code_text if name in nominal else value_text
        if name in texts or name in unread:
            faults.append(InvalidGraph(f"Two attributes have the name {name!r}."))
        spelt, bad = _spelt(f"Attribute {name!r}", values, spell)
        if bad:
            unread[name] = tuple(bad)
            continue
        texts[name] = spelt
        if len(of_values := {kind for x in values if (kind := _kind(x))}) == 1:
            kinds[name] = of_values.pop()
    network = Network.of_rows(
        found.format,
        [str(row) for row in range(len(names))] if faults else [str(name) for name in names],
        found.rows,
        texts,
        kinds=kinds,
        ignored={*map(str, found.of_ties), *unread},
        notes=[str(reason) for reasons in unread.values() for reason in reasons],
    )
    return Given(network, found.ids, found.written, tuple(faults), unread)


def _spelt(
    of: str, values: Sequence[object], spell: Callable[[object], str | None]
) -> tuple[list[str | None], list[InvalidGraph]]:
    """Return each value's text, and a fault for each reason without."""
    texts: list[str | None] = []
    bad: dict[tuple[str, str], list[int]] = {}
    for row, value in enumerate(values):
        try:
            texts.append(spell(value))
        except InvalidGraph as error:
            texts.append(None)
            bad.setdefault((error.message, error.hint), []).append(row)
    return texts, [
        fault(f"{of}: {what[0].lower()}{what[1:]}", rows, hint=hint)
        for (what, hint), rows in bad.items()
    ]


def _id_faults(ids: Sequence[Hashable], texts: Sequence[str | None]) -> list[InvalidGraph]:
    """Return the faults of ids that have texts."""
    otherwise = spelt_twice(ids, texts)
    there: set[str] = set()
    nobody: list[int] = []
    again: list[int] = []
    one_text: list[int] = []
    for row, text in enumerate(texts):
        if text is None:
            nobody.append(row)
        elif text in there:
            (one_text if text in otherwise else again).append(row)
        else:
            there.add(text)
    faults = []
    if again:
        faults.append(fault("Two vertices have the same id.", again))
    if one_text:
        hint = "Whether 7, '7' and 7.0 are one person is yours to say."
        faults.append(fault("Two ids are the same text.", one_text, hint=hint))
    if nobody:
        faults.append(fault("A vertex has no id.", nobody))
    return faults


def _kind(value: Any) -> Kind | None:
    """Return what a value is by its type.

    None if it is missing, or by no type that is known.
    """
    match of_numpy(value):
        case bool():
            return "boolean"
        case int() | float() | decimal.Decimal() as number:
            return None if math.isnan(number) else "number"
        case datetime.date():
            return "date"
        case str():
            return "text"
    return None


def _names(every: Sequence[Mapping[Any, Any]]) -> dict[Any, None]:
    return dict.fromkeys(name for data in every for name in data)


def _rows(ends: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(ends, dtype=np.int64).reshape(-1, 2)


def _refuse_directed(*, directed: bool, hint: str) -> None:
    if directed:
        # k people are alike in how many neighbours they have, not in which way edges point.
        raise InvalidGraph("The edges have directions, which a release cannot show.", hint=hint)


def _texts(released: AttributedGraph) -> dict[str, list[str]]:
    """Return the published values of each attribute.

    There is none in the place of `NONE`.
    """
    return {
        name: [texts[code] for code in released.codes[:, j].tolist()]
        for j, (name, texts) in enumerate(
            zip(released.schema.columns, released.categories, strict=False)
        )
    }
