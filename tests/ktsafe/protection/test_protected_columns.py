"""Columns that protect nobody, through `protect`: published, exchanged, read again."""

from __future__ import annotations

from typing import Any

import igraph
import networkx as nx
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import ktsafe
from ktsafe import InvalidGraph
from ktsafe.stream.cli import run_command
from tests.ktsafe.protection.karate import karate, protected


def with_columns() -> nx.Graph:
    """Return the karate club with a column of members and a weight of ties."""
    graph = karate()
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        data["shoe"] = 40 + i % 3
    for i, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = 1 + i % 4
    return graph


def of_kind(graph: nx.Graph, kind: str) -> tuple[Any, ...]:
    nodes = list(graph)
    rows = pd.DataFrame([{"id": node, **graph.nodes[node]} for node in nodes])
    ties = nx.to_pandas_edgelist(graph)
    match kind:
        case "networkx":
            return (graph,)
        case "igraph":
            return (igraph.Graph.from_networkx(graph),)
        case "pandas":
            return ties, rows
        case "pyarrow":
            return tuple(pa.Table.from_pandas(t, preserve_index=False) for t in (ties, rows))
        case _:
            return sparse.csr_array(nx.to_scipy_sparse_array(graph)), rows


def columns_of(found: Any) -> tuple[list[Any], list[Any]]:
    """Return the published shoes and weights."""
    match found:
        case nx.Graph():
            shoes = [data["shoe"] for _, data in found.nodes(data=True)]
            return shoes, [data["weight"] for _, _, data in found.edges(data=True)]
        case igraph.Graph():
            return found.vs["shoe"], found.es["weight"]
        case (sparse.csr_array() as matrix, table):
            return list(table["shoe"]), sparse.triu(matrix).tocoo().data.tolist()
        case (edges, table):
            return [x.as_py() if hasattr(x, "as_py") else x for x in table["shoe"]], [
                x.as_py() if hasattr(x, "as_py") else x for x in edges["weight"]
            ]
    raise AssertionError


@pytest.mark.parametrize("kind", ["networkx", "igraph", "pandas", "pyarrow", "sparse"])
def test_insensitive_columns_are_published_in_every_kind(kind: str) -> None:
    """Columns of people and weights of ties come out as numbers; the graph is as without them."""
    graph = of_kind(with_columns(), kind)
    asked = {"ignore": ["_nx_name"]} if kind == "igraph" else {}
    safe = protected(*graph, insensitive=["shoe"], edge_columns=["weight"], **asked)
    plain = protected(*of_kind(karate(), kind), **asked)
    shoes, weights = columns_of(safe.graph)
    assert set(shoes) == {40, 41, 42}
    assert set(weights) <= {1, 2, 3, 4}
    assert len(weights) == safe.provenance.made.graph.n_edges > 0
    edges = [one.provenance.made.graph.edges.tolist() for one in (safe, plain)]
    assert edges[0] == edges[1]
    assert {"known_columns.rows", "known_columns.bands"} == {
        result.attack for result in safe.attack(["known_columns"])
    }


def test_repeated_edges_are_counted_as_weight() -> None:
    """Where edges have no weight it is how many times each is given, in either direction."""
    graph = nx.MultiGraph(karate())
    for u, v in list(karate().edges):
        graph.add_edge(v, u)
    safe = protected(graph, edge_columns=["weight"])
    assert {data["weight"] for _, _, data in safe.graph.edges(data=True)} == {2}
    for _, _, data in graph.edges(data=True):
        data["weight"] = 1.5
    summed = protected(graph, edge_columns=["weight"])
    assert {data["weight"] for _, _, data in summed.graph.edges(data=True)} == {3.0}


def test_types_of_edges_are_published_exchanged() -> None:
    """Of an edge that is given twice, with two types, the first counts; shares of types stay."""
    graph = nx.MultiGraph(karate())
    for number, (_, _, data) in enumerate(graph.edges(data=True)):
        data["kind"] = ("friend", "colleague")[number % 2]
    for u, v, kind in list(graph.edges(data="kind")):
        if kind == "friend":
            graph.add_edge(v, u, kind="colleague")
    safe = protected(graph, edge_columns=["kind"])
    kinds = [kind for _, _, kind in safe.graph.edges(data="kind")]
    assert set(kinds) == {"friend", "colleague"}
    assert 0.4 < kinds.count("friend") / len(kinds) < 0.6
    simple = nx.Graph()
    simple.add_nodes_from(graph.nodes(data=True))
    simple.add_edges_from(
        (u, v, data) for u, v, key, data in graph.edges(keys=True, data=True) if not key
    )
    assert nx.utils.graphs_equal(safe.graph, protected(simple, edge_columns=["kind"]).graph)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"insensitive": ["shoe", "none"]}, "'none', which is to be insensitive"),
        ({"insensitive": ["shoe", "club"]}, "Two roles"),
        ({"insensitive": ["shoe"], "ignore": ["shoe"]}, "Two roles"),
        ({"edge_columns": ["weight", "kind"]}, "'kind', which is to be published"),
        ({}, "Vertices have 'shoe'"),
    ],
)
def test_columns_without_a_role_or_with_two_are_refused(roles: dict[str, Any], words: str) -> None:
    """Each column has one role, and each that is named occurs."""
    graph = with_columns()
    with pytest.raises(InvalidGraph, match=words):
        protected(graph, **{"edge_columns": ["weight"], **roles})


def test_columns_are_saved_and_read_again(tmp_path: Any) -> None:
    """What is saved lies in files of its own, which the verifier reads."""
    safe = protected(with_columns(), insensitive=["shoe"], edge_columns=["weight"])
    safe.save(tmp_path / "release", tmp_path / "audit")
    assert run_command(["verify", str(tmp_path / "release")]) == 0
    read = ktsafe.read(tmp_path / "release")
    assert set(read.columns["shoe"]) == {"40", "41", "42"}
    assert len(read.edge_columns["weight"]) == len(read.edges)
