"""Networks drawn at random, in the objects of every library: what is read is the network."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ktsafe.graph.inputs import of_memory

WORDS = st.text("abz ä漢07_.,#\"'", min_size=1, max_size=5).map(lambda text: f"w{text}w")
"""Texts that are no numbers, and have blanks and quotes inside alone."""
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(-(2**31), 2**31),
    "fraction": st.integers(-999, 999).map(lambda x: x + 0.5),
    "boolean": st.booleans(),
    "text": WORDS,
}


@dataclasses.dataclass
class Drawn:
    """A network, and what its texts are by construction.

    Attributes
    ----------
    ids, texts:
        Ids of one type, and the texts that they must become.
    columns:
        For each attribute its values; None where missing.
    rows:
        Ends of ties by position; repeats in both directions and loops among them.
    """

    ids: list[Any]
    texts: list[str]
    columns: dict[str, list[Any]]
    rows: list[tuple[int, int]]


@st.composite
def networks(draw: st.DrawFn) -> Drawn:
    """Draw a network."""
    numbers = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=8, unique=True))
    kind = draw(st.sampled_from(["numbers", "digits", "words"]))
    ids: list[Any] = [*numbers]
    if kind == "digits":  # Zeros before a number are a part of the id.
        ids = [f"00{x}" if x % 3 == 0 else str(x) for x in numbers]
    if kind == "words":
        ids = [f"a b {x}" for x in numbers]
    n = len(ids)
    columns = {
        name: draw(st.lists(st.none() | values, min_size=n, max_size=n))
        for name, values in VALUES.items()
        if draw(st.booleans())
    }
    ends = st.integers(0, n - 1)
    return Drawn(ids, [str(x) for x in ids], columns, draw(st.lists(st.tuples(ends, ends))))


def text_of(value: Any) -> str | None:
    """Return the text that a value has, by its type alone."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def of_networkx(drawn: Drawn) -> tuple[Any, ...]:
    graph = nx.MultiGraph()
    for i, name in enumerate(drawn.ids):
        there = {key: values[i] for key, values in drawn.columns.items() if values[i] is not None}
        graph.add_node(name, **there)
    graph.add_edges_from((drawn.ids[u], drawn.ids[v]) for u, v in drawn.rows)
    return (graph,)


def of_igraph(drawn: Drawn) -> tuple[Any, ...]:
    columns = {"name": drawn.ids, **drawn.columns}
    return (igraph.Graph(len(drawn.ids), drawn.rows, vertex_attrs=columns),)


def of_pandas(drawn: Drawn) -> tuple[Any, ...]:
    ties = [(drawn.ids[u], drawn.ids[v]) for u, v in drawn.rows]
    people = pd.DataFrame({"id": drawn.ids, **drawn.columns})
    return pd.DataFrame(ties, columns=["source", "target"]), people


def of_pandas_objects(drawn: Drawn) -> tuple[Any, ...]:
    ties, people = of_pandas(drawn)
    return ties.astype(object), people.astype(object).where(people.notna(), pd.NA)


def of_polars(drawn: Drawn) -> tuple[Any, ...]:
    source, target = ([drawn.ids[row[i]] for row in drawn.rows] for i in (0, 1))
    return (
        pl.DataFrame({"source": source, "target": target}),
        pl.DataFrame({"id": drawn.ids, **drawn.columns}),
    )


def of_pyarrow(drawn: Drawn) -> tuple[Any, ...]:
    return tuple(frame.to_arrow() for frame in of_polars(drawn))


def of_string_views(drawn: Drawn) -> tuple[Any, ...]:
    return tuple(pa.table(frame) for frame in of_polars(drawn))


FORMS = [of_networkx, of_igraph, of_pandas, of_pandas_objects, of_polars, of_pyarrow]


def pairs(drawn: Drawn) -> set[tuple[int, int]]:
    """Return the ties by position."""
    return {(min(row), max(row)) for row in drawn.rows if row[0] != row[1]}


@pytest.mark.parametrize("form", [*FORMS, of_string_views])
@settings(max_examples=60, deadline=None)
@given(networks())
def test_what_is_read_is_the_network(
    form: Callable[[Drawn], tuple[Any, ...]], drawn: Drawn
) -> None:
    """People, values, ties, repeats and loops; nobody is lost, split or made of two."""
    network = of_memory(*form(drawn))
    assert network.ids == drawn.texts
    shown = {name: values for name, values in network.columns.items() if any(values)}
    there = {key: values for key, values in drawn.columns.items() if set(values) != {None}}
    assert shown == {key: [text_of(x) for x in values] for key, values in there.items()}
    assert set(map(tuple, network.edges.tolist())) == pairs(drawn)
    loops = sum(u == v for u, v in drawn.rows)
    assert (network.loops, network.directed, network.ignored) == (loops, 0, ())
    assert network.edges_repeated == len(drawn.rows) - loops - len(pairs(drawn))


@settings(max_examples=60, deadline=None)
@given(networks(), st.sampled_from(["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]))
def test_matrices_are_the_network(drawn: Drawn, format_: str) -> None:
    """With the people in a table, or without one; cells that are stored again are one tie."""
    n = len(drawn.ids)
    both = np.array([*drawn.rows, *((v, u) for u, v in drawn.rows if u != v)], dtype=int)
    rows, columns = both.reshape(-1, 2).T
    ones = np.ones(len(rows), dtype=bool)
    matrix = sparse.coo_array((ones, (rows, columns)), shape=(n, n)).asformat(format_)
    alone = of_memory(matrix)
    network = of_memory(matrix, of_polars(drawn)[1])
    assert (alone.ids, network.ids) == ([str(v) for v in range(n)], drawn.texts)
    for found in (alone, network):
        assert set(map(tuple, found.edges.tolist())) == pairs(drawn)
        assert found.loops == len({u for u, v in drawn.rows if u == v}) or format_ == "coo"
    assert network.columns == of_memory(*of_polars(drawn)).columns
