"""The strategies of the laboratory, as `ktsafe` finds and runs them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, NotKTSafe, PrivacyParams, anonymize
from ktsafe.anonymization.strategies import Effort, is_own, strategy_named, strategy_names
from ktsafe.graph.datasets import uniform
from tests.ktsafe.anonymization.exact.graphs import graphs as few_classes
from tests.ktsafe.anonymization.test_anonymize import check_order, check_release
from tests.ktsafe.small_graphs import graphs, privacy_params

SAFE = ("attribute", "tolerant")
OFFERED = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"][
    "entry-points"
]["ktsafe.strategies"]
OPTIONS = st.builds(AnonymizeOptions, st.sampled_from(get_args(Effort)), st.sampled_from(SAFE))


@pytest.mark.parametrize("name", OFFERED)
def test_every_strategy_is_found(name: str) -> None:
    """Each entry point is installed and names a strategy that can be loaded; none is ours."""
    assert name in strategy_names()
    assert not is_own(name)
    assert callable(strategy_named(name))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(n_max=24) | few_classes(), privacy_params(), OPTIONS, st.integers(0, 2**32))
def test_a_release_is_safe_true_and_no_dearer_than_nothing(
    graph: AttributedGraph, params: PrivacyParams, options: AnonymizeOptions, seed: int
) -> None:
    """Those that are safe by construction keep what the default strategy keeps."""
    check_release(graph, params, options, seed)


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


@pytest.mark.parametrize("strategy", SAFE)
def test_no_position_tells_who_somebody_is(strategy: str) -> None:
    """Nodes are in random order, inserted ones among the others; seeds repeat it."""
    check_order(strategy)


@pytest.mark.parametrize("strategy", sorted({*OFFERED} - {*SAFE, "aligned", "robust"}))
def test_an_unsafe_release_is_not_returned(strategy: str) -> None:
    """What the paper's strategies leave unsafe does not leave `anonymize`."""
    graph = uniform(200, 800, n_tuples=4, rng=np.random.default_rng(1))
    with pytest.raises(NotKTSafe):
        anonymize(
            graph,
            PrivacyParams(k=10),
            rng=np.random.default_rng(0),
            options=AnonymizeOptions(strategy=strategy),
        )
