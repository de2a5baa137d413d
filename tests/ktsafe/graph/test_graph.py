"""The attributed graph: schema, coding, adjacency and networkx at both ends."""

from __future__ import annotations

import dataclasses
import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import MISSING, AttributedGraph, InvalidGraph, Schema
from ktsafe.errors import AbsentFromGraph, WrittenOtherwise
from tests import naive
from tests.graphs import attributed, small_graphs
from tests.naive import Small

SCHEMA = Schema(("age", "city"), "health", frozenset({"ill"}), {"age": (18, 65)})


@pytest.mark.parametrize(
    ("value", "category"),
    [
        (17.9, "<18"),
        (18, "18..<65"),
        ("64", "18..<65"),
        (65, ">=65"),
        (None, MISSING),
        ("", MISSING),
        (MISSING, MISSING),
        (float("nan"), MISSING),
        (float("inf"), ">=65"),
    ],
)
def test_numbers_fall_into_buckets(value: object, category: str) -> None:
    """Buckets are closed below and open above; what nobody gave is missing."""
    assert SCHEMA.category("age", value) == category


@pytest.mark.parametrize("mark", ["T", " "])
@pytest.mark.parametrize("border", ["2020-01-31T06:00", "2020-01-31 06:00"])
def test_moments_are_compared_however_they_are_written(mark: str, border: str) -> None:
    """With a T or a blank before the time of day, on either side; a day begins at midnight."""
    schema = Schema(("since",), "health", frozenset(), {"since": (border, "2020-02-01")})
    texts = [f"2020-01-31{mark}05:59", f"2020-01-31{mark}06:00:00", f"2020-02-01{mark}00:00"]
    told = [schema.category("since", text) for text in texts]
    assert told == [f"<{border}", f"{border}..<2020-02-01", ">=2020-02-01"]


def test_categories_stay_as_they_are() -> None:
    """An attribute without buckets is published as text."""
    assert [SCHEMA.category("city", x) for x in ("Ulm", 7, None)] == ["Ulm", "7", MISSING]


def test_a_bucketed_text_is_refused_without_repeating_it() -> None:
    """The error names the attribute, never the value."""
    with pytest.raises(InvalidGraph) as caught:
        SCHEMA.category("age", "secret")
    assert "age" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        (("a", "a"), "s", frozenset()),
        (("a",), "a", frozenset()),
        (("id",), "s", frozenset()),
        (("",), "s", frozenset()),
        (("a\nb",), "s", frozenset()),
        (("a",), "s", frozenset(), {"b": (1.0,)}),
        (("a",), "s", frozenset(), {"a": ()}),
        (("a",), "s", frozenset(), {"a": (2.0, 1.0)}),
        (("a",), "s", frozenset(), {"a": (1.0, 1.0)}),
    ],
)
def test_bad_schemas_are_refused(arguments: tuple) -> None:
    """Doubled, reserved and empty names, and bucket edges that do not ascend."""
    with pytest.raises(InvalidGraph):
        Schema(*arguments)


@given(small_graphs(), st.randoms())
@settings(deadline=None)
def test_a_subgraph_is_that_of_networkx(graph: Small, rng: random.Random) -> None:
    """Vertices come in the order asked for, with their values and all edges among them."""
    whole = attributed(graph)
    chosen = rng.sample(range(whole.n_vertices), rng.randint(0, whole.n_vertices))
    found = whole.subgraph(np.array(chosen, dtype=np.int64)).to_networkx(chosen)
    expected = whole.to_networkx().subgraph(chosen)
    assert list(found) == chosen
    assert dict(found.nodes(data=True)) == dict(expected.nodes(data=True))
    assert nx.utils.edges_equal(found.edges, expected.edges)


