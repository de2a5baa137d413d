"""Distributions of degrees and values against plain counting."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from ktsafe import AttributedGraph, Schema
from ktsafe.audit.distributions import VALUES_MAX, attribute_mix, degree_bands
from tests.graphs import attributed, small_graphs
from tests.naive import Small


def values(graph, name):
    """Return how many vertices have each value of an attribute."""
    return Counter(graph.values(v)[name] for v in range(graph.n_vertices))


@settings(max_examples=40, deadline=None)
@given(small_graphs(), small_graphs())
def test_bands_hold_the_degrees_that_they_name(first, second):
    """Each band's share is that of the vertices whose degree lies in it, and no degree is left."""
    graphs = {"original": attributed(first), "released": attributed(second)}
    rows = to_builtins(degree_bands(**graphs))
    assert rows[0]["from"] == rows[0]["to"] == 0
    assert all(a["to"] + 1 == b["from"] for a, b in itertools.pairwise(rows))
    for name, graph in graphs.items():
        n = graph.n_vertices
        for row in rows:
            inside = sum(row["from"] <= degree <= row["to"] for degree in graph.degrees.tolist())
            assert row[name] == (pytest.approx(inside / n, abs=1e-6) if n else None)
        assert not n or sum(row[name] for row in rows) == pytest.approx(1, abs=1e-5)


PEOPLE = st.lists(st.tuples(st.integers(0, 11), st.booleans()), max_size=30)


def without_ties(people):
    """Return a graph of people with one quasi-identifier, and no ties."""
    schema = Schema(("a",), "s", frozenset({"True"}), expect_absent={"True"})
    columns = {"a": [str(a) for a, _ in people], "s": [str(s) for _, s in people]}
    return AttributedGraph.from_columns(schema, columns, [])


@settings(max_examples=60, deadline=None)
@given(PEOPLE, PEOPLE)
def test_values_move_as_far_as_counting_says(first, second):
    """Half the L1 distance of both distributions; the shares of each graph add up to 1."""
    original, released = without_ties(first), without_ties(second)
    for name, mix in to_builtins(attribute_mix(original, released)).items():
        if not (original.n_vertices and released.n_vertices):
            assert mix["distance"] is None
            continue
        true, shown = values(original, name), values(released, name)
        apart = sum(
            abs(true[x] / original.n_vertices - shown[x] / released.n_vertices)
            for x in true.keys() | shown.keys()
        )
        assert mix["distance"] == pytest.approx(apart / 2, abs=1e-4)
        for of in ("original", "released"):
            assert sum(row[of] for row in mix["values"]) == pytest.approx(1, abs=1e-4)
        told = [row["original"] for row in mix["values"][:VALUES_MAX]]
        assert told == sorted(told, reverse=True)


@settings(max_examples=20, deadline=None)
@given(small_graphs())
def test_no_value_is_named(small):
    """Values are told of by rank: what is returned holds numbers alone, the same twice over."""
    graph = attributed(small)
    for mix in to_builtins(attribute_mix(graph, graph)).values():
        assert mix.keys() == {"distance", "values"}
        assert all(row.keys() == {"original", "released"} for row in mix["values"])
        assert mix["distance"] == (0 if graph.n_vertices else None)


def test_values_beyond_the_first_are_told_together():
    """Of nine values and more, eight are told one by one and the rest as one."""
    graph = attributed(Small([(v,) for v in range(12)], [False] * 12, []))
    rows = to_builtins(attribute_mix(graph, graph)["a0"].values)
    assert len(rows) == VALUES_MAX + 1
    assert rows[-1]["original"] == pytest.approx(4 / 12, abs=1e-5)
