"""The strategies of the laboratory, as it finds and runs them."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import (
    AnonymizeOptions,
    AttributedGraph,
    Infeasible,
    InvalidParams,
    NotKTSafe,
    PrivacyParams,
    Schema,
)
from ktsafe.anonymization.request import Effort, Request, Values
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.strategies import (
    ALL,
    LabRelease,
    Plan,
    anonymize,
    everybody,
    strategy_named,
    unverified,
)
from ktsafe_lab.verify_hops import verify_graph
from tests.ktsafe.anonymization.graphs import graphs as few_classes
from tests.ktsafe.anonymization.test_anonymize import check_release
from tests.ktsafe.anonymization.test_exchanged_values import PARAMS, check_groups, network
from tests.ktsafe.small_graphs import graphs, privacy_params

SAFE = ("attribute", "tolerant")
EFFORTS = st.sampled_from(get_args(Effort))


def made(
    graph: AttributedGraph, params: PrivacyParams, strategy: str, seed: int = 0, **options
) -> LabRelease:
    """Return a verified release."""
    asked = Request(graph, params, np.random.default_rng(seed), AnonymizeOptions(**options))
    return anonymize(asked, strategy)


@pytest.mark.parametrize("name", ALL)
def test_every_strategy_is_found(name: str) -> None:
    """Each name has a function that can be loaded."""
    assert callable(strategy_named(name))


def test_an_unknown_strategy_is_refused() -> None:
    """The error says what there is."""
    graph = uniform(20, 30, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParams, match="There is exact, aligned"):
        made(graph, PrivacyParams(k=2), "magic")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    graphs(n_max=24) | few_classes(),
    privacy_params(),
    EFFORTS,
    st.sampled_from(SAFE),
    st.integers(0, 2**32),
)
def test_a_release_is_safe_true_and_no_dearer_than_nothing(
    graph: AttributedGraph, params: PrivacyParams, effort: Effort, strategy: str, seed: int
) -> None:
    """Those that are safe by construction keep what the default strategy keeps."""
    check_release(graph, params, made(graph, params, strategy, seed, effort=effort))


@settings(max_examples=20, deadline=None)
@given(graphs(), privacy_params(), EFFORTS, st.sampled_from(SAFE))
def test_same_seed_same_release(
    graph: AttributedGraph, params: PrivacyParams, effort: Effort, strategy: str
) -> None:
    """The generator is the only randomness."""
    first, second = (made(graph, params, strategy, 7, effort=effort) for _ in range(2))
    assert np.array_equal(first.graph.codes, second.graph.codes)
    assert np.array_equal(first.graph.edges, second.graph.edges)


@pytest.mark.parametrize("strategy", [*SAFE, "aligned"])
def test_no_position_tells_who_somebody_is(strategy: str) -> None:
    """Vertices are in random order, inserted ones among the others; seeds repeat it."""
    graph = uniform(60, 90, n_tuples=2, rng=np.random.default_rng(1))
    params = PrivacyParams(k=20)
    outcomes = [made(graph, params, strategy, seed, effort="fast") for seed in (1, 1, 2)]
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


@pytest.mark.parametrize("strategy", sorted({*ALL} - {*SAFE, "exact", "aligned", "robust"}))
def test_an_unsafe_release_is_not_returned(strategy: str) -> None:
    """What the paper's strategies leave unsafe does not leave `anonymize`."""
    graph = uniform(200, 800, n_tuples=4, rng=np.random.default_rng(1))
    with pytest.raises(NotKTSafe):
        made(graph, PrivacyParams(k=10), strategy)


@pytest.mark.parametrize("strategy", ["aligned", "robust"])
def test_values_are_exchanged_within_orbits(strategy: str) -> None:
    """Of one seed all but values is as with values in place; orbits keep theirs."""
    graph = network()
    exchanged, in_place = (
        made(graph, PARAMS, strategy, 3, effort="fast", values=values)
        for values in get_args(Values)
    )
    assert in_place.value_at is None
    assert np.array_equal(exchanged.graph.edges, in_place.graph.edges)
    assert np.array_equal(exchanged.origin, in_place.origin)
    assert np.array_equal(exchanged.shift, in_place.shift)
    assert np.array_equal(
        exchanged.graph.codes[exchanged.value_at, -1], in_place.graph.codes[:, -1]
    )
    check_groups(exchanged)


def test_strategies_that_name_no_groups_keep_values_in_place() -> None:
    """They may have protection sets that no exchange respects."""

    def as_it_is(request: Request) -> Plan:
        return Plan(np.zeros(0, dtype=np.int32), request.graph.edges)

    request = Request(network(), PARAMS, np.random.default_rng(0))
    assert unverified(request, as_it_is).values == "in place"


def test_inserted_vertices_get_the_missing_value_where_all_values_are_sensitive() -> None:
    """A sensitive attribute without a harmless value gets the missing one."""
    schema = Schema((), "s", frozenset({"yes"}), expect_absent={"yes"})
    graph = AttributedGraph.from_columns(schema, {"s": ["yes"] * 3}, [(0, 1)])
    outcome = everybody(Request(graph, PrivacyParams(k=2), np.random.default_rng(0)), "aligned")
    inserted = np.flatnonzero(outcome.origin < 0)
    assert len(inserted) > 0
    assert {outcome.graph.values(v)["s"] for v in inserted} == {"-"}


def test_refuses_when_even_the_missing_value_is_sensitive() -> None:
    """Without any harmless value nothing can be inserted; the hint says what to do."""
    schema = Schema((), "s", frozenset({"yes", "-"}), expect_absent={"s"})
    graph = AttributedGraph.from_columns(schema, {"s": ["yes", "-"]}, [])
    with pytest.raises(Infeasible, match="Do not declare"):
        everybody(Request(graph, PrivacyParams(k=5), np.random.default_rng(0)), "aligned")