@given(small_graphs())
@settings(deadline=None)
def test_adjacency_is_that_of_the_edges(graph: Small) -> None:
    """Degrees, neighbours, edges, flags and classes say what the edge list said."""
    built = attributed(graph)
    reach = naive.closed_neighbourhoods(graph)
    n = len(graph.is_sensitive)
    assert (built.n_vertices, built.n_edges) == (n, len(graph.edges))
    for v in range(n):
        neighbours = built.indices[built.indptr[v] : built.indptr[v + 1]].tolist()
        assert neighbours == sorted(reach[v] - {v})
        assert built.degrees[v] == len(neighbours)
    assert built.edges.tolist() == sorted([min(e), max(e)] for e in graph.edges)
    assert built.is_sensitive.tolist() == graph.is_sensitive
    for u in range(n):
        for v in range(n):
            same = graph.quasi_identifiers[u] == graph.quasi_identifiers[v]
            assert (built.qi_classes[u] == built.qi_classes[v]) == same
    if n:
        assert sorted(set(built.qi_classes.tolist())) == list(range(built.qi_classes.max() + 1))


@given(small_graphs())
@settings(deadline=None)
def test_nothing_is_lost_to_networkx(graph: Small) -> None:
    """Vertices keep their order and values, and edges their ends."""
    one = attributed(graph)
    made = one.to_networkx()
    assert list(made.nodes.values()) == [one.values(v) for v in range(one.n_vertices)]
    assert sorted(sorted(edge) for edge in made.edges) == one.edges.tolist()


def test_missing_attributes_and_own_names() -> None:
    """A person without an attribute holds the missing value; names stay the caller's."""
    columns = {"age": [30, None], "health": ["ill", None], "city": [None, "Ulm"]}
    built = AttributedGraph.from_columns(SCHEMA, columns, [(1, 0)])
    assert built.values(0) == {"age": "18..<65", "city": MISSING, "health": "ill"}
    assert built.values(1) == {"age": MISSING, "city": "Ulm", "health": MISSING}
    assert built.is_sensitive.tolist() == [True, False]
    assert set(built.to_networkx(["anna", "bert"]).edges) == {("anna", "bert")}


@pytest.mark.parametrize(
    ("codes", "edges"),
    [
        ([[0, 0, 0], [0, 0, 0]], [[0, 2]]),
        ([[0, 0, 0], [0, 0, 0]], [[-1, 0]]),
        ([[0, 0, 0], [0, 0, 0]], [[1, 1]]),
        ([[0, 0, 0], [0, 0, 0]], [[0, 1], [1, 0]]),
        ([[0, 0, 1], [0, 0, 0]], [[0, 1]]),
        ([[0, 0, -1], [0, 0, 0]], [[0, 1]]),
    ],
)
def test_bad_codes_and_edges_are_refused(codes: list, edges: list) -> None:
    """Loops, doubled edges, unknown vertices and unknown categories."""
    with pytest.raises(InvalidGraph):
        AttributedGraph.from_codes(SCHEMA, [["x"]] * 3, codes, edges)


def test_bad_columns_are_refused() -> None:
    """Categories for every attribute, and columns of one length."""
    with pytest.raises(InvalidGraph):
        AttributedGraph.from_codes(SCHEMA, [["x"]] * 2, np.zeros((1, 3)), [])
    with pytest.raises(InvalidGraph):
        AttributedGraph.from_columns(SCHEMA, {"city": ["a", "b"], "health": ["ill"]}, [])


