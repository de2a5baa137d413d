"""What is done to people of classes that can be no cohort."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, Infeasible, PrivacyParams, Schema, anonymize
from ktsafe.anonymization.request import RareQi, prepare, with_sensitive_suppressed
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition


def people(rows: list[tuple[str, ...]], values: str = "") -> AttributedGraph:
    """Return a graph without edges: quasi-identifiers per person, "y" for a sensitive one."""
    names = tuple("abcd"[: len(rows[0])])
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    schema = Schema(names, "s", frozenset({"y"}), expect_absent={"y", "s", *names})
    return AttributedGraph.from_columns(
        schema, {**columns, "s": list(values or "n" * len(rows))}, []
    )


def prepared(graph: AttributedGraph, k: int, **options: str) -> AttributedGraph:
    """Return what is released."""
    chosen = AnonymizeOptions(**options)  # type: ignore[arg-type]
    return prepare(graph, PrivacyParams(k=k), chosen, np.random.default_rng(0)).graph


def tuples(graph: AttributedGraph) -> list[str]:
    """Return everybody's quasi-identifiers, joined."""
    names = graph.schema.quasi_identifiers
    return ["".join(graph.values(v)[name] for name in names) for v in range(graph.n_vertices)]


def test_as_few_attributes_are_suppressed_as_needed() -> None:
    """One attribute where two rare people then agree, and both only where nobody does."""
    rows = [("x", "1")] * 3 + [
        ("y", "1"),
        ("y", "2"),
        ("y", "3"),
        ("z", "7"),
        ("w", "8"),
        ("v", "9"),
    ]
    assert tuples(prepared(people(rows), 3, rare_qi="suppress")) == (
        ["x1"] * 3 + ["y-"] * 3 + ["--"] * 3
    )


def test_a_class_of_missing_values_is_filled_from_classes_that_can_spare() -> None:
    """Two people without an equal get company; nobody falls below k by it."""
    rows = [(town, "1") for town in "abcdefgh"] * 11 + [("y", "2"), ("z", "3")]
    found = Counter(tuples(prepared(people(rows), 10, rare_qi="suppress")))
    assert found == dict.fromkeys([f"{town}1" for town in "abcdefgh"] + ["--"], 10)


def test_whom_nothing_gives_company_is_withheld() -> None:
    """Fewer than k people, or rare ones beside classes that can spare nobody."""
    assert prepared(people([("x", "1")] * 3), 4, rare_qi="suppress").n_vertices == 0
    rows = [("x", "1")] * 4 + [("y", "2")]
    assert tuples(prepared(people(rows), 4, rare_qi="suppress")) == ["x1"] * 4


def test_suppressed_people_join_those_whose_values_are_missing() -> None:
    """A class that exists already counts."""
    rows = [("x", "-")] * 3 + [("x", "1")]
    assert tuples(prepared(people(rows), 3, rare_qi="suppress")) == ["x-"] * 4


def test_no_more_values_are_hidden_than_a_class_has_too_many() -> None:
    """Of 120 sensitive people in 400 alpha allows 80; 160 harmless ones join the 40 others."""
    graph = people([("x",)] * 400, "y" * 120 + "n" * 280)
    found = prepared(graph, 10)
    missing = [v for v in range(400) if found.values(v)["s"] == "-"]
    assert int(found.is_sensitive.sum()) == 80
    hidden = [v for v in missing if v < 120]
    assert (len(hidden), len(missing)) == (40, 200)
    assert hidden[-1] > 60  # At random, not in their order.


def test_all_harmless_members_join_where_they_are_too_few() -> None:
    """A class that is mostly sensitive shows as many sensitive values as alpha allows."""
    graph = people([("x",)] * 20, "y" * 15 + "n" * 5)
    found = prepared(graph, 10)
    assert int(found.is_sensitive.sum()) == 4
    assert sum(found.values(v)["s"] == "-" for v in range(20)) == 16


