"""One release: safe for every input, no dearer than nothing, repeatable."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, InvalidParams, PrivacyParams, Schema
from ktsafe.anonymization.anonymization import Anonymized, AnonymizeOptions, anonymize
from ktsafe.anonymization.request import Effort
from ktsafe.graph.synthetic import uniform
from tests.ktsafe.anonymization.graphs import graphs as few_classes
from tests.ktsafe.small_graphs import graphs, privacy_params, unsafe_by_definition

LONG = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
OPTIONS = st.builds(AnonymizeOptions, st.sampled_from(get_args(Effort)))


@LONG
@given(graphs(n_max=24) | few_classes(), privacy_params(), OPTIONS, st.integers(0, 2**32))
def test_a_release_is_safe_true_and_no_dearer_than_nothing(
    graph: AttributedGraph, params: PrivacyParams, options: AnonymizeOptions, seed: int
) -> None:
    """Nobody is unsafe or inserted; only people of rare kinds are withheld; values are not false.

    Hidden ties, those of withheld people among them, and inserted edges are together at most as
    many as there are ties.
    """
    made = anonymize(graph, params, rng=np.random.default_rng(seed), options=options)
    check_release(graph, params, made)


def check_release(graph: AttributedGraph, params: PrivacyParams, outcome: Anonymized) -> None:
    """Assert that of one release."""
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


def test_no_position_tells_who_somebody_is() -> None:
    """Vertices are in random order; seeds repeat it."""
    graph = uniform(60, 90, n_tuples=2, rng=np.random.default_rng(1))
    outcomes = [
        anonymize(graph, PrivacyParams(k=20), rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    ]
    for outcome in outcomes:
        place = np.arange(outcome.graph.n_vertices)
        assert len(place) == 60
        assert (outcome.origin == place).mean() < 0.2
        assert abs(np.corrcoef(place, outcome.origin)[0, 1]) < 0.5
    assert np.array_equal(outcomes[0].origin, outcomes[1].origin)
    assert not np.array_equal(outcomes[0].origin, outcomes[2].origin)


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


def test_other_neighbourhoods_are_refused() -> None:
    """No release promises what it cannot keep; the hint names the package that can."""
    graph = AttributedGraph.from_columns(Schema((), "s", frozenset()), {"s": ["no"]}, [])
    for changes in ({"n_hops": 2}, {"n_hops": 0}, {"reading": "induced"}):
        params = PrivacyParams(k=1, **changes)  # type: ignore[arg-type]
        with pytest.raises(InvalidParams, match="one hop"):
            anonymize(graph, params, rng=np.random.default_rng(0))