PEOPLE = {"gender": ["f", "m", None], "age": [20, 30, 70], "health": ["well", "ill", "well"]}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (Schema(("gendr", "age"), "health", {"ill"}), "'gendr'.*mean 'gender'"),
        (Schema(("Gender", "age"), "health", {"ill"}), "'Gender'.*mean 'gender'"),
        (Schema(("gender",), "heath", {"ill"}), "'heath'.*mean 'health'"),
        (Schema(("gender",), "health", {"Ill"}), "'Ill'.*mean 'ill'"),
        (Schema(("gender",), "health", {"ill", "chronic"}), "'chronic'.*expect_absent"),
    ],
)
def test_what_nobody_has_is_taken_for_a_misspelling(schema: Schema, words: str) -> None:
    """It would be published as missing for everybody, or make everything safe."""
    with pytest.raises(AbsentFromGraph, match=words):
        AttributedGraph.from_columns(schema, PEOPLE, [])
    names = {*schema.attributes, *schema.sensitive_values}
    declared = dataclasses.replace(schema, expect_absent=names)
    assert AttributedGraph.from_columns(declared, PEOPLE, []).n_vertices == 3
    assert AttributedGraph.from_columns(schema, {}, []).n_vertices == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("gender", "health", {"ill"}),
        (("gender",), "health", "ill"),
        (("gender",), ("health",), {"ill"}),
        ((1,), "health", {"ill"}),
    ],
)
def test_a_text_is_no_collection_of_texts(arguments: tuple) -> None:
    """It would be taken for its letters."""
    with pytest.raises(InvalidGraph, match="must be"):
        Schema(*arguments)


@pytest.mark.parametrize("value", [float("nan"), np.float32("nan"), np.datetime64("NaT")])
def test_nan_is_no_category(value: object) -> None:
    """Among numbers it is a missing value; as a category it would be published as one."""
    with pytest.raises(InvalidGraph, match="'health' holds NaN"):
        AttributedGraph.from_columns(SCHEMA, {**PEOPLE, "city": "abc", "health": [value] * 3}, [])


@pytest.mark.parametrize("mark", ["\n", "\r\n", "\0", "\x1b[2J", "\u2028", "\u202e", "\x7f"])
def test_what_ends_a_line_is_no_category(mark: str) -> None:
    """Nor what steers a terminal or turns text round; joiners of letters are, and blanks."""
    with pytest.raises(InvalidGraph, match="'city' holds an end of line") as caught:
        AttributedGraph.from_columns(SCHEMA, {"city": [f"secret{mark}x"]}, [])
    assert "secret" not in str(caught.value)
    assert SCHEMA.category("city", "a\u200cb\u00a0c") == "a\u200cb\u00a0c"


def test_classes_of_many_wide_attributes() -> None:
    """Class numbers stay exact where the product of the domains exceeds 64 bits."""
    n, q = 300, 40
    rng = np.random.default_rng(2)
    base = rng.integers(0, 50, (n // 3, q))
    codes = np.vstack((base, base, base))
    codes[-1, 0] = (codes[-1, 0] + 1) % 50
    schema = Schema(tuple(f"a{j}" for j in range(q)), "s", frozenset())
    categories = [[str(x) for x in range(50)]] * q + [["x"]]
    graph = AttributedGraph.from_codes(
        schema, categories, np.column_stack((codes, np.zeros(n, int))), []
    )
    tuples = [tuple(row) for row in codes.tolist()]
    order = {row: i for i, row in enumerate(sorted(set(tuples)))}
    assert graph.qi_classes.tolist() == [order[row] for row in tuples]


def test_values_that_are_almost_sensitive_are_refused() -> None:
    """Whoever has one would be protected as harmless; other words are other values."""
    schema = Schema(("gender",), "health", {"ill"})
    columns = {"gender": ["f", "m", "f"], "health": ["ill", "well", "Ill"]}
    with pytest.raises(WrittenOtherwise, match=r"'Ill' almost like 'ill'.*harmless_values"):
        AttributedGraph.from_columns(schema, columns, [])
    for meant in (
        dataclasses.replace(schema, harmless_values={"Ill"}),
        dataclasses.replace(schema, sensitive_values={"ill", "Ill"}),
        schema.expecting_nothing(),
    ):
        assert AttributedGraph.from_columns(meant, columns, []).n_vertices == 3
    columns["health"][2] = "ills"
    assert AttributedGraph.from_columns(schema, columns, []).n_vertices == 3
