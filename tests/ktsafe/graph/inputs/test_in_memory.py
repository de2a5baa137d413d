"""Graphs in memory: every library's graph is the same network, and what is unclear is refused."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from ktsafe.errors import InvalidGraph, SeveralFaults
from ktsafe.graph.inputs import Network, of_memory
from ktsafe.protection import protect

NAMES = ["ann", "7", "007", "bo", "cy"]
TIES = [("ann", "7"), ("7", "007"), ("cy", "ann")]
COLUMNS: dict[str, list[Any]] = {
    "age": [30.0, None, 41.5, 7.0, None],
    "member": [True, False, None, True, True],
    "town": ["Ulm", " Bonn", None, "1.0", ""],
    "since": [datetime.date(2020, 1, 31), None, None, None, datetime.date(2021, 2, 1)],
}
TEXTS = {
    "age": ["30", None, "41.5", "7", None],
    "member": ["true", "false", None, "true", "true"],
    "town": ["Ulm", "Bonn", None, "1", None],
    "since": ["2020-01-31", None, None, None, "2021-02-01"],
}
KINDS = {"age": "number", "member": "boolean", "town": "text", "since": "date"}


def of_networkx() -> tuple[Any, ...]:
    graph = nx.Graph()
    for v, name in enumerate(NAMES):
        graph.add_node(name, **{column: values[v] for column, values in COLUMNS.items()})
    graph.add_edges_from(TIES)
    return (graph,)


def of_igraph() -> tuple[Any, ...]:
    ends = [(NAMES.index(u), NAMES.index(v)) for u, v in TIES]
    columns = {**COLUMNS, "age": [float("nan") if x is None else x for x in COLUMNS["age"]]}
    return (igraph.Graph(len(NAMES), ends, vertex_attrs={"name": NAMES, **columns}),)


def of_polars() -> tuple[Any, ...]:
    ties = pl.DataFrame({"source": [u for u, _ in TIES], "target": [v for _, v in TIES]})
    people = pl.DataFrame({"id": NAMES, **COLUMNS})
    return ties, people.with_columns(pl.col("town").cast(pl.Categorical))


def of_pyarrow() -> tuple[Any, ...]:
    return tuple(frame.to_arrow() for frame in of_polars())


def of_string_views() -> tuple[Any, ...]:
    ties, people = of_pyarrow()
    views = pa.array(COLUMNS["town"], pa.string_view())
    return ties, people.set_column(people.column_names.index("town"), "town", views)


def of_pandas() -> tuple[Any, ...]:
    ties = pd.DataFrame(TIES, columns=["source", "target"])
    return ties, pd.DataFrame({"id": NAMES, **COLUMNS}).astype({"town": "category"})


def of_nullable_pandas() -> tuple[Any, ...]:
    return tuple(frame.convert_dtypes() for frame in of_pandas())


def of_pandas_on_arrow() -> tuple[Any, ...]:
    return tuple(frame.convert_dtypes(dtype_backend="pyarrow") for frame in of_pandas())


def of_pandas_objects() -> tuple[Any, ...]:
    ties, people = of_pandas()
    people = people.astype(object)
    people.loc[1, "age"], people.loc[4, "age"] = pd.NA, float("nan")
    return ties, people


FORMS = [
    of_networkx,
    of_igraph,
    of_polars,
    of_pyarrow,
    of_string_views,
    of_pandas,
    of_nullable_pandas,
    of_pandas_on_arrow,
    of_pandas_objects,
]


@pytest.mark.parametrize("form", FORMS)
def test_every_library_tells_the_same_network(form: Callable[[], tuple[Any, ...]]) -> None:
    """Missing values of every kind are missing, whole fractions whole, texts without blanks."""
    network = of_memory(*form())
    assert network.ids == NAMES
    assert network.columns == TEXTS
    assert network.edges.tolist() == [[0, 1], [0, 4], [1, 2]]
    assert {**network.kinds, "since": "date", "member": "boolean"} == KINDS
    assert (network.edges_repeated, network.loops, network.directed, network.ignored) == (
        0,
        0,
        0,
        (),
    )
    assert network.isolates == 1


FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int64, np.float32, np.float64])
def test_matrices_of_every_format(format_: str, kind: Any, dtype: Any) -> None:
    """A cell that is not zero is a tie; loops are counted; the matrix stays as it is."""
    rows, columns = np.array([[0, 1, 1, 2, 3], [1, 0, 2, 1, 3]])
    matrix = kind((np.ones(5, dtype=dtype), (rows, columns)), shape=(5, 5)).asformat(format_)
    before = matrix.toarray().copy()
    network = of_memory(matrix)
    assert (network.ids, network.edges.tolist()) == (list("01234"), [[0, 1], [1, 2]])
    assert (network.loops, network.edges_repeated, network.ignored) == (1, 0, ())
    assert (matrix.toarray() == before).all()


def test_stored_zeros_are_no_ties() -> None:
    """Nor are cells that add up to zero; a weight is named."""
    matrix = sparse.csr_array(np.array([[0, 2, 0], [2, 0, 3], [0, 3, 1]], dtype=float))
    matrix.data[[0, 1]] = 0
    network = of_memory(matrix)
    assert (network.edges.tolist(), network.loops) == ([[1, 2]], 1)
    assert network.ignored == ("weight",)
    both = np.array([[0, 0, 1, 1, 0, 1], [1, 1, 0, 0, 2, 2]])
    cells = np.array([1, -1, 1, -1, 1, 1])
    ends = np.concatenate([both, both[::-1]], axis=1)
    matrix = sparse.coo_array((np.tile(cells, 2), ends), shape=(3, 3))
    assert of_memory(matrix).edges.tolist() == [[0, 2], [1, 2]]


def frames(ids: Any, source: Any, target: Any) -> tuple[Any, ...]:
    return pd.DataFrame({"source": source, "target": target}), pd.DataFrame({"id": ids})


def test_ends_of_ties_may_be_written_otherwise() -> None:
    """Fractions that are whole, texts of digits and blanks name the same people."""
    for ids, ends in (
        ([747, 12, 3], [747.0, 12.0, 3.0]),
        (["747", "12", "3"], [747.0, 12.0, 3.0]),
        ([747, 12, 3], ["747.0", "12", " 3"]),
    ):
        network = of_memory(*frames(ids, ends[:2], ends[1:]))
        assert (network.ids, network.edges.tolist()) == (["747", "12", "3"], [[0, 1], [1, 2]])


def test_columns_that_may_both_be_meant_are_named() -> None:
    """Rather than guessed; `id`, `source` and `target` are always meant."""
    people = pl.DataFrame({"user": ["a", "b"], "person": ["c", "d"]})
    ties = pl.DataFrame({"from": ["a"], "to": ["b"], "src": ["c"], "dst": ["d"]})
    with pytest.raises(InvalidGraph, match=r"'user', 'person'.*Rename"):
        of_memory(ties, people)
    people = people.rename({"person": "id"})
    with pytest.raises(InvalidGraph, match=r"'from' and 'to' or 'src' and 'dst'.*Rename"):
        of_memory(ties, people)
    assert of_memory(ties.rename({"src": "source", "dst": "target"}), people).ids == ["c", "d"]


@pytest.mark.parametrize("form", ["graphml", "gexf"])
def test_what_a_file_says_of_everybody_without_a_value_is_theirs(tmp_path: Path, form: str) -> None:
    """Networkx keeps the default of an attribute with the graph, and gives it to nobody."""
    graph = nx.path_graph(["ann", "bo", "cy"])
    graph.nodes["ann"]["hiv"] = "negative"
    graph.graph["node_default"] = {"hiv": "positive"}
    if form == "graphml":
        nx.write_graphml(graph, tmp_path / "net")
        graph = nx.read_graphml(tmp_path / "net")
    else:
        text = "\n".join(nx.generate_gexf(graph))
        (tmp_path / "net").write_text(
            re.sub(
                r"(<attribute [^>]*hiv[^>]*)/>",
                r"\1>"
                "<default>positive</default></attribute>",
                text,
            )
        )
        graph = nx.read_gexf(tmp_path / "net")
    assert of_memory(graph).columns["hiv"] == ["negative", "positive", "positive"]


def test_ids_of_several_types() -> None:
    """Pairs of a grid, numbers of numpy and booleans have texts; the order is that of the graph."""
    assert of_memory(nx.grid_2d_graph(1, 2)).ids == ["(0, 0)", "(0, 1)"]
    graph = nx.Graph()
    graph.add_nodes_from([np.int64(3), True, decimal.Decimal("2.0"), "a "])
    assert of_memory(graph).ids == ["3", "true", "2", "a"]


def grown(*names: Any, **column: Any) -> nx.Graph:
    graph = nx.path_graph(3)
    graph.add_nodes_from(names)
    for name, value in column.items():
        graph.nodes[1][name] = value
    return graph


def with_names(*names: Any) -> igraph.Graph:
    return igraph.Graph(len(names), [(0, 1)], vertex_attrs={"name": list(names)})


def two_columns() -> pd.DataFrame:
    return pd.DataFrame([[0, "ill", "well"], [1, "well", "well"]], columns=["id", "at", "at"])


TIE = {"source": [0], "target": [1]}
LOST = float(2**53 + 2)
REFUSED: list[tuple[Callable[[], tuple[Any, ...]], str]] = [
    (lambda: (grown("1"),), r"same text: row 3 \(counted"),
    (lambda: (grown(1.5, "1.5"),), "same text: row 4"),
    (lambda: (with_names("a", "b", "a"),), "same id: row 2"),
    (lambda: (with_names("a", "7.0", "7"),), "same text: row 2"),
    (lambda: (with_names("a", None, ""),), "no id: rows 1, 2"),
    (lambda: (with_names("a", ["b"]),), r"People: an id is of the type list.*row 1"),
    (lambda: (grown(frozenset()),), "People: an id is of the type frozenset"),
    (lambda: (grown(LOST),), r"2\*\*53.*row 3"),
    (lambda: frames([0, 1, LOST], [0], [1]), r"2\*\*53.*row 2"),
    (lambda: frames([0, 1], [0, 0, LOST], [1, 1, 1]), r"Ties: an id .*2\*\*53.*row 2"),
    (lambda: frames([0, 1], [0.0, None], [1, 1]), "not among the vertices: row 1"),
    (lambda: frames([5, "5"], [5], [5]), "same text: row 1"),
    (lambda: frames([5, 5.0], [5], [5]), "same id: row 1"),
    (lambda: (pd.DataFrame(TIE), two_columns()), "people has two columns 'at'"),
    (
        lambda: (pa.table(TIE), pa.table([[0], ["ill"], ["well"]], names=["id", "at", "at"])),
        "two columns 'at'",
    ),
    (lambda: (two_columns(), pd.DataFrame({"id": [0]})), "ties has two columns"),
    (lambda: (pl.DataFrame(TIE).lazy(), pl.DataFrame({"id": [0, 1]})), "Collect a lazy frame"),
    (lambda: (pl.DataFrame(TIE),), "One data frame .*with id"),
    (lambda: (TIE, {"id": [0, 1]}), "no graph of a kind"),
    (lambda: (pl.DataFrame(TIE), pl.DataFrame({"who": [0, 1]})), "missing.* column id"),
    (lambda: (nx.DiGraph([(0, 1)]),), "to_undirected"),
    (lambda: (sparse.csr_array([[0, 1], [0, 0]]),), r"matrix \+ matrix\.T"),
    (lambda: (sparse.csr_array([[0, 1, 0], [1, 0, 0]]),), "a row and a column"),
    (lambda: (sparse.csr_array([[0, np.nan], [np.nan, 0]]),), "NaN"),
]


@pytest.mark.parametrize(("graph", "words"), REFUSED)
def test_what_is_unclear_is_refused_by_name(
    graph: Callable[[], tuple[Any, ...]], words: str
) -> None:
    """With the rows concerned; nobody is taken for two people or for somebody else."""
    with pytest.raises(InvalidGraph, match=words):
        of_memory(*graph())


def test_all_faults_are_told_at_once() -> None:
    """Of ids and of ties."""
    people = pd.DataFrame({"id": ["a", "a", None]})
    ties = pd.DataFrame({"source": ["a", "a"], "target": ["a", "nobody"]})
    with pytest.raises(SeveralFaults, match=r"vertices: row 1.*same id: row 1.*no id: row 2"):
        of_memory(ties, people)


UNREAD: list[tuple[Callable[[], tuple[Any, ...]], str]] = [
    (lambda: (grown(x=["a"]),), r"Attribute 'x': a value is of the type list.*row 1 "),
    (lambda: (grown(x=(0.5, 0.5)),), "'x': a value is of the type tuple"),
    (lambda: (grown(x=float("inf")),), "'x': infinity"),
    (lambda: (pa.table(TIE), pa.table({"id": [0, 1], "x": [["a"], None]})), "'x'.*list.*row 0"),
    (lambda: (pl.DataFrame(TIE), pl.DataFrame({"id": [0, 1], "x": [{"a": 1}] * 2})), "type dict"),
]


@pytest.mark.parametrize(("graph", "words"), UNREAD)
def test_an_attribute_without_texts_is_ignored_and_told(
    graph: Callable[[], tuple[Any, ...]], words: str
) -> None:
    """Lists, positions and infinity are no values; published they are refused, with the rows."""
    network = of_memory(*graph())
    assert (network.columns, network.ignored) == ({}, ("x",))
    assert re.search(words, network.notes[0])
    asked: dict[str, Any] = {"min_f1": 0, "k": 1, "rng": 1}
    with pytest.raises(InvalidGraph, match=words):
        protect(*graph(), quasi_identifiers=["x"], **asked)
    with pytest.raises(InvalidGraph, match="Vertices have 'x'"):
        protect(*graph(), **asked)
    assert protect(*graph(), ignore=["x"], **asked).verify().is_safe


def test_repeated_ties_loops_and_columns_of_ties_are_told() -> None:
    """In either direction a tie is one."""
    graph = nx.MultiGraph([(0, 1), (1, 0), (0, 1), (2, 2)], colour="red")
    graph.add_edge(0, 2, weight=3)
    network = of_memory(graph)
    assert isinstance(network, Network)
    assert (network.edges_repeated, network.loops) == (2, 1)
    assert (network.edges.tolist(), network.ignored) == ([[0, 1], [0, 2]], ("weight",))
