"""One release: safe for every input, no dearer than nothing, repeatable."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, Infeasible, InvalidParams, PrivacyParams, Schema
from ktsafe.anonymization.anonymization import AnonymizeOptions, anonymize, anonymize_everybody
from ktsafe.anonymization.strategies import Effort, Request
from ktsafe.graph.datasets import uniform
from ktsafe.verify import verify_graph
from tests.ktsafe.anonymization.exact.graphs import graphs as few_classes
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition

LONG = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
OPTIONS = st.builds(AnonymizeOptions, st.sampled_from(get_args(Effort)))
ALIGNED = AnonymizeOptions("fast", "aligned")


@LONG
@given(graphs(n_max=24) | few_classes(), privacy_params(), OPTIONS, st.integers(0, 2**32))
def test_a_release_is_safe_true_and_no_dearer_than_nothing(
    graph: AttributedGraph, params: PrivacyParams, options: AnonymizeOptions, seed: int
) -> None:
    """Nobody is unsafe or inserted; only people of rare kinds are withheld; values are not false.

    Hidden ties, those of withheld people among them, and inserted edges are together at most as
    many as there are ties.
    """
    check_release(graph, params, options, seed)


def check_release(
    graph: AttributedGraph, params: PrivacyParams, options: AnonymizeOptions, seed: int
) -> None:
    """Assert that of one release."""
    outcome = anonymize(graph, params, rng=np.random.default_rng(seed), options=options)
    released, origin = outcome.graph, outcome.origin
    assert unsafe_by_definition(released, params) == []
    kind = Counter(kinds(graph))
    there = [v for v, own in enumerate(kinds(graph)) if kind[own] >= params.k]
    assert sorted(origin.tolist()) == there
    for u, v in enumerate(origin.tolist()):
        shown, true = released.values(u), graph.values(v)
        assert all(shown[name] == true[name] for name in graph.schema.quasi_identifiers)
        at = u if outcome.value_at is None else int(outcome.value_at[u])
        value = released.values(at)[graph.schema.sensitive]
        assert value in {true[graph.schema.sensitive], "-"}
    ties = {*map(tuple, graph.edges.tolist())}
    shown_ties = {*map(tuple, np.sort(origin[released.edges], axis=1).tolist())}
    assert len(ties ^ shown_ties) <= len(ties)


def kinds(graph: AttributedGraph) -> list[tuple[int, ...]]:
    """Return everybody's quasi-identifiers."""
    return [tuple(row[:-1]) for row in graph.codes.tolist()]


@settings(max_examples=20, deadline=None)
@given(graphs(), privacy_params(), OPTIONS)
def test_same_seed_same_release(
    graph: AttributedGraph, params: PrivacyParams, options: AnonymizeOptions
) -> None:
    """The generator is the only randomness."""
    first, second = (
        anonymize(graph, params, rng=np.random.default_rng(7), options=options) for _ in range(2)
    )
    assert np.array_equal(first.graph.codes, second.graph.codes)
    assert np.array_equal(first.graph.edges, second.graph.edges)


@pytest.mark.parametrize("strategy", ["exact", "aligned"])
def test_no_position_tells_who_somebody_is(strategy: str) -> None:
    """Nodes of networkx are in random order, inserted ones among the others; seeds repeat it."""
    check_order(strategy)


def check_order(strategy: str) -> None:
    """Assert that of a strategy."""
    graph = uniform(60, 90, n_tuples=2, rng=np.random.default_rng(1))
    options = AnonymizeOptions(effort="fast", strategy=strategy)
    params = PrivacyParams(k=20)
    outcomes = [
        anonymize(graph, params, rng=np.random.default_rng(seed), options=options)
        for seed in (1, 1, 2)
    ]
    for outcome in outcomes:
        n, place = outcome.graph.n_vertices, np.flatnonzero(outcome.origin >= 0)
        assert (n > 60) == (strategy == "aligned")
        assert (outcome.origin[place] == place).mean() < 0.2
        assert abs(np.corrcoef(place, outcome.origin[place])[0, 1]) < 0.5
        assert (outcome.origin[min(60, n - 1) :] >= 0).any()
        if outcome.shift is not None:
            assert verify_graph(outcome.graph, params, certificate=outcome.shift).is_safe
    assert np.array_equal(outcomes[0].origin, outcomes[1].origin)
    assert not np.array_equal(outcomes[0].origin, outcomes[2].origin)


def test_inserted_vertices_get_the_missing_value_where_all_values_are_sensitive() -> None:
    """A sensitive attribute without a harmless value gets the missing one."""
    schema = Schema((), "s", frozenset({"yes"}), expect_absent={"yes"})
    graph = AttributedGraph.from_columns(schema, {"s": ["yes"] * 3}, [(0, 1)])
    request = Request(graph, PrivacyParams(k=2), np.random.default_rng(0), ALIGNED)
    outcome = anonymize_everybody(request)
    inserted = np.flatnonzero(outcome.origin < 0)
    assert len(inserted) > 0
    assert {outcome.graph.values(v)["s"] for v in inserted} == {"-"}


def test_refuses_when_even_the_missing_value_is_sensitive() -> None:
    """Without any harmless value nothing can be inserted; the hint says what to do."""
    schema = Schema((), "s", frozenset({"yes", "-"}), expect_absent={"s"})
    graph = AttributedGraph.from_columns(schema, {"s": ["yes", "-"]}, [])
    with pytest.raises(Infeasible, match="Do not declare"):
        anonymize_everybody(Request(graph, PrivacyParams(k=5), np.random.default_rng(0), ALIGNED))


def test_progress_ends_at_one() -> None:
    """Progress never decreases and ends at 1."""
    seen: list[float] = []
    schema = Schema((), "s", frozenset({"yes"}), expect_absent={"yes"})
    graph = AttributedGraph.from_columns(schema, {"s": ["no"] * 12}, [(0, 1), (0, 2), (3, 4)])
    anonymize(
        graph,
        PrivacyParams(k=5),
        rng=np.random.default_rng(0),
        progress=lambda _phase, fraction: seen.append(fraction),
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_unknown_strategies_are_refused() -> None:
    """The error names what there is."""
    graph = AttributedGraph.from_columns(Schema((), "s", frozenset()), {"s": ["no"]}, [])
    options = AnonymizeOptions(strategy="magic")
    with pytest.raises(InvalidParams, match="There is exact"):
        anonymize(graph, PrivacyParams(k=1), rng=np.random.default_rng(0), options=options)