@settings(deadline=None)
@given(graphs(), privacy_params(), st.integers(0, 2**32))
@example(people([("x",)] * 5, "yyynn"), PrivacyParams(k=2, alpha="2/5"), 0)
def test_a_missing_value_tells_no_more_than_alpha(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Of those who show "-" instead of their value at most alpha hide a sensitive one.

    Unless no harmless value is left in the class. Classes within alpha keep all values.
    """
    found = with_sensitive_suppressed(graph, params, np.random.default_rng(seed))
    rows = tuples(graph)
    for row in set(rows):
        members = [v for v in range(graph.n_vertices) if rows[v] == row]
        changed = [v for v in members if found.values(v)["s"] != graph.values(v)["s"]]
        hidden = sum(bool(graph.is_sensitive[v]) for v in changed)
        most = params.alpha * len(members)
        truly = sum(bool(graph.is_sensitive[v]) for v in members)
        assert hidden == max(0, truly - math.floor(most))
        assert all(found.values(v)["s"] == "-" for v in changed)
        shown = [v for v in members if v not in changed and not graph.is_sensitive[v]]
        assert hidden <= params.alpha * len(changed) or not shown
        assert len(changed) <= math.ceil(hidden / params.alpha)


def test_classes_within_alpha_keep_their_values() -> None:
    """Only classes with too many sensitive members are touched."""
    graph = people([("x",)] * 5 + [("z",)] * 5, "ynnnn" + "yynnn")
    found = prepared(graph, 2)
    values = [found.values(v)["s"] for v in range(10)]
    assert values[:5] == list("ynnnn")
    assert "-" in values[5:]
    assert found.is_sensitive[5:].sum() == 1


def test_a_missing_value_that_is_sensitive_cannot_hide_one() -> None:
    """The error names the way out."""
    schema = Schema((), "s", frozenset({"y", "-"}), expect_absent={"-", "s"})
    graph = AttributedGraph.from_columns(schema, {"s": list("yyn")}, [])
    with pytest.raises(Infeasible, match="Do not declare"):
        prepared(graph, 2)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    graphs(n_max=14),
    privacy_params(),
    st.sampled_from(["suppress", "withhold"]),
    st.integers(0, 2**32),
)
def test_releases_are_safe_and_change_nothing_else(
    graph: AttributedGraph, params: PrivacyParams, rare: RareQi, seed: int
) -> None:
    """Under every option the release is safe; values are true or missing, few edges differ."""
    options = AnonymizeOptions("fast", rare_qi=rare, values="in place")
    outcome = anonymize(graph, params, rng=np.random.default_rng(seed), options=options)
    released, origin = outcome.graph, outcome.origin.tolist()
    assert unsafe_by_definition(released, params) == []
    real = [u for u, v in enumerate(origin) if v >= 0]
    rare_ones = {v for v, count in enumerate(sizes(graph)) if count < params.k}
    if rare == "withhold":
        assert {origin[u] for u in real} == set(range(graph.n_vertices)) - rare_ones
    elif graph.n_vertices >= params.k * (2 ** len(released.categories)):
        assert sorted(origin[u] for u in real) == list(range(graph.n_vertices))
    for u in real:
        for name, value in released.values(u).items():
            assert value in {graph.values(origin[u])[name], "-"}
            is_kept = rare == "withhold" and name != graph.schema.sensitive
            assert value == graph.values(origin[u])[name] or not is_kept
    ends = [(origin[u], origin[v]) for u, v in released.edges.tolist()]
    kept = {(min(pair), max(pair)) for pair in ends if min(pair) >= 0}
    among = {(u, v) for u, v in graph.edges.tolist() if {u, v} <= set(origin)}
    assert len(among ^ kept) <= len(among)
    assert min(sizes(released), default=params.k) >= params.k
    assert_alpha_among_the_real(released, real, params.alpha)


def sizes(graph: AttributedGraph) -> list[int]:
    """Return how many share each one's quasi-identifiers."""
    count = Counter(tuples(graph))
    return [count[row] for row in tuples(graph)]


def assert_alpha_among_the_real(
    released: AttributedGraph, real: list[int], alpha: Fraction
) -> None:
    """No class of real people is too sensitive."""
    rows = tuples(released)
    everybody = Counter(rows[u] for u in real)
    sensitive = Counter(rows[u] for u in real if released.is_sensitive[u])
    assert all(sensitive[row] <= alpha * everybody[row] for row in everybody)
